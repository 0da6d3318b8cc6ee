"""The state page: what is on the server now, for a person who looks at it in a browser.

One document without scripts, which asks for itself anew every two seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from time import gmtime, strftime
from typing import Any

from rota.control.groups import described
from rota.server.controls import Controls

CONTENT_TYPE = "text/html; charset=utf-8"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What a browser may load for the page: nothing but its own style."""

EVERY_SECONDS = 2
MOST_GROUPS, MOST_MEMBERS, MOST_PARTITIONS = 200, 50, 30
"""How many are shown; of the others, how many there are."""

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .3rem; overflow-wrap: anywhere; }
p { margin: .3rem 0; } .wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; margin: .3rem 0 1rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; }
td { min-width: 5rem; max-width: 24rem; overflow-wrap: break-word; }
th { font-weight: 600; border-bottom: 1px solid #8888; } td { border-bottom: 1px solid #8883; }
.state { border: 1px solid currentColor; border-radius: .3rem; padding: 0 .4rem; font: .9rem system-ui; }
"""

Json = Mapping[str, Any]


def page(controls: Controls) -> str:
    """The document."""
    groups = described(controls)
    shown = "".join(_group(each) for each in groups[:MOST_GROUPS]) or "<p>There are no groups.</p>"
    more = _more(len(groups), MOST_GROUPS, "groups")
    body = f"{_server(controls, len(groups))}{_topics(controls)}{shown}{more}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>rota serve</title>'
        f'<meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="refresh" content="{EVERY_SECONDS}">'
        f"<style>{_STYLE}</style></head><body><main>{body}</main></body></html>\n"
    )


def _server(controls: Controls, groups: int) -> str:
    now = strftime("%Y-%m-%d %H:%M:%S", gmtime(controls.now_ms / 1000))
    coordinator = controls.coordinator if controls.is_loaded else "nobody: it is unloaded"
    planned = controls.faults.planned
    faults = ", ".join(f"{each.api} {each.fault.kind} × {each.left}" for each in planned) or "none"
    rows = (
        ("bootstrap.servers", controls.bootstrap.replace(",", ", ")),
        ("Coordinates groups", coordinator.replace(",", ", ")),
        ("Its clock", f"{now} UTC"),
        ("Connections", len(controls.server.connections)),
        ("Faults to come", faults),
    )
    told = "".join(
        f'<tr><th scope="row">{_text(name)}</th><td>{_text(said)}</td></tr>' for name, said in rows
    )
    return f"<h1>rota serve: {_number(groups, 'group')}</h1><table>{told}</table>"


def _topics(controls: Controls) -> str:
    topics = controls.server.topics.all()
    rows = [
        (topic.name, len(topic.partitions), sum(log.log_end - log.log_start for log in topic.partitions))
        for topic in topics[:MOST_GROUPS]
    ]
    more = _more(len(topics), MOST_GROUPS, "topics")
    return _table("Topics", ("topic", "partitions", "records"), rows) + more if rows else ""


def _group(group: Json) -> str:
    generation = group.get("generation", group.get("epoch"))
    protocol = group.get("protocol") or group.get("assignor") or "none"
    about = (
        f"{group['type']} protocol, generation {generation}, assignor {protocol}, coordinated by broker "
        f"{group['coordinator']}{_timers(group.get('timers_ms', {}))}"
    )
    members = group["members"]
    rows = [_member(each, group.get("leader")) for each in members[:MOST_MEMBERS]]
    offsets = [
        (each["topic"], each["partition"], each["offset"], each["metadata"] or "")
        for each in group["offsets"][:MOST_MEMBERS]
    ]
    return (
        f'<section><h2>{_text(group["group_id"])} <span class="state">{_text(group["state"])}</span></h2>'
        f"<p>{_text(about)}</p>"
        + _table("Members", ("member", "client", "has", "waits for", "timers"), rows)
        + _more(len(members), MOST_MEMBERS, "members")
        + _table("Committed offsets", ("topic", "partition", "offset", "metadata"), offsets)
        + _more(len(group["offsets"]), MOST_MEMBERS, "offsets")
        + "</section>"
    )


def _member(member: Json, leader: str | None) -> Sequence[object]:
    name = member["member_id"] + (" (leader)" if member["member_id"] == leader else "")
    if member["group_instance_id"] is not None:
        name += f", instance {member['group_instance_id']}"
    client = f"{member['client_id']} at {member['client_host'].removeprefix('/')}"
    waits = member.get("awaits") or member.get("state") or ""
    has = [] if member.get("assignment") == "" else member["partitions"]
    return name, client, _places(has), waits, _timers(member["timers_ms"]).removeprefix("; ")


def _places(partitions: Sequence[Json] | None) -> str:
    if partitions is None:
        return "no assignment of a consumer"
    told = ", ".join(f"{each['topic']}-{each['partition']}" for each in partitions[:MOST_PARTITIONS])
    left = len(partitions) - MOST_PARTITIONS
    return f"{told} and {left} more" if left > 0 else told or "nothing"


def _timers(timers: Mapping[str, int]) -> str:
    told = ", ".join(f"{name.replace('_', ' ')} in {left / 1000:.1f} s" for name, left in timers.items())
    return f"; {told}" if told else ""


def _table(caption: str, names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Nothing where there are no rows."""
    body = "".join("<tr>" + "".join(f"<td>{_text(each)}</td>" for each in row) + "</tr>" for row in rows)
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in names)
    if not body:
        return ""
    return (
        f'<div class="wide"><table aria-label="{_text(caption)}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _more(count: int, most: int, what: str) -> str:
    return f"<p>{count - most:,} more {what} are not shown.</p>" if count > most else ""


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _text(value: object) -> str:
    """Whatever clients have called themselves is text here."""
    return escape(str(value).encode("utf-8", "replace").decode())
