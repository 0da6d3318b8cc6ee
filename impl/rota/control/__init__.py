"""The control port: a server of rota in the hand of tests in any language, by HTTP and JSON.

What can be done is a table (`operations`), from which requests are checked, the OpenAPI document is made and
`ControlPort` answers. All of it is carried out by `rota.server.controls.Controls`, which `rota_broker`, the
fixture of pytest, holds too.

`ControlPort` is in `http`, a server that has one in `serving`. `loopback` knows nothing of groups, and serves
other pages, too.
"""
