"""The conformance kit: dialogues over raw connections that judge anyone's group coordinator.

`cases` holds the dialogues, one or more for each rule of the protocol; `targets` knows what can be judged and
how to start it; `runner` plays cases and turns what was seen into verdicts. `rota.report` writes them down.
"""
