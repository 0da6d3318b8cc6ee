"""The engine on Spark: each of many partitions owns a share of the states and keeps them in files.

What a partition has visited lies in immutable sorted runs that any process of its host may map; compiled code
takes out of what arrives what is known, and writes what is new as the round's level. A round counts only once
it is committed, so that a task may be killed, repeated or run twice at once.
"""
