"""Two targets side by side: the same dialogues on both, what differs, and which differences are known."""
