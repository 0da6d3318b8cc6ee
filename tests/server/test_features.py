"""The features that ApiVersions tells of: from version 3 on, from 4 on also those whose first level is 0."""

import pytest

IN_FORCE = {"group.version": 1, "metadata.version": 33, "transaction.version": 2}


@pytest.mark.parametrize(
    ("version", "supported", "in_force"),
    [
        (2, set(), {}),
        (3, {"metadata.version"}, IN_FORCE),
        (4, {*IN_FORCE}, IN_FORCE),
        (5, {*IN_FORCE}, IN_FORCE),
    ],
)
def test_features(version, supported, in_force, address, connect):
    who = {"client_software_name": "c", "client_software_version": "1"} if version >= 3 else {}
    body = connect(address).call("ApiVersions", version, **who)
    assert {each["name"] for each in body.get("supported_features", ())} == supported
    told = body.get("finalized_features", ())
    assert {each["name"]: each["max_version_level"] for each in told} == in_force
    assert {each["name"]: each["min_version_level"] for each in told} == in_force
