"""Judges what clients saw of a group by the consumer protocol, with the spec of `rota.spec.consumer`."""
