"""Dialogues without a verdict of their own, by part; importing this package registers them all."""

from rota.conformance.probes import (  # noqa: F401 - each registers its probes
    advertised_versions,
    authorized_operations,
    tied_votes,
)
