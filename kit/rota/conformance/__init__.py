"""The conformance kit: dialogues over raw connections that judge anyone's group coordinator.

`cases` holds the dialogues that judge, one or more for each rule of the protocol, `probes` those that are
only compared; both are written with what `dialogues` and `steps` offer, over the raw `connections`.
`targets` knows what can be judged and how to start it. `runner` plays dialogues, `results` says how they
end and what the verdicts are, `comparison` plays them on two targets. `catalogue` lists every case and probe,
`out_of_reach` the rules without one. `rota.report` writes down what was seen.
"""
