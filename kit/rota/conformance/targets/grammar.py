"""The texts that name a target, as after `--target`, and the target that each names."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from functools import partial
from importlib.util import find_spec

from rota.conformance.connections.security import PLAINTEXT, SecureAddress, Security
from rota.conformance.dialogues.broker_settings import INITIAL_DELAY
from rota.conformance.targets import librdkafka_mock
from rota.conformance.targets.command import Command, changed_process, own_process
from rota.conformance.targets.foreign import Foreign, that_says_where
from rota.conformance.targets.kafka_cluster import KafkaTarget
from rota.conformance.targets.kafka_jars import RELEASES, missing
from rota.conformance.targets.names import FOREIGN, NAMES
from rota.conformance.targets.process import Started
from rota.conformance.targets.remote import Embedded, Remote, served_as
from rota.conformance.targets.restarting import Shared
from rota.conformance.targets.target import Target, TargetError
from rota.server import USUAL


def parse_target(
    text: str,
    settings: Mapping[str, int] | None = None,
    profile: str = USUAL,
    security: Security = PLAINTEXT,
) -> Target:
    """The target that a text of the grammar names; nothing is started.

    `settings` are broker settings that the target is known to run with, `profile` is what rota's own server
    is asked to be, `security` how a listener at HOST:PORT is spoken to.
    Raises `TargetError` for what is not in the grammar or cannot be started here.
    """
    known = settings or {}
    if text == "rota":
        embedded = partial(Embedded, profile=profile)
        kept = Shared(partial(own_process, served_as(profile)))
        return Target(
            "rota",
            embedded,
            fresh=True,
            parallel=64,
            settable=True,
            close=kept.close,
            restarting=kept.start,
            changing=partial(changed_process, served_as(profile)),
        )
    if text in RELEASES:
        if (cause := missing(RELEASES[text])) is not None:
            raise TargetError(f"target {text} cannot be started: {cause[0]}; {cause[1]}", there=False)
        brokers = KafkaTarget(RELEASES[text])
        return Target(
            text,
            brokers.start,
            fresh=False,
            parallel=64,
            settable=True,
            close=brokers.close,
            restarting=brokers.restarting,
            changing=brokers.changing,
            cluster=brokers.cluster,
        )
    if text == "librdkafka-mock":
        if find_spec("confluent_kafka") is None:
            raise TargetError(
                "target librdkafka-mock needs confluent-kafka; install it: pip install 'rota[targets]'", False
            )
        delay = {INITIAL_DELAY: librdkafka_mock.INITIAL_DELAY_MS}
        return Target(text, _start_mock, fresh=True, parallel=128, known=delay)
    if text in FOREIGN:
        return _foreign(FOREIGN[text], known)
    if text.startswith("cmd:"):
        command = Command.read(text[4:])
        restarting = command.start_restartable if command.keeps else None
        return Target(text, command.start, fresh=True, parallel=4, known=known, restarting=restarting)
    address = SecureAddress(*_address(text), security)
    return Target(text, lambda _: Remote(address), fresh=False, parallel=24, known=known)


def _foreign(program: Foreign, given: Mapping[str, int]) -> Target:
    if (cause := program.missing()) is not None:
        raise TargetError(f"target {program.name} cannot be started: {cause[0]}; {cause[1]}", there=False)
    known = {**program.known, **given}
    heeds = program.heeds - set(given)
    return Target(
        program.name, program.started, fresh=True, parallel=program.parallel, heeds=heeds, known=known
    )


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if host and port.isdigit() and not 0 < int(port) < 65536:
        raise TargetError(f"target {text!r} has no such port; give one from 1 to 65535")
    if not colon or not host or not port.isdigit():
        near = get_close_matches(text, NAMES, n=1) or _addresses_nearly(text)
        hint = f"did you mean {near[0]}? " if near else ""
        forms = f"HOST:PORT, cmd:COMMAND {{port}}, or one of {', '.join(NAMES)}"
        raise TargetError(f"unknown target {text!r}; {hint}use {forms}")
    return host.strip("[]"), int(port)


def _addresses_nearly(text: str) -> list[str]:
    """The address that a host or a port alone may stand for."""
    if text.isdigit():
        return [f"localhost:{text}"]
    return [f"{text}:9092"] if re.fullmatch(r"localhost|[\w-]+(\.[\w-]+)+", text) else []


def _start_mock(_settings: Mapping[str, int]) -> Started:
    return that_says_where((sys.executable, "-P", librdkafka_mock.__file__))
