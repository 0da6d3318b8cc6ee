"""The vote beyond one group: the guard of joins, senders of all kinds, tie rules, and the vote's code."""

TOGETHER = {
    "voting.vote-exists": "if there is a candidate on a list of any length, one of them is the first",
    "voting.tally": "a protocol has votes exactly if a member votes for it",
    "voting.maximum": "of any number of protocols, one at least, some has the most votes",
    "voting.counters": "the counters that brokers keep mean the sets, under what is assumed of lists",
    "voting.guard": "with the guard of joins the members always have a protocol in common",
    "voting.ties": "Java's, Scala's and the leader's rule for a tie elect a winner of the vote; any may win",
    "voting.code": "the spec's functions for vote and guard are the formulas, for few members, on every path",
}
"""What the obligations prove together, by group."""
