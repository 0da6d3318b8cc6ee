"""Which rule a coordinator has wrong, where what was seen of it is nothing that the spec allows.

A rule is put in doubt: the spec is asked as it would be with one mistake in this rule, of the few kinds that
there are (`rota.doubt.mistakes`). Where such a spec explains all that was seen the rule may be the cause.
"""

from rota.doubt.search import Suspect, suspects

__all__ = ["Suspect", "suspects"]
