"""Steps that several dialogues share: groups are formed, offsets committed, groups described."""
