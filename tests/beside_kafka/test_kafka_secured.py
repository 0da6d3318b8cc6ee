"""Kafka 4.4.0 behind TLS and SASL: its own listeners are judged by what `--command-config FILE` says."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rota.cli.conform import conform
from rota.cli.main import main
from rota.conformance.dialogues.negotiation import wait_until_ready
from rota.conformance.targets.guard import guarded
from rota.conformance.targets.kafka_broker import USUAL, Node, java_for, new_cluster_id
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched
from rota.conformance.targets.ports import free_ports
from rota.conformance.targets.process import Process

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
    assert "no group rebalances at" in asked.stdout
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
