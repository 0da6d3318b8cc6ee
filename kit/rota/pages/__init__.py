"""Pages: self-contained HTML whose parts every page of rota shares.

A page is `document(title, body, styles=…, scripts=…)`, its body built with `rota.trace.markup` from
fragments, which are functions of a story (`rota.trace.story`): in `fragments` the head, the chart, the
steps, the why and the copies, in `state` the machines at a moment (`state_panel(story, index)`), in
`strips` who owned what (`ownership_strip`) and what properties said (`lights`). `trace_page.player(story)`
is chart and steps together; a page with several gives each a `link` of its own. `page.css` is what all of
them look like; `page.js` lets one step of each player be chosen, and without it all steps are there. A page
that talks to its own server says so: `document(…, sources={"connect-src": "'self'"})`.
"""
