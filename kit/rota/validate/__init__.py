"""Judges what was recorded of groups: frames by the spec, logs and the offsets topic by audits.

`frames` makes requests and answers of recorded ones, `beginnings` has the states that a group may be in where
it becomes known, `waiting` finds that place, `stretches` judge from there; `groups` has one group, `recordings`
all of a source. `audits` are rules about sources that tell less than frames. `account` counts what became of
every event.
"""
