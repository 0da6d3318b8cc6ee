"""Time: the initial delay, sessions and the barrier of the join phase, for any number of members and joins.

Times are whole milliseconds. Timers are served when they are due: no time passes over one, and what comes
in the same millisecond may come before or after it. That production timers have ticks is left out.
"""
