"""What the verbs are for, which is known without importing them."""

from __future__ import annotations

TASKS = {
    "Explore the model": {
        "check": "Explore it exhaustively: counts, properties, the shortest violation.",
        "simulate": "Walk at random through what is too large to be explored.",
        "design": "Explore the designs before the classic protocol, or all side by side.",
        "prove": "Prove what holds for any number of members.",
        "play": "Step through it by hand in the browser.",
    },
    "Read what was found": {
        "trace": "Show a counterexample in many forms, replay it, or ask what holds in each step.",
        "rules": "The rules of the spec in words, and what checks each of them.",
    },
    "Judge and run brokers": {
        "conform": "Judge a group coordinator over the wire, or compare two of them.",
        "serve": "Run rota's own broker with Kafka's wire protocol.",
        "record": "Stand between clients and brokers, and keep what they say about groups.",
    },
    "Ask what happened": {
        "explain": "Why groups rebalanced, what it cost, what to change: from logs, or a running "
        "coordinator.",
        "validate": "Whether the protocol was kept in recordings, logs and the offsets topic.",
    },
    "This installation": {
        "doctor": "What is installed, what each extra adds, and a self-test of each.",
        "completion": "A script with which a shell completes verbs, options and names.",
        "help": "The help of a verb: as `rota VERB --help`.",
    },
}
"""What somebody wants to do → verb → what it is for."""
