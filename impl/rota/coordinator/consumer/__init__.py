"""Kafka's consumer protocol (KIP-848): the broker assigns, and each member is led by its own heartbeats.

Members are dynamic and subscribe by name. Static members and regular expressions are refused, and a group of
one protocol is not migrated to the other while it has members.
"""
