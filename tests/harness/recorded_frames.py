"""What clients of rota's server said in virtual time, as a recording has it."""

from __future__ import annotations

from base64 import b64encode
from uuid import UUID

from harness import scenes
from rota.generate.player import Stage
from rota.generate.virtual import in_virtual_time
from rota.history import Event, Kind, Source
from rota.linearise import Sent

BEGAN = 1_800_000_000.0
"""Seconds since 1970 at which virtual recordings begin."""


def plain(value):
    """A body as JSON has it."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, bytes):
        return {"base64": b64encode(value).decode()}
    return str(value) if isinstance(value, UUID) else value


def frames_of(played, name="proxy.jsonl"):
    """The frames of what was played, as events."""
    lines = {one.number: one.connection for one in played.history.events if isinstance(one, Sent)}
    opened, found = set(), []

    def tell(at, kind, connection, data=None, **more):
        origin = f"{name}#{len(found) + 1}"
        data = {"connection": connection} | (data or {})
        found.append(Event(BEGAN + at, Source.FRAMES, origin, kind, data=data, **more))

    for one in played.messages:
        if not one.api:
            tell(one.at, Kind.CLOSED, one.version)
            opened.discard(one.version)
            continue
        place = 8 if one.sent else 4
        correlation = int.from_bytes(one.data[place : place + 4], "big")
        line = lines[correlation]
        if line not in opened:
            opened.add(line)
            tell(one.at, Kind.OPENED, line)
        data = {"correlation": correlation, "api": one.api, "version": one.version, "fields": plain(one.body)}
        tell(one.at, Kind.REQUEST if one.sent else Kind.RESPONSE, line, data, client=one.client)
    return found


def recorded(scene, profile="rota"):
    """The frames of a scene."""

    async def walk(coordinator):
        stage = Stage(coordinator, scene.__name__)
        await scene(scenes.Scene(stage))
        await stage.silence(0.5)
        stage.close()
        return stage.played(None)

    return frames_of(in_virtual_time(scenes.SETTINGS, walk, profile), f"{scene.__name__}.jsonl")
