"""Certificates that sign themselves, made with openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


def certificate(folder: Path, name: str, other: str) -> None:
    """NAME.key and NAME.crt, and both in NAME.pem. other: the name it is good for, as "IP:127.0.0.1"."""
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    made = ["-nodes", "-subj", f"/CN={name}", "-addext", f"subjectAltName={other}"]
    files = ["-keyout", f"{name}.key", "-out", f"{name}.crt"]
    try:
        subprocess.run([*make, *made, *files], cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl to make a certificate with")
    both = (folder / f"{name}.key").read_text() + (folder / f"{name}.crt").read_text()
    (folder / f"{name}.pem").write_text(both)
