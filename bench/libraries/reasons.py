"""Why tests of the libraries do not pass on a broker, as far as it was looked for."""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, Mapping[str, str]] = {}
"""Suite → test → the reason."""
