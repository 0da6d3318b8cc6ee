"""Reads the logs of brokers and of clients: what each line about a group says, as an event.

The tables of patterns hold the words in which programs print: `kafka_java` and `kafka_scala` the coordinators
of Kafka 4 and 3, `rota_server` that of `rota serve`, `java_consumer` and `librdkafka` two clients. `layouts`
finds the message in a line whatever stands around it, `times` the time.
"""

from rota.logs.reader import LOG, Logs

__all__ = ["LOG", "Logs"]
