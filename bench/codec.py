"""Microseconds per message of rota's codec, as ratios against kio in one run.

    .venv/bin/python bench/codec.py

Encoding of a request with both libraries, the same bytes; best of five.
"""

from __future__ import annotations

from io import BytesIO
from timeit import repeat

from kio.schema.heartbeat.v4.request import HeartbeatRequest
from kio.schema.types import GroupId
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32

from rota.wire import decode_request, encode_request

NUMBER = 5_000


def best(work: object) -> float:
    """Microseconds a call, best of five."""
    return min(repeat(work, number=NUMBER, repeat=5)) / NUMBER * 1e6


def main() -> None:
    """Print encode and decode of a Heartbeat v4 request."""
    body = {"group_id": "group", "generation_id": 7, "member_id": "member-1", "group_instance_id": None}
    entity = HeartbeatRequest(group_id=GroupId("group"), generation_id=i32(7), member_id="member-1")
    write, read = entity_writer(HeartbeatRequest), entity_reader(HeartbeatRequest)

    def kio_encode() -> bytes:
        out = BytesIO()
        write(out, entity)
        return out.getvalue()

    ours = encode_request("Heartbeat", 4, body, 1, "bench")
    theirs = kio_encode()
    if not ours.endswith(theirs):
        raise SystemExit("the codecs do not agree; the times mean nothing")
    rows = {
        "encode": (best(lambda: encode_request("Heartbeat", 4, body, 1, "bench")), best(kio_encode)),
        "decode": (best(lambda: decode_request(ours)), best(lambda: read(theirs, 0))),
    }
    print("Heartbeat v4 request; rota's times include the request header")
    for name, (mine, kio) in rows.items():
        print(f"  {name}  rota {mine:5.1f} us   kio {kio:5.1f} us   {mine / kio:4.1f} x kio")


if __name__ == "__main__":
    main()
