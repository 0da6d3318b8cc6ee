"""What walks on rota's own server are drawn for."""

from __future__ import annotations

from rota.generate.cast import Terms, versions_in_common
from rota.generate.settings import OTHERS, SETTINGS, broker_config, looks_every_ms
from rota.wire import advertised, api

TERMS = Terms(
    broker_config(SETTINGS),
    versions_in_common({api(name).key: span for name, span in advertised().items()}),
    restarts=True,
    looks_every_ms=looks_every_ms(SETTINGS),
    other_settings=OTHERS,
)
