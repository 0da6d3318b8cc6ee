"""What judges an implementation by the spec: a coordinator core and the spec, step by step.

`Shadow` is the core with the spec behind it, wherever a core can stand; `watched` is rota's server with one;
`Lockstep` drives one in virtual time; `minimised` makes what it found short. The Hypothesis machine that
drives it at random is in `rota.oracle.machine` and run by `rota.oracle.walk`; `rota.oracle.hunt` plays its
examples to planted bugs.
"""

from rota.oracle.lockstep import Ask, Due, Input, Lockstep, Logged, Moved, Resigned, replay
from rota.oracle.minimise import minimised
from rota.oracle.report import Divergence
from rota.oracle.shadow import Shadow, Watch, watched

__all__ = [
    "Ask",
    "Divergence",
    "Due",
    "Input",
    "Lockstep",
    "Logged",
    "Moved",
    "Resigned",
    "Shadow",
    "Watch",
    "minimised",
    "replay",
    "watched",
]
