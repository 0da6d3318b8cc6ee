"""Histories of groups as real clients make them, in virtual time: rota's own server, and members with clocks.

`shapes` says how large groups are, how long they live and what happens in them; `members` are the clients;
`recorded` makes of what was played what `rota record` would write; `histories` has one history, with a
planted bug or without; `renamed` copies it under other names; `files` writes many of them.
"""
