"""A consumer that tells what librdkafka does with its group: `rdkafka_consumer.py TOPIC NAME=VALUE…`."""

from __future__ import annotations

import signal
import sys

from confluent_kafka import Consumer

running, polling = True, True


def end(*_: object) -> None:
    global running, polling
    running, polling = False, True


def stall(*_: object) -> None:
    global polling
    polling = False


signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGUSR1, stall)
settings = dict(one.split("=", 1) for one in sys.argv[2:])
consumer = Consumer({"debug": "cgrp,consumer", "auto.offset.reset": "earliest", **settings})
consumer.subscribe([sys.argv[1]])
while running:
    if polling:
        consumer.poll(0.2)
    else:
        signal.sigtimedwait([], 12)
        polling = True
consumer.close()
