"""What judges an implementation by the spec: here, a coordinator core and the spec in lockstep."""

from rota.oracle.lockstep import Divergence, Lockstep

__all__ = ["Divergence", "Lockstep"]
