"""Listeners with TLS and SASL as people use them: the command, and clients with their usual configuration."""

from __future__ import annotations

import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from harness.pki import certificate
from rota.cli.conform import conform
from rota.cli.serve import serve
from rota.mutants.core import CoreBug, planted
from rota.security import MECHANISMS, Users
from rota.server import controlled, running
from rota.server.broker_configs import OF_START, STATIC
from rota.server.listeners import Listening, listeners_of

SERVE = (sys.executable, "-m", "rota", "serve")
NAME, PASSWORD = "alice", "pässword"
SSL, SASL = ("--listen", "SSL://127.0.0.1:0"), ("--listen", "SASL_PLAINTEXT://127.0.0.1:0")
API_VERSIONS = bytes.fromhex("0000000b0012000000000001000163")
NO_DELAY = {"group.initial.rebalance.delay.ms": 0}


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    """Certificates of a server at 127.0.0.1, of another one there, and of a client; and the users."""
    folder = tmp_path_factory.mktemp("pki")
    for name, other in (("here", "IP:127.0.0.1"), ("another", "IP:127.0.0.1"), ("client", "DNS:client")):
        certificate(folder, name, other)
    (folder / "users").write_text(f"{NAME}={PASSWORD}\n", encoding="utf-8")
    return folder


@contextmanager
def serving(*options):
    """The process, and what it says of where it is."""
    process = subprocess.Popen(
        [*SERVE, "--set", "group.initial.rebalance.delay.ms=0", *map(str, options)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        listeners = options.count("--listen") or 1
        yield process, [process.stdout.readline().rstrip("\n") for _ in range(listeners)]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
        process.stdout.close()
        process.stderr.close()


def secured(pki, **changes):
    """Where a server listens with all four protocols; `changes` of what they ask for."""
    names = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pki / "here.pem")
    here = listeners_of([f"{name}://127.0.0.1:0" for name in names])
    usual = {"tls": tls, "users": Users({NAME: PASSWORD}), "mechanisms": MECHANISMS}
    return Listening(here, **usual | changes)


@contextmanager
def everywhere(pki, **changes):
    """Its addresses by protocol."""
    with controlled(where=secured(pki, **changes)) as broker:
        endpoints = broker._controls.server.endpoints
        yield {each.listener: endpoints.at(1, each.listener) for each in endpoints.all()}


def librdkafka(address, protocol, pki, mechanism, password=PASSWORD, ca="here.crt"):
    config = {"bootstrap.servers": address, "security.protocol": protocol}
    if protocol.endswith("SSL"):
        config["ssl.ca.location"] = str(pki / ca)
    if protocol.startswith("SASL"):
        config |= {"sasl.mechanism": mechanism, "sasl.username": NAME, "sasl.password": password}
    return config


CASES = [
    *(("SASL_SSL", each) for each in MECHANISMS), ("SASL_PLAINTEXT", "SCRAM-SHA-512"), ("SSL", "PLAIN"),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "mechanism"), CASES)
def test_librdkafka_produces_and_consumes(protocol, mechanism, pki):
    kafka = pytest.importorskip("confluent_kafka")
    with everywhere(pki) as at:
        config = librdkafka(at[protocol], protocol, pki, mechanism)
        producer = kafka.Producer(config)
        producer.produce("t", b"here")
        assert producer.flush(20) == 0
        told = producer.list_topics(timeout=10).brokers
        assert [f"{each.host}:{each.port}" for each in told.values()] == [at[protocol]]
        consumer = kafka.Consumer({**config, "group.id": "g", "auto.offset.reset": "earliest"})
        try:
            consumer.subscribe(["t"])
            message = consumer.poll(20)
            assert (message.error(), message.value()) == (None, b"here")
            consumer.commit(asynchronous=False)
        finally:
            consumer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python_produces_and_consumes(mechanism, pki):
    kafka = pytest.importorskip("kafka")
    with everywhere(pki) as at:
        config = {
            "bootstrap_servers": at["SASL_SSL"], "security_protocol": "SASL_SSL", "sasl_mechanism": mechanism,
            "ssl_cafile": str(pki / "here.crt"), "sasl_plain_username": NAME, "sasl_plain_password": PASSWORD,
        }  # fmt: skip
        producer = kafka.KafkaProducer(**config)
        producer.send("t", b"here").get(20)
        producer.close()
        consumer = kafka.KafkaConsumer("t", group_id="g", auto_offset_reset="earliest", **config)
        try:
            deadline = time.monotonic() + 20
            while not (got := consumer.poll(500)) and time.monotonic() < deadline:
                pass
            assert [each.value for records in got.values() for each in records] == [b"here"]
        finally:
            consumer.close()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"password": "x"}, "authentication"), ({"ca": "another.crt"}, "certificate"),
        ({"protocol": "SASL_PLAINTEXT"}, "brokers are down"),
    ],
)  # fmt: skip
def test_librdkafka_is_told_why_it_is_not_let_in(changes, why, pki):
    kafka = pytest.importorskip("confluent_kafka")
    errors = []
    with everywhere(pki) as at:
        usual = {"protocol": "SASL_SSL", "pki": pki, "mechanism": "SCRAM-SHA-256"}
        config = librdkafka(at["SASL_SSL"], **usual | changes)
        producer = kafka.Producer({**config, "error_cb": lambda error: errors.append(str(error).lower())})
        with pytest.raises(kafka.KafkaException):
            producer.list_topics(timeout=3)
        producer.poll(0.1)
        assert why in " ".join(errors)


def answered(address, pki, client=None):
    """What an ApiVersions in TLS is answered to somebody with this certificate; nothing if it is not."""
    context = ssl.create_default_context(cafile=str(pki / "here.crt"))
    if client is not None:
        context.load_cert_chain(pki / f"{client}.pem")
    host, _, port = address.rpartition(":")
    try:
        with (
            socket.create_connection((host, int(port)), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname=host) as connection,
        ):
            connection.sendall(API_VERSIONS)
            return connection.recv(4)
    except OSError:
        return b""


def clients_need_a_certificate(pki):
    """With TLS on both sides."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pki / "here.pem")
    tls.load_verify_locations(pki / "client.crt")
    tls.verify_mode = ssl.CERT_REQUIRED
    with everywhere(pki, tls=tls) as at:
        assert answered(at["SSL"], pki, "client")
        assert not answered(at["SSL"], pki)
        assert not answered(at["SSL"], pki, "another")


def test_clients_need_a_certificate_where_that_is_asked_for(pki):
    clients_need_a_certificate(pki)


def plain_words_are_no_tls(pki):
    """Who does not speak TLS where it is due is told nothing."""
    with everywhere(pki) as at:
        for protocol in ("SSL", "SASL_SSL"):
            host, _, port = at[protocol].rpartition(":")
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                connection.sendall(API_VERSIONS)
                got = connection.recv(100)
                assert b"\x00\x00\x00\x01" not in got


def test_plain_words_are_not_answered_where_tls_is_due(pki):
    plain_words_are_no_tls(pki)


@pytest.mark.parametrize("options", [(), ("--control", "0")])
def test_two_listeners_of_the_command(options, pki, tmp_path):
    file = tmp_path / "ports"
    listens = ("--listen", "PLAINTEXT://127.0.0.1:0", "--listen", "SASL_SSL://127.0.0.1:0")
    admits = ("--tls-cert", pki / "here.crt", "--tls-key", pki / "here.key", "--users", pki / "users")
    with serving(*listens, *admits, "--port-file", file, *options) as (_, (first, second)):
        assert first.startswith("listening on 127.0.0.1:")
        assert second.startswith("SASL_SSL on 127.0.0.1:")
        at = [line.rpartition(" ")[2] for line in (first, second)]
        assert file.read_text().split() == [each.rpartition(":")[2] for each in at]
        (tmp_path / "client.properties").write_text(
            f"security.protocol=SASL_SSL\nssl.ca.location={pki / 'here.crt'}\nsasl.mechanism=SCRAM-SHA-512\n"
            "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required "
            f'username="{NAME}" password="{PASSWORD}";\n',
            encoding="utf-8",
        )
        judge = ["--command-config", str(tmp_path / "client.properties"), "--out", str(tmp_path), "--target"]
        done = CliRunner().invoke(conform, [*judge, at[1], "heartbeat.alive"])
        assert done.exit_code == 0, done.output
        done = CliRunner().invoke(conform, [*judge, at[0], "heartbeat.alive"])
        assert done.exit_code == 3, done.output
        assert "no TLS" in done.output


def test_clients_are_told_what_is_advertised(connect):
    here = listeners_of(
        ["INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0"], ["OUTSIDE://kafka.example:19092"],
        "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
    )  # fmt: skip
    with controlled(where=Listening(here, brokers=2)) as broker:
        ports = broker._controls.server.endpoints.ports
        for name, wanted in (
            ("INSIDE", [("127.0.0.1", ports[1, "INSIDE"]), ("127.0.0.1", ports[2, "INSIDE"])]),
            ("OUTSIDE", [("kafka.example", 19092), ("kafka.example", 19093)]),
        ):
            client = connect(f"127.0.0.1:{ports[2, name]}")
            told = client.call("Metadata", 8, topics=[])["brokers"]
            assert [(each["host"], each["port"]) for each in told] == wanted
            told = client.call("DescribeCluster", 1)["brokers"]
            assert [(each["host"], each["port"]) for each in told] == wanted
            found = client.call("FindCoordinator", 2, key="g", key_type=0)
            assert (found["host"], found["port"]) in wanted


def test_configs_say_where_the_broker_listens(connect):
    here = listeners_of(
        ["INSIDE://127.0.0.1:0,PLAINTEXT://127.0.0.1:0"], ["INSIDE://kafka.example:19092"], "INSIDE:PLAINTEXT"
    )
    with controlled(where=Listening(here, brokers=2)) as broker:
        ports = [broker._controls.server.endpoints.ports[1, name] for name in ("INSIDE", "PLAINTEXT")]
        asked = {"resource_type": 4, "resource_name": "1", "configuration_keys": [*OF_START]}
        client = connect(f"127.0.0.1:{ports[1]}")
        (told,) = client.call("DescribeConfigs", 4, resources=[asked], include_synonyms=True)["results"]
    of_start = {each["name"]: each for each in told["configs"]}
    assert {name: (each["value"], each["config_type"]) for name, each in of_start.items()} == {
        "broker.id": ("1", 3),
        "node.id": ("1", 3),
        "listeners": (f"INSIDE://127.0.0.1:{ports[0]},PLAINTEXT://127.0.0.1:{ports[1]}", 7),
        "advertised.listeners": (f"INSIDE://kafka.example:19092,PLAINTEXT://127.0.0.1:{ports[1]}", 7),
        "listener.security.protocol.map": ("INSIDE:PLAINTEXT,PLAINTEXT:PLAINTEXT", 2),
    }
    for name, each in of_start.items():
        assert (each["read_only"], each["config_source"]) == (True, STATIC)
        assert each["synonyms"] == [{"name": name, "value": each["value"], "source": STATIC}]


@pytest.mark.parametrize(
    ("function", "old", "new", "story"),
    [
        ("rota.server.endpoints:Endpoints._server", "if bound.listener.has_tls", "if False", "tls"),
        ("rota.server.endpoints:Endpoints.of_listener", "if each.listener == name", "", "told"),
        ("rota.server.endpoints:Endpoints._bind_one", "listener.told or", "None or", "told"),
        ("rota.server.endpoints:Endpoints._bind_one", "told + node_id - NODE_ID", "told", "told"),
        ("rota.server.endpoints:Endpoints._bind_one", "if listener.has_sasl", "if False", "sasl"),
        ("rota.server.endpoints:Endpoints.configs", "self.at(node_id, name)", "'127.0.0.1:0'", "configs"),
        ("rota.server.endpoints:Endpoints.configs", "== node_id", ">= 1", "configs"),
        ("rota.server.endpoints:Endpoints.configs", "each.port)", "each.listener.port)", "configs"),
    ],
)
def test_a_planted_bug_is_told(function, old, new, story, connect, pki):
    bug = CoreBug("", "bug", "", function, old, new)
    with planted(bug), pytest.raises((AssertionError, ValueError)):
        STORIES[story](connect, pki)


def sasl_is_asked_for(connect, pki):
    with everywhere(pki) as at:
        for protocol in ("PLAINTEXT", "SASL_PLAINTEXT"):
            client = connect(at[protocol])
            client.send("FindCoordinator", 2, key="g", key_type=0)
            if protocol == "PLAINTEXT":
                assert client.receive()["error_code"] == 0
            else:
                assert client.closed()


STORIES = {
    "tls": lambda connect, pki: plain_words_are_no_tls(pki),
    "told": lambda connect, pki: test_clients_are_told_what_is_advertised(connect),
    "configs": lambda connect, pki: test_configs_say_where_the_broker_listens(connect),
    "sasl": sasl_is_asked_for,
}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--port", "9092", "--listen", "PLAINTEXT://127.0.0.1:0"), "--port and --listen both say where"),
        (("--listen", "127.0.0.1:9092"), "cannot read '127.0.0.1:9092'; write NAME://HOST:PORT"),
        (("--listen", "SSL://127.0.0.1:0"), "has no certificate; give --tls-cert"),
        (("--listen", "SASL_PLAINTEXT://127.0.0.1:0"), "knows no users; give --users"),
        (("--listen", "IN://127.0.0.1:0"), "map it, as in --protocol-map IN:PLAINTEXT"),
        (("--listen", "PLAINTEXT://:9092"), "say with --advertise what is advertised in its place"),
        (("--protocol-map", "IN:SSL"), "--protocol-map is about the names in --listen"),
        (("--tls-key", "{pki}/here.key"), "--tls-key goes with a certificate; give --tls-cert"),
        (("--tls-cert", "{pki}/here.pem"), "--tls-cert is of no use, no listener speaks TLS"),
        (("--users", "{pki}/users"), "--users is of no use, no listener asks who it is"),
        ((*SSL, "--tls-cert", "{pki}/here.crt"), "no certificate with its own key"),
        ((*SSL, "--tls-cert", "{pki}/here.crt", "--tls-key", "{pki}/another.key"),
         "no certificate with its own key"),
        ((*SSL, "--tls-cert", "{pki}/none"), "cannot read {pki}/none"),
        ((*SSL, "--tls-cert", "{pki}/here.pem", "--tls-client-ca", "{pki}/users"),
         "no certificates in PEM in {pki}/users; name those to trust"),
        ((*SASL, "--users", "{pki}/here.key"), "line 1 of"),
        ((*SASL, "--users", "{pki}/users", "--sasl-mechanisms", "GSSAPI"),
         "there is no SASL mechanism 'GSSAPI' here; give some of PLAIN,"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_line(options, why, pki):
    said = [each.format(pki=pki) for each in options]
    done = CliRunner().invoke(serve, said)
    assert done.exit_code == 2
    (line,) = done.output.strip().splitlines()
    assert why.format(pki=pki) in line
    assert "; " in line
    assert PASSWORD not in line


def test_running_tells_every_broker():
    with running(NO_DELAY, where=Listening(brokers=2)) as address:
        assert len(address.split(",")) == 2
