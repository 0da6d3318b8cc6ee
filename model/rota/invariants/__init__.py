"""What is claimed of the protocol, as named sentences: shape, safety, steps, witnesses, ends.

Each property is a view of one or two machines and a predicate over the views, so that engines tabulate it.
`classic(settings)` gives the properties of a configuration.
"""

from rota.invariants.catalog import classic

__all__ = ["classic"]
