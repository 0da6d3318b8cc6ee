"""The control port: a server of rota in the hand of tests in any language, by HTTP and JSON.

What can be done is a table (`operations`), from which requests are checked, the OpenAPI document is made and
`ControlPort` answers. All of it is carried out by `rota.server.controls.Controls`, which `rota_broker`, the
fixture of pytest, holds too.
"""

from rota.control.http import ControlPort
from rota.control.serving import serve_controlled

__all__ = ["ControlPort", "serve_controlled"]
