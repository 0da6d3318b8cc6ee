"""What is claimed of the consumer protocol, judged by the coordinator's records and by what clients use."""

from rota.invariants.consumer.catalog import consumer, endless, meanings
from rota.invariants.consumer.weaknesses import WEAKNESSES, Weakness

__all__ = ["WEAKNESSES", "Weakness", "consumer", "endless", "meanings"]
