"""Pages: self-contained HTML whose parts every page of rota shares.

A page is `document(title, body, styles=…, scripts=…)`, its body made of `rota.trace.markup` and of fragments
that are functions of a story (`rota.trace.story`): `fragments` has the head, the chart, the steps, the why and
the copies, `state.state_panel` the machines at a moment, `strips` who owns what and what properties say.
`page.css` styles them. `page.js` makes steps of a story selectable wherever a `data-story` element holds
the fragments of `trace_page.player`; a page may have several. Everything is there without the script as well.
A page that talks to its own server names that in `document(…, sources={"connect-src": "'self'"})`.
"""
