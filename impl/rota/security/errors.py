"""Why somebody is not let in."""

from __future__ import annotations

OTHER_AUTHORIZATION_ID = (
    "Authentication failed: Client requested an authorization id that is different from username"
)


class NotAuthenticated(Exception):
    """An exchange that has failed. The text is for the server's log.

    told: what the client may know, in Kafka's words; by default that its credentials are not good, and
    never whether there is such a user.
    """

    def __init__(self, why: str, told: str | None = None) -> None:
        super().__init__(why)
        self.told = told
