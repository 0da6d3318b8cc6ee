"""What is claimed of the protocol, as named sentences: shape, safety, steps, witnesses, ends, endless runs.

Each property is a view of one or two machines and a predicate over the views, so that engines tabulate it.
`classic(settings)` gives the properties of a configuration, `endless(settings)` those about endless runs;
`beyond(profile)` those about what a profile's brokers do not have.
"""

from rota.invariants.catalog import beyond, classic, endless
from rota.invariants.weaknesses import WEAKNESSES, Weakness, known_weaknesses

__all__ = ["WEAKNESSES", "Weakness", "beyond", "classic", "endless", "known_weaknesses"]
