"""`--command-config FILE`: TLS and SASL, in Kafka's own property names, against a listener that insists."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import socket
import ssl
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.pki import certificate
from harness.sockets import exactly
from harness.thinned import some
from rota.cli.conform import conform
from rota.conformance.connections.scram import Scram, ScramError
from rota.conformance.connections.security import Credentials, SecureAddress, Security
from rota.conformance.targets.command_config import ConfigError, properties, read_config, security
from rota.generate.plan import Ask, Plan
from rota.generate.reach import reach
from rota.generate.verdicts import Verdict
from rota.generate.walks import Walks
from rota.server import running
from rota.spec import ROTA, HeartbeatRequest
from rota.wire import decode_request, encode_response, frame

CASE = "heartbeat.alive.stable"
NAME, PASSWORD = "al=ice,b", "pässword"
LOGIN = 'org.apache.kafka.common.security.{}LoginModule required username="al=ice,b" password="pässword";'
JAAS = {
    "PLAIN": LOGIN.format("plain.Plain"),
    "SCRAM-SHA-256": LOGIN.format("scram.Scram"),
    "SCRAM-SHA-512": LOGIN.format("scram.Scram"),
}


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates of a server at 127.0.0.1, of one elsewhere, and of a client; each signs itself."""
    folder = tmp_path_factory.mktemp("pki")
    for name, other in (("here", "IP:127.0.0.1"), ("elsewhere", "DNS:elsewhere"), ("client", "DNS:client")):
        certificate(folder, name, other)
    return folder


@dataclass
class Listener:
    """What a listener insists on before it hands requests to rota's server. `lies`: it knows no password."""

    inner: tuple[str, int]
    tls: ssl.SSLContext | None = None
    mechanisms: tuple[str, ...] = ()
    lies: bool = False

    def serve(self, connection: socket.socket) -> None:
        """One connection, as a broker has it: ApiVersions may come before one is authenticated."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls is not None:
            connection = self.tls.wrap_socket(connection, server_side=True)
        port = connection.getsockname()[1]
        admitted, exchange = not self.mechanisms, iter(())
        with socket.create_connection(self.inner) as inner:
            while True:
                payload = framed(connection)
                request = decode_request(payload)
                if request.api.name == "SaslHandshake":
                    wanted = request.body["mechanism"]
                    known = wanted in self.mechanisms
                    exchange = self.exchange(wanted)
                    next(exchange)
                    body: dict[str, Any] = {"error_code": 0 if known else 33, "mechanisms": self.mechanisms}
                elif request.api.name == "SaslAuthenticate":
                    answer = exchange.send(request.body["auth_bytes"])
                    admitted = answer is not None and not answer.startswith(b"r=")
                    refused = {"error_code": 58, "error_message": "Authentication failed"}
                    body = refused if answer is None else {"error_code": 0, "auth_bytes": answer}
                elif admitted and request.api.name == "FindCoordinator":
                    found = {"error_code": 0, "node_id": 1, "host": "127.0.0.1", "port": port}
                    keys = request.body.get("coordinator_keys", ())
                    body = {"coordinators": [{**found, "key": key} for key in keys]} if keys else found
                elif admitted or request.api.name == "ApiVersions":
                    inner.sendall(frame(payload))
                    connection.sendall(frame(framed(inner)))
                    continue
                else:
                    return connection.shutdown(socket.SHUT_RDWR)
                name, version, number = request.api.name, request.version, request.correlation_id
                connection.sendall(frame(encode_response(name, version, body, number)))

    def exchange(self, mechanism: str) -> Any:
        """The server's side of an exchange, by RFC 4616 and RFC 5802; None refuses."""
        said = yield None
        if mechanism == "PLAIN":
            yield b"" if said == f"\0{NAME}\0{PASSWORD}".encode() else None
            return
        digest = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
        bare = said.decode().removeprefix("n,,")
        assert bare.startswith("n=al=3Dice=2Cb,r=")
        nonce, salt = bare.partition("r=")[2] + secrets.token_hex(8), secrets.token_bytes(16)
        first = f"r={nonce},s={b64encode(salt).decode()},i=4096"
        said = yield first.encode()
        channel, proof = said.decode().rsplit(",p=", 1)
        assert channel == f"c=biws,r={nonce}"
        salted = hashlib.pbkdf2_hmac(digest, PASSWORD.encode(), salt, 4096)
        key = hmac.digest(salted, b"Client Key", digest)
        message = f"{bare},{first},{channel}".encode()
        signature = hmac.digest(hashlib.new(digest, key).digest(), message, digest)
        if bytes(a ^ b for a, b in zip(key, signature, strict=True)) != b64decode(proof):
            yield None
            return
        server = b"nobody" if self.lies else hmac.digest(salted, b"Server Key", digest)
        yield b"v=" + b64encode(hmac.digest(server, message, digest))


def framed(connection: socket.socket) -> bytes:
    (length,) = struct.unpack(">i", exactly(connection, 4))
    if not 0 <= length < 1 << 20:  # somebody speaks TLS
        connection.shutdown(socket.SHUT_RDWR)
        raise EOFError
    return exactly(connection, length)


@pytest.fixture(scope="module")
def inner() -> Iterator[tuple[str, int]]:
    with running({"group.initial.rebalance.delay.ms": 0}) as address:
        host, _, port = address.rpartition(":")
        yield host, int(port)


@pytest.fixture
def listen(hostile: Any, inner: tuple[str, int], pki: Path) -> Callable[..., str]:
    def start(certificate: str = "", client: bool = False, **insists: Any) -> str:
        tls = None
        if certificate:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(pki / f"{certificate}.pem")
            if client:
                tls.verify_mode = ssl.CERT_REQUIRED
                tls.load_verify_locations(pki / "client.crt")
        name: str = hostile(Listener(inner, tls, **insists).serve).name
        return name

    return start


def judged(address: str, folder: Path, *lines: str, asked: tuple[str, ...] = (CASE,)) -> Result:
    """`rota conform` with a file of these lines."""
    file = folder / "client.properties"
    file.write_text("\n".join(lines), encoding="utf-8")
    arguments = ["--target", address, "--set", "group.initial.rebalance.delay.ms=0"]
    command = [*arguments, "--command-config", str(file), "--out", str(folder / "out"), *asked]
    outcome = CliRunner().invoke(conform, command)
    written = "".join(path.read_text() for path in (folder / "out").rglob("*") if path.is_file())
    assert PASSWORD not in outcome.output + written
    return outcome


def sasl(mechanism: str) -> tuple[str, ...]:
    return f"sasl.mechanism={mechanism}", f"sasl.jaas.config={JAAS[mechanism]}"


@pytest.mark.parametrize(("protocol", "mechanism"), some(product(["SASL_PLAINTEXT", "SASL_SSL"], JAAS), 2))
def test_sasl(protocol: str, mechanism: str, listen: Callable[..., str], pki: Path, tmp_path: Path) -> None:
    secure = protocol == "SASL_SSL"
    address = listen("here" if secure else "", mechanisms=tuple(JAAS))
    trusted = (f"ssl.truststore.location={pki / 'here.crt'}", "ssl.truststore.type=PEM") if secure else ()
    outcome = judged(address, tmp_path, f"security.protocol={protocol}", *trusted, *sasl(mechanism))
    assert outcome.exit_code == 0, outcome.output


def test_walks_in_tls(listen: Callable[..., str], pki: Path, tmp_path: Path) -> None:
    """A walk and the polite members after it are let in by each connection that they open."""
    file = tmp_path / "client.properties"
    trusted = ("security.protocol=SASL_SSL", f"ssl.ca.location={pki / 'here.crt'}")
    file.write_text("\n".join([*trusted, *sasl("SCRAM-SHA-256")]))
    host, _, port = listen("here", mechanisms=tuple(JAAS)).rpartition(":")
    address = SecureAddress(host, int(port), read_config(file))
    coordinator = reach(address, {"group.initial.rebalance.delay.ms": 0}, ROTA, 10.0)
    beats = Ask(0, "a", 0, 4, HeartbeatRequest("the group", 1, "nobody"))
    walked = asyncio.run(Walks(coordinator, "walk").one(Plan(1, 0, (beats,))))
    assert walked.verdict is not Verdict.FAIL, walked.why
    assert walked.played.requests > 5
    assert ("heartbeat.unknown-member", "absent") in walked.reached or walked.why


def test_walks_that_are_not_let_in_hear_why(listen: Callable[..., str], pki: Path, tmp_path: Path) -> None:
    """With a wrong password nothing is walked on."""
    walks = ("--generate", "--seconds", "1")
    wrong = tuple(line.replace(PASSWORD, "wrong") for line in sasl("PLAIN"))
    address = listen(mechanisms=("PLAIN",))
    outcome = judged(address, tmp_path, "security.protocol=SASL_PLAINTEXT", *wrong, asked=walks)
    assert outcome.exit_code != 0
    assert "uthentication failed" in outcome.output + str(outcome.exception)


@pytest.mark.parametrize(
    "lines",
    [
        ("ssl.truststore.location={}/here.crt", "ssl.truststore.type=PEM"),
        ("ssl.ca.location = {}/here.crt",),
        ("ssl.truststore.certificates={inline}",),
    ],
)
def test_tls(lines: tuple[str, ...], listen: Callable[..., str], pki: Path, tmp_path: Path) -> None:
    inline = (pki / "here.crt").read_text().replace("\n", " \\\n  ")
    written = [line.format(pki, inline=inline) for line in lines]
    outcome = judged(listen("here"), tmp_path, "security.protocol=SSL", *written)
    assert outcome.exit_code == 0, outcome.output


@pytest.mark.parametrize("inline", [False, True])
def test_a_certificate_of_ours(inline: bool, listen: Callable[..., str], pki: Path, tmp_path: Path) -> None:
    own = (f"ssl.keystore.location={pki / 'client.pem'}", "ssl.keystore.type=PEM")
    if inline:
        key, chain = ((pki / f"client.{kind}").read_text().replace("\n", "\\n") for kind in ("key", "crt"))
        own = (f"ssl.keystore.key={key}", f"ssl.keystore.certificate.chain={chain}")
    trusted = ("security.protocol=SSL", f"ssl.ca.location={pki / 'here.crt'}")
    assert judged(listen("here", client=True), tmp_path, *trusted, *own).exit_code == 0
    assert judged(listen("here", client=True), tmp_path, *trusted).exit_code == 3


def test_a_certificate_on_another_name(listen: Callable[..., str], pki: Path, tmp_path: Path) -> None:
    lines = ("security.protocol=SSL", f"ssl.ca.location={pki / 'elsewhere.crt'}")
    outcome = judged(listen("elsewhere"), tmp_path, *lines)
    assert (outcome.exit_code, outcome.stdout) == (3, "")
    assert "its certificate is not trusted: IP address mismatch" in outcome.stderr
    outcome = judged(listen("elsewhere"), tmp_path, *lines, "ssl.endpoint.identification.algorithm=")
    assert outcome.exit_code == 0, outcome.output


def refused(outcome: Result, cause: str) -> None:
    assert (outcome.exit_code, outcome.stdout) == (3, ""), outcome.output
    assert cause in outcome.stderr
    assert "--command-config" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_who_is_not_let_in_hears_why(listen: Callable[..., str], pki: Path, tmp_path: Path) -> None:
    tls, plain = ("security.protocol=SSL", f"ssl.ca.location={pki / 'here.crt'}"), "SASL_PLAINTEXT"
    refused(judged(listen("elsewhere"), tmp_path, *tls), "its certificate is not trusted: self")
    refused(judged(listen(), tmp_path, *tls), "no TLS: ")
    refused(judged(listen("here", mechanisms=("PLAIN",)), tmp_path, *tls), "authenticate first (SASL: PLAIN)")
    as_plain = (f"security.protocol={plain}", *sasl("PLAIN"))
    outcome = judged(listen(mechanisms=("SCRAM-SHA-512",)), tmp_path, *as_plain)
    refused(outcome, "it has no SASL mechanism PLAIN, but SCRAM-SHA-512")
    wrong = [line.replace("pässword", "another") for line in as_plain]
    outcome = judged(listen(mechanisms=("PLAIN",)), tmp_path, *wrong)
    refused(outcome, "SASL_AUTHENTICATION_FAILED: Authentication failed")
    lines = (f"security.protocol={plain}", *sasl("SCRAM-SHA-256"))
    outcome = judged(listen(mechanisms=("SCRAM-SHA-256",), lies=True), tmp_path, *lines)
    refused(outcome, "it does not prove that it knows the password")


def test_whom_somebody_hangs_up_on_hears_at_what(hostile: Any, tmp_path: Path) -> None:
    def handler(connection: socket.socket) -> None:
        while (request := decode_request(framed(connection))).api.name == "ApiVersions":
            body = {
                "error_code": 0,
                "api_keys": [{"api_key": key, "max_version": 0} for key in (11, 12, 13, 14)],
            }
            connection.sendall(frame(encode_response("ApiVersions", 0, body, request.correlation_id)))
        connection.shutdown(socket.SHUT_RDWR)

    outcome = judged(hostile(handler).name, tmp_path, "security.protocol=SASL_PLAINTEXT", *sasl("PLAIN"))
    refused(outcome, "the SASL exchange is cut off, as some do for a wrong password: end of stream")


def test_who_is_told_nothing_hears_what_to_say(listen: Callable[..., str], tmp_path: Path) -> None:
    refused(judged(listen("here"), tmp_path), "speaks TLS; say so with --command-config FILE")
    outcome = judged(listen(mechanisms=("PLAIN",)), tmp_path)
    refused(outcome, "authenticate first (SASL: PLAIN); say as whom with --command-config FILE")


def test_a_password_is_not_shown(listen: Callable[..., str], inner: tuple[str, int]) -> None:
    assert PASSWORD not in repr(Security(sasl=Credentials("PLAIN", NAME, PASSWORD)))
    assert Security(sasl=Credentials("PLAIN", NAME, PASSWORD)).protocol == "SASL_PLAINTEXT"


def test_the_exchange_of_the_rfc(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 7677, section 3."""
    monkeypatch.setattr(secrets, "token_hex", lambda _: "rOprNGfwEbeRWgbNEkqO")
    scram = Scram("SCRAM-SHA-256", "user", "pencil")
    assert scram.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    final = scram.final(f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode())
    assert final.decode() == f"c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    scram.verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(ScramError, match="does not prove"):
        scram.verify(b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(ScramError, match="other-error"):
        scram.verify(b"e=other-error")


@pytest.mark.parametrize(
    ("challenge", "why"),
    [
        ("r=another,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce"),
        ("r={0},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce"),
        ("r={0}x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=10", "10 iterations"),
        ("r={0}x,s=???,i=4096", "no salt"),
        ("r={0}x,i=4096", "no salt"),
    ],
)
def test_a_server_that_is_wrong_is_told_no_proof(challenge: str, why: str) -> None:
    scram = Scram("SCRAM-SHA-512", "user", "pencil")
    nonce = scram.first().decode().partition("r=")[2]
    with pytest.raises(ScramError, match=why):
        scram.final(challenge.format(nonce).encode())


def test_properties_are_read_as_java_reads_them() -> None:
    text = "# no\n! no\n\n a = b \nc:d\ne f\ng=h\\\n    i\\\nj\nk\\=l=m\\u0021\nn=\no=p\\\\\nq=r=s\n"
    read = {"a": "b ", "c": "d", "e": "f", "g": "hij", "k=l": "m!", "n": "", "o": "p\\", "q": "r=s"}
    assert dict(properties(text)) == read


MISTAKES = {
    "security.protocl=SSL": "did you mean security.protocol?",
    "security.protocol=TLS": "use PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
    "sasl.mechanism=PLAIN": "of no use with security.protocol=PLAINTEXT",
    "security.protocol=SASL_PLAINTEXT\nssl.ca.location=x": "ssl.ca.location is of no use with",
    "security.protocol=SASL_PLAINTEXT": "sasl.mechanism is missing; rota does PLAIN, SCRAM-SHA-256",
    "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI": "'GSSAPI'; rota does PLAIN, SCRAM-SHA-256",
    "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN": "sasl.jaas.config is missing; write org.apache",
    "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=x": "cannot be read; write",
    f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config={JAAS['SCRAM-SHA-256']}": (
        "ScramLoginModule is no login module of PLAIN"
    ),
    "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=a.PlainLoginModule required;": (
        "has no username"
    ),
    "security.protocol=SSL\nssl.truststore.location=nowhere.pem": "nowhere.pem: No such file",
    "security.protocol=SSL\nssl.truststore.location=junk": "junk is no PEM",
    "security.protocol=SSL\nssl.truststore.location=junk\nssl.truststore.type=JKS": "rota reads PEM; make",
    "security.protocol=SSL\nssl.truststore.certificates=x": "no certificates in PEM in ssl.truststore.cert",
    "security.protocol=SSL\nssl.keystore.key=x\nssl.keystore.certificate.chain=y": "no certificate with its",
    "security.protocol=SSL\nssl.endpoint.identification.algorithm=ldaps": "use https, or nothing",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_bad_file_is_told_what_is_wrong(text: str, tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(bytes(range(200)))
    file = tmp_path / "client.properties"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_config(file)
    assert MISTAKES[text] in str(caught.value)
    assert str(caught.value).startswith(f"{file}: ")
    outcome = CliRunner().invoke(conform, ["--target", "localhost:1", "--command-config", str(file), CASE])
    assert outcome.exit_code == 2
    assert MISTAKES[text] in outcome.stderr


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    command = ["--target", "localhost:1", "--command-config", str(tmp_path / "no"), CASE]
    outcome = CliRunner().invoke(conform, command)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "No such file or directory" in outcome.stderr


def test_it_is_for_listeners_alone(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(conform, ["--embedded", "--command-config", str(tmp_path), CASE])
    assert outcome.exit_code == 2
    assert "--command-config is for a listener at HOST:PORT" in outcome.stderr


def test_what_is_not_about_security_is_let_be() -> None:
    assert security({"bootstrap.servers": "x:1", "client.id": "me"}).protocol == "PLAINTEXT"
