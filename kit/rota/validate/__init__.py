"""Judges what was recorded of groups: frames by the spec, logs and the offsets topic by audits.

`frames` makes requests and answers of recorded ones, `beginnings` has the states that a group may be in when
it becomes known, `waiting` finds that place, `stretches` judge from there; `groups` has one, `recordings`
all of a source. `audits` are rules about what tells less than frames, `crossing` holds sources against each
other. `account` counts what became of every event, `validation` takes them all.
"""
