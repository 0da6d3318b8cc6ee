"""What a judge's findings say of values."""

import pytest

from rota.linearise.ids import MARK
from rota.linearise.words import in_words
from rota.spec.vocabulary import ErrorCode


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (ErrorCode.NONE, "NONE"),
        ((("rota-probe", ErrorCode.UNKNOWN_MEMBER_ID),), "(('rota-probe', UNKNOWN_MEMBER_ID),)"),
        ((ErrorCode.UNKNOWN_SERVER_ERROR,), "(UNKNOWN_SERVER_ERROR,)"),  # its number is negative
        ("<a.b: 1> of a client", "'<a.b: 1> of a client'"),
        (f"{MARK}3", "'the id given to request 3'"),
    ],
)
def test_a_value_is_told_as_people_read_it(value, words):
    """Errors by name, wherever they stand; ids that nobody has seen by who would have been given them."""
    assert in_words(value) == words
