"""Inductive invariants of joining, syncing, heartbeats and leaving, for any number of members.


The rules of the spec as formulas (`join`, `rebalance`, `sync`, `heartbeat`, `leave`, `static`, `persistence`,
`timers`) over the states of `signature`, an invariant that each of them keeps, and what follows from it.
"""
