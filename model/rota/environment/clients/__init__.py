"""The clients' side of the world: consumers of every kind with their connections, and an adversary."""
