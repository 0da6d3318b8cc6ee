"""What was seen of a target in the dialogues so far, as far as it says how long to wait for what."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Habits:
    """`hands_out_ids`: it has answered a newcomer by an id (KIP-394), so it is worth waiting for another's.

    It decides nothing but how long is waited for an id, for on a busy machine one takes its time.
    """

    hands_out_ids: bool = False

    def joined(self, error: str) -> None:
        """A JoinGroup was answered with this error."""
        self.hands_out_ids = self.hands_out_ids or error == "MEMBER_ID_REQUIRED"
