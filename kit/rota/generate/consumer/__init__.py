"""Walks of groups by the consumer protocol (KIP-848): their requests, plans and polite members."""
