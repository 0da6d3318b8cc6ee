"""`--command-config FILE`: how a listener is spoken to, in the property names of Kafka's own clients."""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from rota.conformance.connections.security import MECHANISMS, PLAINTEXT, Credentials, Security

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

KNOWN = (
    "security.protocol",
    "ssl.truststore.location",
    "ssl.truststore.type",
    "ssl.truststore.certificates",
    "ssl.ca.location",
    "ssl.keystore.location",
    "ssl.keystore.type",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
    "sasl.mechanism",
    "sasl.jaas.config",
)
"""Properties that are heeded; `ssl.ca.location` is librdkafka's name for a truststore in PEM."""

_OTHERS = ("ssl.", "sasl.", "security.")
"""Properties that begin so and are not heeded are refused: whoever wrote them counts on them."""

_LOGIN = re.compile(r"\s*([\w.$]+)\s+(required|requisite|sufficient|optional)\b(.*?);?\s*", re.DOTALL)
_OPTION = re.compile(r"""([\w.]+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)""")
_ESCAPED = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_TO_PEM = "openssl pkcs12 -in STORE -out store.pem -nodes"


class ConfigError(ValueError):
    """The file cannot be used: which property, why, and what helps; nothing that is secret."""


def read_config(path: Path) -> Security:
    """What a file says. Errors: ConfigError."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is no text; give a file of lines NAME=VALUE") from None
    except OSError as error:
        cause = error.strerror or str(error)
        raise ConfigError(f"cannot read {path} ({cause}); give a file of lines NAME=VALUE") from error
    try:
        return security(dict(properties(text)), path.parent)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error.__cause__


def properties(text: str) -> Iterator[tuple[str, str]]:
    """Names and values of a file of properties, as Java reads them: comments, `=` or `:`, a backslash at the
    end of a line that goes on, escapes."""
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*", r"\1", text)
    for line in (line.lstrip() for line in joined.splitlines()):
        if not line or line[0] in "#!":
            continue
        found = re.match(r"((?:[^\\=:\s]|\\.)+)\s*[=:\s]?\s*(.*)", line)
        if found:
            yield _unescaped(found[1]), _unescaped(found[2])


def security(given: Mapping[str, str], folder: Path = Path()) -> Security:
    """What properties say; files are named from the folder. Errors: ConfigError."""
    for name in given:
        if name.startswith(_OTHERS) and name not in KNOWN:
            near = get_close_matches(name, KNOWN, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ConfigError(f"rota does not heed {name}; {hint}it heeds {', '.join(KNOWN)}")
    protocol = given.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in PROTOCOLS:
        raise ConfigError(f"security.protocol is {protocol!r}; use {', '.join(PROTOCOLS)}")
    idle = [name for name in given if name.startswith("sasl.") and "SASL" not in protocol]
    idle += [name for name in given if name.startswith("ssl.") and not protocol.endswith("SSL")]
    if idle:
        cause = f"{idle[0]} is of no use with security.protocol={protocol}"
        raise ConfigError(f"{cause}; set security.protocol to what the listener speaks, or leave it out")
    if protocol == "PLAINTEXT":
        return PLAINTEXT
    tls = _tls(given, folder) if protocol.endswith("SSL") else None
    return Security(tls, _credentials(given) if protocol.startswith("SASL") else None)


def _tls(given: Mapping[str, str], folder: Path) -> ssl.SSLContext:
    """Without a truststore the certificates that this machine trusts."""
    identified = given.get("ssl.endpoint.identification.algorithm", "https").strip().lower()
    if identified not in ("", "https"):
        cause = f"ssl.endpoint.identification.algorithm is {identified!r}"
        raise ConfigError(f"{cause}; use https, or nothing for a certificate on another name")
    context = ssl.create_default_context()
    context.check_hostname = identified == "https"
    trusted = _pem(given, folder, "ssl.truststore.location", "ssl.truststore.type")
    trusted = trusted or _pem(given, folder, "ssl.ca.location", "ssl.truststore.type")
    certificates = given.get("ssl.truststore.certificates") or (_read(trusted) if trusted else "")
    if certificates:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = identified == "https"
        try:
            context.load_verify_locations(cadata=_only(certificates, "CERTIFICATE"))
        except (ssl.SSLError, ValueError) as error:
            where = trusted or "ssl.truststore.certificates"
            raise ConfigError(f"no certificates in PEM in {where}; make it with: {_TO_PEM}") from error
    _own_certificate(context, given, folder)
    return context


def _own_certificate(context: ssl.SSLContext, given: Mapping[str, str], folder: Path) -> None:
    """The certificate that we show, where one is given."""
    store = _pem(given, folder, "ssl.keystore.location", "ssl.keystore.type")
    both = [given.get("ssl.keystore.certificate.chain", ""), given.get("ssl.keystore.key", "")]
    if not store and not any(both):
        return
    password = given.get("ssl.key.password", "")
    with tempfile.TemporaryDirectory(prefix="rota-key-") as place:
        if not store:
            store = Path(place, "key.pem")
            store.touch(mode=0o600)
            store.write_text("\n".join(both), encoding="utf-8")
        try:
            context.load_cert_chain(store, password=password)
        except (ssl.SSLError, OSError) as error:
            name = "ssl.keystore.key" if any(both) else str(store)
            cause = f"no certificate with its key in {name}, or not for this ssl.key.password"
            raise ConfigError(f"{cause}; give both in PEM, made with: {_TO_PEM}") from error


def _pem(given: Mapping[str, str], folder: Path, location: str, kind: str) -> Path | None:
    """The file of a store; Java's own kinds are refused."""
    if not (named := given.get(location, "").strip()):
        return None
    path = folder / named
    if given.get(kind, "PEM").strip().upper() != "PEM":
        raise ConfigError(f"{kind} is {given[kind]!r}, rota reads PEM; make one with: {_TO_PEM}")
    try:
        head = path.open("rb").read(4096)
    except OSError as error:
        raise ConfigError(f"{location}: cannot read {path}: {error.strerror or error}") from error
    if b"-----BEGIN " not in head and not os.path.getsize(path) > len(head):
        raise ConfigError(f"{location}: {path} is no PEM, which is all that rota reads; make one: {_TO_PEM}")
    return path


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _only(text: str, label: str) -> str:
    """The blocks of one kind in a text in PEM, be there lines between them or not."""
    text = re.sub(r"\s*-----(BEGIN|END) ([A-Z ]+)-----\s*", r"\n-----\1 \2-----\n", text)
    found = re.findall(rf"-----BEGIN {label}-----.*?-----END {label}-----", text, re.DOTALL)
    return "\n".join(found)


def _credentials(given: Mapping[str, str]) -> Credentials:
    mechanism = given.get("sasl.mechanism", "").strip()
    if mechanism not in MECHANISMS:
        cause = f"sasl.mechanism is {mechanism!r}" if mechanism else "sasl.mechanism is missing"
        raise ConfigError(f"{cause}; rota does {', '.join(MECHANISMS)}")
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    form = f'org.apache.kafka.common.security.{module} required username="NAME" password="PASSWORD";'
    found = _LOGIN.fullmatch(given.get("sasl.jaas.config", ""))
    if found is None:
        cause = "cannot be read" if "sasl.jaas.config" in given else "is missing"
        raise ConfigError(f"sasl.jaas.config {cause}; write {form}")
    if found[1].rpartition(".")[2] != module.rpartition(".")[2]:
        raise ConfigError(f"{found[1]} is no login module of {mechanism}; write {form}")
    options = {name: _unquoted(value) for name, value in _OPTION.findall(found[3])}
    for name in ("username", "password"):
        if not options.get(name):
            raise ConfigError(f"sasl.jaas.config has no {name}; write {form}")
    return Credentials(mechanism, options["username"], options["password"])


def _unquoted(value: str) -> str:
    return _ESCAPED.sub(r"\1", value[1:-1]) if value[:1] in ("'", '"') else value


def _unescaped(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        word = found[1]
        return chr(int(word[1:], 16)) if len(word) > 1 else _ESCAPES.get(word, word)

    return _ESCAPED.sub(plain, text)
