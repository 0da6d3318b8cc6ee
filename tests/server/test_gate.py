"""Who is not let in gets in nowhere: SASL over raw sockets, with Kafka's order of checks and its errors."""

from __future__ import annotations

import hashlib
import hmac
import time
from base64 import b64decode, b64encode
from contextlib import contextmanager

import pytest

from rota.conformance.connections.scram import Scram, ScramError
from rota.mutants.core import CoreBug, planted
from rota.security import MECHANISMS, Users, UsersError, read_users
from rota.server import running
from rota.server.listeners import ListenersError, Listening, listeners_of
from rota.wire import frame

NAME, PASSWORD, OTHER = "al=ice,b", "pässword", "bob"
PASSWORDS = {NAME: PASSWORD, OTHER: "other"}
UNSUPPORTED_MECHANISM, ILLEGAL_STATE, FAILED = 33, 34, 58
SOFTWARE = {"client_software_name": "a", "client_software_version": "1"}
FAILED_BY = "Authentication failed during {} due to invalid credentials with SASL mechanism {}"
INVALID = "Authentication failed: Invalid username or password"
OTHER_ID = "Authentication failed: Client requested an authorization id that is different from username"


def plain(name=NAME, password=PASSWORD, authorization_id=""):
    return f"{authorization_id}\0{name}\0{password}".encode()


@pytest.fixture
def knock(connect):
    """Connects to a server whose only listener asks who it is."""
    with knocking(connect) as there:
        yield there


@contextmanager
def knocking(connect, mechanisms=MECHANISMS, **settings):
    quick = {"connection_failed_authentication_delay_ms": 5}
    settings = {name.replace("_", "."): value for name, value in {**quick, **settings}.items()}
    here = listeners_of(["SASL_PLAINTEXT://127.0.0.1:0"])
    where = Listening(here, users=Users(PASSWORDS), mechanisms=tuple(mechanisms))
    with running({"group.initial.rebalance.delay.ms": 0, **settings}, where=where) as address:
        yield lambda: connect(address)


def shake(client, mechanism, version=1):
    answer = client.call("SaslHandshake", version, mechanism=mechanism)
    assert (answer["error_code"], answer["mechanisms"]) == (0, list(MECHANISMS))


def say(client, token, version=2):
    return client.call("SaslAuthenticate", version, auth_bytes=token)


def prove(client, mechanism, name=NAME, password=PASSWORD, version=2):
    """The last answer of an exchange, which proves that the server knows the password too."""
    shake(client, mechanism)
    if mechanism == "PLAIN":
        return say(client, plain(name, password), version)
    scram = Scram(mechanism, name, password)
    answer = say(client, scram.first(), version)
    if answer["error_code"]:
        return answer
    answer = say(client, scram.final(answer["auth_bytes"]), version)
    if not answer["error_code"]:
        scram.verify(answer["auth_bytes"])
    return answer


def is_in(client):
    """Whether the server does what it is asked."""
    client.send("FindCoordinator", 2, key="g", key_type=0)
    return client.receive()["error_code"] == 0


def stays_out(client):
    """Nothing but the end answers what needs a user."""
    client.send("FindCoordinator", 2, key="g", key_type=0)
    assert client.closed()


def refused(answer, told):
    assert (answer["error_code"], answer["error_message"]) == (FAILED, told)
    assert not answer["auth_bytes"]


def lets_in(knock):
    for mechanism in MECHANISMS:
        client = knock()
        assert client.call("ApiVersions", 3, **SOFTWARE)["error_code"] == 0
        answer = prove(client, mechanism)
        assert (answer["error_code"], answer["session_lifetime_ms"]) == (0, 0)
        assert is_in(client)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_who_knows_the_password_is_let_in(mechanism, knock):
    client = knock()
    assert prove(client, mechanism, version=0)["error_code"] == 0
    assert is_in(client)
    assert client.call("ApiVersions", 3, **SOFTWARE)["error_code"] == 0


def nobody_comes_in_without(knock):
    stays_out(knock())
    client = knock()
    shake(client, "PLAIN")
    client.send("Produce", 7, acks=0, timeout_ms=1, topic_data=[])
    client.closed()
    client = knock()
    assert client.call("ApiVersions", 0)["error_code"] == 0
    stays_out(client)
    client = knock()
    client.raw(b"GET / HTTP/1.1\r\n\r\n")
    assert client.closed()


def test_what_comes_before_ends_the_connection(knock):
    nobody_comes_in_without(knock)


def other_passwords_do_not_do(knock):
    for name, password in ((NAME, "password"), (OTHER, PASSWORD), ("eve", PASSWORD), (NAME, PASSWORD + "x")):
        client = knock()
        refused(prove(client, "PLAIN", name, password), INVALID)
        assert client.closed()
        for mechanism in MECHANISMS[1:]:
            client = knock()
            refused(prove(client, mechanism, name, password), FAILED_BY.format("authentication", mechanism))
            assert client.closed()


def test_another_password_or_user_is_not_let_in(knock):
    other_passwords_do_not_do(knock)


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (plain() + b"\0x\0y", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0", "Authentication failed: username not specified"),
        (b"\0\0" + PASSWORD.encode(), "Authentication failed: username not specified"),
        (b"\0" + NAME.encode() + b"\0", "Authentication failed: password not specified"),
        (b"\xff\0\xff\0\xff", INVALID),
        (plain(password="x"), INVALID),
        (plain(authorization_id=OTHER), OTHER_ID),
    ],
)
def test_odd_messages_of_plain(token, told, knock):
    client = knock()
    shake(client, "PLAIN")
    refused(say(client, token), told)
    assert client.closed()


def test_who_may_be_called_so_too(knock):
    client = knock()
    shake(client, "PLAIN")
    assert say(client, plain(authorization_id=NAME))["error_code"] == 0
    assert is_in(client)


NAMED = NAME.replace("=", "=3D").replace(",", "=2C")


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ("", None), ("n,,n=", None), (f"y,,n={NAMED},r=abc", None), (f"n,,n={NAMED}", None),
        (f"n,,m=1,n={NAMED},r=abc", None), (f"n,,n={NAME},r=abc", None), (f"n,,n={NAMED},r=a\0c", None),
        (f"n,,n={NAMED},r=abc,tokenauth=true", None), ("n,,n=eve,r=abc", None),
        (f"n,a={OTHER},n={NAMED},r=abc", OTHER_ID),
    ],
)  # fmt: skip
def test_odd_first_messages_of_scram(first, told, knock):
    client = knock()
    shake(client, "SCRAM-SHA-256")
    refused(say(client, first.encode()), told or FAILED_BY.format("authentication", "SCRAM-SHA-256"))
    assert client.closed()


def final_of(first, challenge, without_proof):
    """The last message of somebody who knows the password and says this."""
    said = dict(part.split("=", 1) for part in challenge.split(","))
    salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), b64decode(said["s"]), int(said["i"]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    signed = f"{first.decode().removeprefix('n,,')},{challenge},{without_proof}".encode()
    signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
    proof = bytes(left ^ right for left, right in zip(key, signature, strict=True))
    return f"{without_proof},p={b64encode(proof).decode()}"


def proofs_count(knock):
    """Who has no proof, a short one, or another's, or proves something with another nonce or binding."""
    right = "c=biws,r={}".format

    def proof(data):
        return lambda first, challenge, nonce: f"{right(nonce)},p={b64encode(data).decode()}"

    for last, is_good in (
        (lambda first, challenge, nonce: final_of(first, challenge, right(nonce)), True),
        (lambda first, challenge, nonce: final_of(first, challenge, right(nonce[:-1] + "~")), False),
        (lambda first, challenge, nonce: final_of(first, challenge, f"c=eSws,r={nonce}"), False),
        (lambda first, challenge, nonce: final_of(first, challenge, right(nonce)) + "\n", False),
        (lambda first, challenge, nonce: right(nonce), False),
        (lambda first, challenge, nonce: right(nonce) + ",p=", False),
        (proof(bytes(32)), False),
        (proof(bytes(16)), False),
        (proof(bytes(33)), False),
    ):
        client = knock()
        shake(client, "SCRAM-SHA-256")
        first = Scram("SCRAM-SHA-256", NAME, PASSWORD).first()
        challenge = say(client, first)["auth_bytes"].decode()
        nonce = challenge.split(",")[0].removeprefix("r=")
        answer = say(client, last(first, challenge, nonce).encode())
        if is_good:
            assert answer["error_code"] == 0
        else:
            refused(answer, FAILED_BY.format("authentication", "SCRAM-SHA-256"))
            assert client.closed()


def test_scram_needs_the_proof(knock):
    proofs_count(knock)


def test_an_exchange_cannot_be_played_again(knock):
    """What somebody has overheard lets nobody else in: the server's nonce is another each time."""
    client = knock()
    shake(client, "SCRAM-SHA-512")
    scram = Scram("SCRAM-SHA-512", NAME, PASSWORD)
    first = scram.first()
    final = scram.final(say(client, first)["auth_bytes"])
    assert say(client, final)["error_code"] == 0
    again = knock()
    shake(again, "SCRAM-SHA-512")
    assert say(again, first)["error_code"] == 0
    assert say(again, final)["error_code"] == FAILED


def test_the_server_proves_itself_and_tells_no_keys(knock):
    client = knock()
    shake(client, "SCRAM-SHA-256")
    scram = Scram("SCRAM-SHA-256", NAME, PASSWORD)
    challenge = say(client, scram.first())["auth_bytes"].decode()
    salt = b64decode(challenge.split(",s=")[1].split(",")[0])
    assert challenge.endswith(",i=4096")
    assert len(salt) >= 16
    answer = say(client, scram.final(challenge.encode()))
    with pytest.raises(ScramError):
        scram.verify(b"v=" + b64encode(bytes(32)))
    scram.verify(answer["auth_bytes"])


def order_is_kept(knock):
    client = knock()
    assert client.call("ApiVersions", 3, **SOFTWARE)["error_code"] == 0
    client.send("ApiVersions", 3, **SOFTWARE)
    assert client.closed()
    client = knock()
    answer = client.call("SaslHandshake", 1, mechanism="GSSAPI")
    assert (answer["error_code"], answer["mechanisms"]) == (UNSUPPORTED_MECHANISM, list(MECHANISMS))
    assert client.closed()
    client = knock()
    client.send("SaslAuthenticate", 2, auth_bytes=plain())
    assert client.closed()
    client = knock()
    shake(client, "PLAIN")
    topics = client.call("Metadata", 8, topics=[{"name": "t"}])["topics"]
    assert [each["error_code"] for each in topics] == [ILLEGAL_STATE]
    assert client.closed()
    client = knock()
    shake(client, "PLAIN")
    assert client.call("SaslHandshake", 1, mechanism="PLAIN")["error_code"] == ILLEGAL_STATE
    assert client.closed()


def test_requests_in_another_order(knock):
    order_is_kept(knock)


def test_odd_api_versions_may_be_asked_again(knock):
    client = knock()
    assert (
        client.call("ApiVersions", 3, client_software_name="-", client_software_version="1")["error_code"]
        == 42
    )
    assert client.call("ApiVersions", 3, **SOFTWARE)["error_code"] == 0
    assert prove(client, "PLAIN")["error_code"] == 0


def test_after_it_is_let_in_it_need_not_say_so_again(knock):
    client = knock()
    prove(client, "PLAIN")
    assert client.call("SaslHandshake", 1, mechanism="PLAIN") == {
        "error_code": ILLEGAL_STATE,
        "mechanisms": [],
    }
    answer = say(client, plain())
    told = "SaslAuthenticate request received after successful authentication"
    assert (answer["error_code"], answer["error_message"]) == (ILLEGAL_STATE, told)
    assert is_in(client)


def test_a_listener_without_sasl_says_so(connect, start):
    client = connect(start())
    assert client.call("SaslHandshake", 1, mechanism="PLAIN")["error_code"] == ILLEGAL_STATE
    assert say(client, plain())["error_code"] == ILLEGAL_STATE
    assert is_in(client)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_old_clients_send_tokens_without_a_header(mechanism, knock):
    """Version 0 of SaslHandshake (KIP-43)."""
    client = knock()
    shake(client, mechanism, version=0)
    scram = Scram(mechanism, NAME, PASSWORD) if mechanism != "PLAIN" else None
    client.raw(frame(scram.first() if scram else plain()))
    answer = client.payload()
    if scram:
        client.raw(frame(scram.final(answer)))
        scram.verify(client.payload())
    assert is_in(client)
    client = knock()
    shake(client, "PLAIN", version=0)
    client.raw(frame(plain(password="x")))
    assert client.closed()


def long_frames_wait(knock):
    client = knock()
    client.raw((64 * 1024 + 1).to_bytes(4, "big") + b"\0\x11\0\1")
    assert client.closed()
    client = knock()
    prove(client, "PLAIN")
    client.send("FindCoordinator", 4, key_type=0, coordinator_keys=["g" * 30_000] * 5)
    assert len(client.receive()["coordinators"]) == 5


def test_who_is_not_known_may_send_little(knock):
    long_frames_wait(knock)


def test_who_guesses_waits(connect):
    with knocking(connect, connection_failed_authentication_delay_ms=300) as knock:
        client, begun = knock(), time.monotonic()
        refused(prove(client, "PLAIN", password="x"), INVALID)
        assert time.monotonic() - begun > 0.25
        bystander = knock()
        assert prove(bystander, "PLAIN")["error_code"] == 0


def test_only_the_mechanisms_that_are_enabled(connect):
    with knocking(connect, mechanisms=("SCRAM-SHA-512",)) as knock:
        answer = knock().call("SaslHandshake", 1, mechanism="PLAIN")
        assert (answer["error_code"], answer["mechanisms"]) == (UNSUPPORTED_MECHANISM, ["SCRAM-SHA-512"])


def sessions_end(knock):
    """With connections.max.reauth.ms, here 1.5 s."""
    idle = knock()
    assert prove(idle, "PLAIN")["session_lifetime_ms"] == 1500
    client = knock()
    assert prove(client, "SCRAM-SHA-256")["session_lifetime_ms"] == 1500
    begun = time.monotonic()
    time.sleep(1.0)
    assert prove(client, "SCRAM-SHA-256")["session_lifetime_ms"] == 1500
    time.sleep(max(0.0, 1.6 - (time.monotonic() - begun)))
    stays_out(idle)
    assert is_in(client)


def test_a_session_ends_unless_it_is_begun_again(connect):
    with knocking(connect, connections_max_reauth_ms=1500) as knock:
        sessions_end(knock)


def another_is_not_let_in_later(knock):
    client = knock()
    prove(client, "PLAIN")
    told = f"Cannot change principals during re-authentication from User.{NAME}: User.{OTHER}"
    refused(prove(client, "PLAIN", OTHER, "other"), told)
    assert client.closed()
    client = knock()
    prove(client, "SCRAM-SHA-256")
    failed = FAILED_BY.format("re-authentication", "SCRAM-SHA-256")
    refused(prove(client, "SCRAM-SHA-256", password="x"), failed)
    assert client.closed()
    client = knock()
    prove(client, "PLAIN")
    shake(client, "SCRAM-SHA-256")
    client.send("SaslAuthenticate", 2, auth_bytes=Scram("SCRAM-SHA-256", NAME, PASSWORD).first())
    assert client.closed()
    client = knock()
    prove(client, "PLAIN")
    shake(client, "PLAIN")
    assert client.call("FindCoordinator", 2, key="g", key_type=0)["error_code"] == ILLEGAL_STATE
    assert client.closed()
    client = knock()
    prove(client, "PLAIN")
    assert prove(client, "PLAIN")["error_code"] == 0
    assert client.call("SaslHandshake", 1, mechanism="PLAIN")["error_code"] == ILLEGAL_STATE
    assert is_in(client)


def test_who_begins_again_has_to_be_the_same(connect):
    with knocking(connect, connections_max_reauth_ms=60_000) as knock:
        another_is_not_let_in_later(knock)


GATE, SCRAM = "rota.server.gate:Gate.", "rota.security.scram:ScramServer."
CONNECTION, USERS = "rota.server.connection:Connection.", "rota.security.users:Users."
BUGS = (
    ("no-gate", CONNECTION + "__init__", "None if sasl is None else", "None if True else",
     nobody_comes_in_without),
    ("not-asked", CONNECTION + "_work", "not self._gate.admits(payload, self)", "False",
     nobody_comes_in_without),
    ("open-from-the-start", GATE + "__init__", "self._state = _State.VERSIONS_OR_HANDSHAKE",
     "self._state = _State.OPEN", nobody_comes_in_without),
    ("open-after-api-versions", GATE + "_tell_versions", "self._state = _State.HANDSHAKE",
     "self._state = _State.OPEN", nobody_comes_in_without),
    ("open-after-the-handshake", GATE + "_choose", "self._state = _State.AUTHENTICATE",
     "self._state = _State.OPEN", order_is_kept),
    ("open-after-the-first-message", GATE + "_open_if_known", "self._exchange.username is None", "False",
     other_passwords_do_not_do),
    ("versions-again", GATE + "_expect", "self._state is not state", "False", order_is_kept),
    ("any-mechanism", GATE + "_choose", "wanted not in has", "False", order_is_kept),
    ("goes-on-after-a-failure", GATE + "_shut", "connection.close(", "str(", other_passwords_do_not_do),
    ("says-nothing-of-it", GATE + "_shut", "answer is not None:\n            connection.answer(*answer",
     "answer is None:\n            connection.answer(*answer", other_passwords_do_not_do),
    ("in-the-middle", GATE + "_authenticate", "request.api.key != _AUTHENTICATE", "request.api.key == 3",
     order_is_kept),
    ("password-unread", USERS + "has", "is_right and known", "known", other_passwords_do_not_do),
    ("unknown-users", USERS + "has", "return is_right and known is not None",
     "return known is None or is_right", other_passwords_do_not_do),
    ("proof-not-compared", SCRAM + "_final", "not self._proves(", "False and (",
     proofs_count),
    ("proof-of-any-key", SCRAM + "_proves", "return hmac.compare_digest(", "return True or (", proofs_count),
    ("short-proofs", SCRAM + "_proves", "signature):\n        return False",
     "signature):\n        return True", proofs_count),
    ("nonce-not-compared", SCRAM + "_final", "nonce != self._nonce", "False", proofs_count),
    ("binding-not-compared", SCRAM + "_final", "binding != b64encode", "None is b64encode", proofs_count),
    ("the-key-unhashed", "rota.security.users:_credential", "hashlib.new(digest, client_key).digest()",
     "client_key", lets_in),
    ("another-signature", SCRAM + "_final", "credential.server_key, signed",
     "credential.stored_key, signed", lets_in),
    ("one-hash-for-all", SCRAM + "__init__", "DIGESTS[mechanism]", '"sha256"', lets_in),
    ("long-frames", CONNECTION + "__init__", "min(most, MOST_UNKNOWN)", "most", long_frames_wait),
    ("short-frames-for-ever", CONNECTION + "known", "self._incoming.allow(", "str(", long_frames_wait),
)  # fmt: skip

LATER = (
    ("sessions-never-end", 1500, GATE + "_is_request", "now > self._ends_at", "False", sessions_end),
    ("sessions-always-end", 1500, GATE + "_open_if_known", "self._ends_at = self._clock()",
     "self._ends_at = self._ends_at or self._clock()", sessions_end),
    ("somebody-else", 60_000, GATE + "_respond", "name != before", "False", another_is_not_let_in_later),
    ("another-mechanism", 60_000, GATE + "_choose", "wanted != self._mechanism", "False",
     another_is_not_let_in_later),
    ("open-meanwhile", 60_000, GATE + "_choose", "self._state = _State.AUTHENTICATE",
     "self._state = _State.OPEN", another_is_not_let_in_later),
    ("as-often-as-one-likes", 60_000, GATE + "_is_request", "not is_early", "True",
     another_is_not_let_in_later),
)  # fmt: skip


@pytest.mark.parametrize(("name", "function", "old", "new", "story"), BUGS, ids=[bug[0] for bug in BUGS])
def test_a_planted_bug_is_told(name, function, old, new, story, connect):
    told_by(CoreBug("", name, "", function, old, new), story, connect)


@pytest.mark.parametrize(
    ("name", "ms", "function", "old", "new", "story"), LATER, ids=[bug[0] for bug in LATER]
)
def test_a_planted_bug_of_sessions_is_told(name, ms, function, old, new, story, connect):
    told_by(CoreBug("", name, "", function, old, new), story, connect, connections_max_reauth_ms=ms)


def told_by(bug, story, connect, **settings):
    def hasty(address):
        client = connect(address)
        client.socket.settimeout(2)
        return client

    with (
        planted(bug),
        knocking(hasty, **settings) as knock,
        pytest.raises((AssertionError, OSError, ScramError)),
    ):
        story(knock)


def test_users_from_a_file(tmp_path):
    file = tmp_path / "users"
    file.write_text("# who may\n\nalice=a=b#c \nbob = x\n", encoding="utf-8")
    users = read_users(file)
    assert users.has("alice", "a=b#c ")
    assert users.has("bob", " x")
    assert not users.has("bob", "x")
    assert "a=b" not in repr(users) + str(vars(Listening(users=users)))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "has no users, so nobody could come in"), (b"# nobody\n", "has no users"),
        (b"alice\n", "line 1 of"), (b"=x\n", "has no user and password"), (b"\nalice=\n", "line 2 of"),
        (b"a=secret\na=other\n", "has a once more"), (b"\xff=x\n", "is no text in UTF-8"),
    ],
)  # fmt: skip
def test_files_of_users_that_are_wrong(text, why, tmp_path):
    file = tmp_path / "users"
    file.write_bytes(text)
    with pytest.raises(UsersError, match=why) as raised:
        read_users(file)
    assert "secret" not in str(raised.value)
    with pytest.raises(UsersError, match="cannot read"):
        read_users(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("listen", "told", "protocols", "why"),
    [
        (["PLAINTEXT://127.0.0.1"], [], "", "cannot read 'PLAINTEXT://127.0.0.1'; write NAME://HOST:PORT"),
        (["PLAINTEXT://127.0.0.1:99999"], [], "", "cannot read"),
        (["SSL://127.0.0.1:0"], [], "", "listener SSL speaks TLS and has no certificate"),
        (["SASL_PLAINTEXT://127.0.0.1:0"], [], "", "listener SASL_PLAINTEXT knows no users"),
        (["INSIDE://127.0.0.1:0"], [], "", "map it, as in INSIDE:PLAINTEXT"),
        (["INSIDE://127.0.0.1:0"], [], "INSIDE:TLS", "cannot read 'INSIDE:TLS'"),
        (["PLAINTEXT://127.0.0.1:0"], [], "INSIDE:SSL", "listener INSIDE is mapped, and there is none such"),
        (
            ["PLAINTEXT://127.0.0.1:0"],
            ["SSL://h:1"],
            "",
            "listener SSL is advertised, and there is none such",
        ),
        (["PLAINTEXT://:9092"], [], "", "listens on all addresses, which clients cannot be told"),
        (["PLAINTEXT://0.0.0.0:9092"], ["PLAINTEXT://0.0.0.0:9092"], "", "cannot be advertised at 0.0.0.0"),
        (["PLAINTEXT://[::]:9092"], ["PLAINTEXT://:9092"], "", "cannot be advertised at no host"),
        (["PLAINTEXT://h:1,PLAINTEXT://h:2"], [], "", "there are two listeners PLAINTEXT"),
        (["A://h:10,B://h:12"], [], "A:PLAINTEXT,B:PLAINTEXT", "listeners A and B are both at port 12"),
        (["PLAINTEXT://h:65534"], [], "", "has ports up to 65536"),
    ],
)
def test_listeners_that_are_wrong(listen, told, protocols, why):
    with pytest.raises(ListenersError) as raised:
        Listening(listeners_of(listen, told, protocols), brokers=3)
    assert why in str(raised.value)
    assert "; " in str(raised.value)
