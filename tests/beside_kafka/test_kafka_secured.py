"""Kafka 4.4.0 behind TLS and SASL: its own listeners are judged by what `--command-config FILE` says."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.sockets import exactly
from rota.cli.conform import conform
from rota.cli.main import main
from rota.conformance.connections.scram import Scram
from rota.conformance.dialogues.negotiation import wait_until_ready
from rota.conformance.targets.guard import guarded
from rota.conformance.targets.kafka_broker import USUAL, Node, java_for, new_cluster_id
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched
from rota.conformance.targets.ports import free_ports
from rota.conformance.targets.process import Process
from rota.security import MECHANISMS, Users
from rota.server import running
from rota.server.listeners import Listening, listeners_of
from rota.wire import decode_response, encode_request, frame

pytestmark = pytest.mark.long

RELEASE = RELEASES["kafka-4.4.0"]
NAME, ESCAPED, PASSWORD = "alice", "al=ice", "pass word"
"""Who we are; in SCRAM a name has its `=` escaped."""

PROTOCOLS = ("PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL", "SSL")
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
WHOLE, SOME = "heartbeat", "heartbeat.alive"
"""What is played; of dialogues in TLS fewer, since each connection costs a handshake."""

MODULES = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class Secured:
    """A broker that runs: its ports by protocol, and the folder in which the certificates are."""

    ports: Mapping[str, int]
    folder: Path

    def judged(self, protocol: str, lines: list[str], *cases: str) -> Result:
        """`rota conform` with a file of these lines."""
        file = self.folder / "client.properties"
        file.write_text("\n".join([f"security.protocol={protocol}", *lines]), encoding="utf-8")
        target = ["--target", f"127.0.0.1:{self.ports[protocol]}", "--command-config", str(file)]
        return CliRunner().invoke(conform, [*target, "--out", str(self.folder / "out"), *cases])

    def explained(self, protocol: str, lines: list[str]) -> Result:
        """`rota explain --bootstrap` with a file of these lines."""
        file = self.folder / "client.properties"
        file.write_text("\n".join([f"security.protocol={protocol}", *lines]), encoding="utf-8")
        at = f"127.0.0.1:{self.ports[protocol]}"
        words = ["explain", "--bootstrap", at, "--command-config", str(file)]
        return CliRunner().invoke(main, words)


def certificate(folder: Path, name: str) -> None:
    """A key and a certificate that signs itself, alone and in one file."""
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    files = [
        "-nodes",
        "-subj",
        f"/CN={name}",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        f"{name}.key",
        "-out",
        f"{name}.crt",
    ]
    try:
        subprocess.run([*made, *files], cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl to make a certificate with")
    both = (folder / f"{name}.key").read_text() + (folder / f"{name}.crt").read_text()
    (folder / f"{name}.pem").write_text(both)


def configured(folder: Path, ports: Mapping[str, int], controller: int) -> None:
    """The properties of one broker with a listener for each protocol, all mechanisms at each with SASL."""
    Node(1, ports["PLAINTEXT"], {1: controller}).write(folder, RELEASE, USUAL)
    listeners = ",".join(f"{protocol}://127.0.0.1:{port}" for protocol, port in ports.items())
    kinds = ",".join(f"{protocol}:{protocol}" for protocol in ports)
    plain = f'{MODULES}.plain.PlainLoginModule required user_{NAME}="{PASSWORD}";'
    lines = [
        f"listeners={listeners},CONTROLLER://127.0.0.1:{controller}",
        f"advertised.listeners={listeners}",
        f"listener.security.protocol.map={kinds},CONTROLLER:PLAINTEXT",
        f"sasl.enabled.mechanisms=PLAIN,{','.join(SCRAM)}",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={folder / 'broker.pem'}",
        "listener.name.ssl.ssl.client.auth=required",
        "listener.name.ssl.ssl.truststore.type=PEM",
        f"listener.name.ssl.ssl.truststore.location={folder / 'client.crt'}",
    ]
    for listener in ("sasl_plaintext", "sasl_ssl"):
        lines.append(f"listener.name.{listener}.plain.sasl.jaas.config={plain}")
        scram = f"{MODULES}.scram.ScramLoginModule required;"
        lines += (f"listener.name.{listener}.{each.lower()}.sasl.jaas.config={scram}" for each in SCRAM)
    with (folder / "server.properties").open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    try:
        fetched(RELEASE)
    except NoJars as cause:
        pytest.skip(f"{RELEASE.name}: {cause}")
    folder = tmp_path_factory.mktemp("secured")
    for name in ("broker", "client"):
        certificate(folder, name)
    *some, controller = free_ports(len(PROTOCOLS) + 1)
    ports = dict(zip(PROTOCOLS, some, strict=True))
    configured(folder, ports, controller)
    jvm = java_for(RELEASE)
    format_ = [*jvm, "kafka.tools.StorageTool", "format", f"--cluster-id={new_cluster_id()}"]
    known = [f"--add-scram={each}=[name={ESCAPED},password={PASSWORD}]" for each in SCRAM]
    subprocess.run([*format_, "-c", "server.properties", *known], cwd=folder, check=True, timeout=120)
    process = Process(guarded(str(folder), [(*jvm, "kafka.Kafka", "server.properties")]))
    try:
        here = ("127.0.0.1", ports["PLAINTEXT"])
        process.listens(here, within=120)
        wait_until_ready(here, 60)
        yield Secured(ports, folder)
    finally:
        process.stop()


def login(mechanism: str, password: str = PASSWORD) -> list[str]:
    plain = mechanism == "PLAIN"
    module = "plain.PlainLoginModule" if plain else "scram.ScramLoginModule"
    who = f'required username="{NAME if plain else ESCAPED}" password="{password}";'
    return [f"sasl.mechanism={mechanism}", f"sasl.jaas.config={MODULES}.{module} {who}"]


def trusting(broker: Secured) -> list[str]:
    return ["ssl.truststore.type=PEM", f"ssl.truststore.location={broker.folder / 'broker.crt'}"]


@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAM])
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_sasl(broker: Secured, protocol: str, mechanism: str) -> None:
    trusted = trusting(broker) if protocol == "SASL_SSL" else []
    outcome = broker.judged(protocol, [*login(mechanism), *trusted], WHOLE if not trusted else SOME)
    assert outcome.exit_code == 0, outcome.output
    refused = broker.judged(protocol, [*login(mechanism, "wrong"), *trusted], "heartbeat")
    assert refused.exit_code == 3, refused.output
    assert "Authentication failed" in refused.stderr


def test_groups_are_asked_for_behind_both(broker: Secured) -> None:
    asked = broker.explained("SASL_SSL", [*login("PLAIN"), *trusting(broker)])
    assert asked.exit_code == 0, asked.output
    # Groups of the cases before may wait still for who has gone.
    assert "no group rebalances at" in asked.stdout or "nothing was changed there" in asked.stdout
    refused = broker.explained("SASL_SSL", [*login("PLAIN", "wrong"), *trusting(broker)])
    assert refused.exit_code == 3
    assert "--command-config" in refused.stderr
    assert broker.explained("SASL_SSL", login("PLAIN")).exit_code == 3, (
        "the certificate is nobody's that is known"
    )


def test_a_certificate_of_ours(broker: Secured) -> None:
    own = ["ssl.keystore.type=PEM", f"ssl.keystore.location={broker.folder / 'client.pem'}"]
    outcome = broker.judged("SSL", [*trusting(broker), *own], SOME)
    assert outcome.exit_code == 0, outcome.output
    assert broker.judged("SSL", trusting(broker), "heartbeat").exit_code == 3
    assert broker.judged("SSL", own, "heartbeat").exit_code == 3


SAID = ("error_code", "error_message", "session_lifetime_ms")


class Talk:
    """A connection to a listener with SASL; what each request is answered, where that has to be the same."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address, timeout=10)
        self.heard: list[object] = []

    def ask(self, name: str, version: int, **body: Any) -> dict[str, Any]:
        """The answer's body, empty if the connection ends instead."""
        answer = self._exchanged(encode_request(name, version, body, 1, "c"))
        if answer is None:
            return {}
        told = decode_response(name, version, answer).body
        kept = {
            key: told[key] for key in ("error_code", "error_message", "session_lifetime_ms") if key in told
        }
        if "mechanisms" in told:
            kept["mechanisms"] = sorted(told["mechanisms"])
        if "auth_bytes" in told:
            kept["auth_bytes"] = bool(told["auth_bytes"])
        self.heard.append(kept)
        return told

    def token(self, data: bytes) -> bytes | None:
        """What a message without a header is answered; None for the end of the connection."""
        answer = self._exchanged(data)
        if answer is not None:
            self.heard.append(bool(answer))
        return answer

    def _exchanged(self, payload: bytes) -> bytes | None:
        try:
            self._socket.sendall(frame(payload))
            size = exactly(self._socket, 4)
            return exactly(self._socket, int.from_bytes(size, "big"))
        except (OSError, EOFError):
            self.heard.append("the end")
            return None

    def close(self) -> None:
        """Whatever has been said."""
        self._socket.close()


Dialogue = Callable[[Talk], object]
SOFTWARE = {"client_software_name": "a", "client_software_version": "1"}


def plainly(name: str = NAME, password: str = PASSWORD, other: str = "") -> bytes:
    return f"{other}\0{name}\0{password}".encode()


def by_plain(token: bytes, version: int = 2) -> Dialogue:
    def said(to: Talk) -> None:
        to.ask("SaslHandshake", 1, mechanism="PLAIN")
        to.ask("SaslAuthenticate", version, auth_bytes=token)
        to.ask("ApiVersions", 0)

    return said


def by_scram(mechanism: str, password: str = PASSWORD, name: str = ESCAPED) -> Dialogue:
    def said(to: Talk) -> None:
        to.ask("SaslHandshake", 1, mechanism=mechanism)
        scram = Scram(mechanism, name, password)
        challenge = to.ask("SaslAuthenticate", 1, auth_bytes=scram.first()).get("auth_bytes")
        if challenge:
            to.ask("SaslAuthenticate", 1, auth_bytes=scram.final(challenge))
        to.ask("ApiVersions", 0)

    return said


def all_of(*steps: tuple[str, int, dict[str, Any]]) -> Dialogue:
    def said(to: Talk) -> None:
        for name, version, body in steps:
            to.ask(name, version, **body)

    return said


def without_headers(password: str = PASSWORD) -> Dialogue:
    def said(to: Talk) -> None:
        to.ask("SaslHandshake", 0, mechanism="PLAIN")
        to.token(plainly(password=password))
        to.ask("ApiVersions", 0)

    return said


HANDSHAKE = ("SaslHandshake", 1, {"mechanism": "PLAIN"})
GOOD, BAD = (("SaslAuthenticate", 2, {"auth_bytes": token}) for token in (plainly(), b"x"))
VERSIONS = ("ApiVersions", 3, SOFTWARE)
ODD_VERSIONS = ("ApiVersions", 3, {**SOFTWARE, "client_software_name": "-"})
HEARTBEAT = ("Heartbeat", 4, {"group_id": "g", "member_id": "m"})
DIALOGUES: Mapping[str, Dialogue] = {
    "plain": by_plain(plainly()), "plain-0": by_plain(plainly(), 0),
    "wrong": by_plain(plainly(password="x")), "unknown": by_plain(plainly("eve")), "empty": by_plain(b""),
    "no-password": by_plain(plainly(password="")), "no-name": by_plain(plainly("")),
    "two-tokens": by_plain(b"\0alice"), "four-tokens": by_plain(plainly() + b"\0x\0y"),
    "no-utf-8": by_plain(b"\0\xff\0\xff"), "as-other": by_plain(plainly(other="bob")),
    "as-itself": by_plain(plainly(other=NAME)), "scram-256": by_scram(SCRAM[0]),
    "scram-512": by_scram(SCRAM[1]), "scram-wrong": by_scram(SCRAM[0], "x"),
    "scram-unknown": by_scram(SCRAM[1], name="eve"),
    "no-mechanism": all_of(("SaslHandshake", 1, {"mechanism": "GSSAPI"}), HANDSHAKE),
    "versions": all_of(VERSIONS, HANDSHAKE, GOOD, VERSIONS), "versions-twice": all_of(VERSIONS, VERSIONS),
    "odd-versions": all_of(ODD_VERSIONS, VERSIONS, HANDSHAKE, GOOD),
    "handshake-then-versions": all_of(HANDSHAKE, VERSIONS), "nothing": all_of(HEARTBEAT),
    "early": all_of(GOOD), "in-the-middle": all_of(HANDSHAKE, HEARTBEAT, GOOD),
    "handshake-twice": all_of(HANDSHAKE, HANDSHAKE, GOOD), "again": all_of(HANDSHAKE, GOOD, GOOD, VERSIONS),
    "handshake-again": all_of(HANDSHAKE, GOOD, HANDSHAKE, VERSIONS), "garbage": all_of(HANDSHAKE, BAD),
    "old": without_headers(), "old-wrong": without_headers("x"),
}  # fmt: skip


def heard(address: tuple[str, int]) -> dict[str, list[object]]:
    """What is answered, by dialogue."""
    found = {}
    for name, dialogue in DIALOGUES.items():
        talk = Talk(address)
        dialogue(talk)
        talk.close()
        found[name] = talk.heard
    return found


def test_rota_serve_says_what_kafka_says(broker: Secured) -> None:
    """Order of checks, errors and their words, and where the connection ends."""
    here = listeners_of(["SASL_PLAINTEXT://127.0.0.1:0"])
    users = Users({NAME: PASSWORD, ESCAPED: PASSWORD})
    with running(where=Listening(here, users=users, mechanisms=MECHANISMS)) as address:
        host, _, port = address.rpartition(":")
        rota = heard((host, int(port)))
    kafka = heard(("127.0.0.1", broker.ports["SASL_PLAINTEXT"]))
    assert [(name, rota[name], kafka[name]) for name in DIALOGUES if rota[name] != kafka[name]] == []
