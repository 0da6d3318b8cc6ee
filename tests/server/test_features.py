"""The features that ApiVersions tells of: from version 3 on, from 4 on also those whose first level is 0."""

import pytest

from rota.server import features

IN_FORCE = {"group.version": 1, "metadata.version": 33, "transaction.version": 2}
TOLD = {
    2: (set(), {}),
    3: ({"metadata.version"}, IN_FORCE),
    4: ({*IN_FORCE}, IN_FORCE),
    5: ({*IN_FORCE}, IN_FORCE),
}
"""Version of ApiVersions → the features that are supported, and the levels in force."""

PLANTED = {
    "a level of its own": ("LEVELS", {**features.LEVELS, "transaction.version": (0, 1)}),
    "one feature too few": ("LEVELS", {"metadata.version": (33, 33)}),
    "first levels of 0 told to who cannot read them": ("_FROM_ZERO_SINCE", 3),
    "first levels of 0 told to nobody": ("_FROM_ZERO_SINCE", 6),
}


def judge(connection, version):
    """Errors: AssertionError, if it is told anything else."""
    who = {"client_software_name": "c", "client_software_version": "1"} if version >= 3 else {}
    body = connection.call("ApiVersions", version, **who)
    supported, in_force = TOLD[version]
    assert {each["name"] for each in body.get("supported_features", ())} == supported
    told = body.get("finalized_features", ())
    assert {each["name"]: each["max_version_level"] for each in told} == in_force
    assert {each["name"]: each["min_version_level"] for each in told} == in_force


@pytest.mark.parametrize("version", TOLD)
def test_features(version, address, connect):
    judge(connect(address), version)


def judge_all(address, connect):
    """Every version of the request."""
    for version in TOLD:
        judge(connect(address), version)


@pytest.mark.parametrize("planted", PLANTED)
def test_what_clients_would_be_told_wrongly_is_found(planted, address, connect, monkeypatch):
    """Each bug shows in some version of the request."""
    monkeypatch.setattr(features, *PLANTED[planted])
    with pytest.raises(AssertionError):
        judge_all(address, connect)
