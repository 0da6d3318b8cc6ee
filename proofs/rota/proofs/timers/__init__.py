"""Time: the initial delay, sessions and the barrier of the join phase, for any number of members and joins.

Times are whole milliseconds. Timers are served when they are due: no time passes over one, and what comes
in the same millisecond may come before or after it. That production timers have ticks is left out.
"""

TOGETHER = {
    "timers.initial": "the initial delay ends within its bound; who joins in it is in the first generation",
    "timers.session": "a member is expired after its timeout without a sign of life, then and only then, if "
    "the log answers within it",
    "timers.barrier": "the join phase ends when all have joined and no id is pending, or time is up",
}
"""What the obligations prove together, by group."""
