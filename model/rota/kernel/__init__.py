"""Transition systems: machines with pure step functions, their composition, properties and digest.

The kernel knows no protocol. A *machine* is a component of the state with pure functions that say
which moves it offers and how it takes a message; a *system* is a tuple of machines; a *property* is a
predicate over views of one or two machines. Engines (`rota.explore`) know nothing else, so they are
tested on toys with known counts and need no change for a new protocol.
"""

from rota.kernel.depiction import Arrow, Depiction, Lane, Values
from rota.kernel.encoding import Digest, component_hash, encode, state_hash
from rota.kernel.guarded import Asking, guarded, keeping
from rota.kernel.machine import Machine, Message, Outcome, Send, Value
from rota.kernel.mistakes import UserError
from rota.kernel.properties import (
    IN_STATES,
    PER_LABEL,
    PER_MACHINE,
    PER_RULE,
    Effect,
    Fairness,
    Kind,
    Liveness,
    LivenessKind,
    Property,
    View,
)
from rota.kernel.refusals import Attempt, DeadEnd, Refusal
from rota.kernel.rules import Rule, RuleTable, rule
from rota.kernel.structs import frozen, replace
from rota.kernel.symmetry import Symmetry
from rota.kernel.system import System, SystemRef
from rota.kernel.transition import LocalStep, State, Transition
from rota.kernel.values import FrozenMap, Word

__all__ = [
    "IN_STATES",
    "PER_LABEL",
    "PER_MACHINE",
    "PER_RULE",
    "Arrow",
    "Asking",
    "Attempt",
    "DeadEnd",
    "Depiction",
    "Digest",
    "Effect",
    "Fairness",
    "FrozenMap",
    "Kind",
    "Lane",
    "Liveness",
    "LivenessKind",
    "LocalStep",
    "Machine",
    "Message",
    "Outcome",
    "Property",
    "Refusal",
    "Rule",
    "RuleTable",
    "Send",
    "State",
    "Symmetry",
    "System",
    "SystemRef",
    "Transition",
    "UserError",
    "Value",
    "Values",
    "View",
    "Word",
    "component_hash",
    "encode",
    "frozen",
    "guarded",
    "keeping",
    "replace",
    "rule",
    "state_hash",
]
