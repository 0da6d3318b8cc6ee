"""Twenty nights: incidents whose cause is known, played with real clients, and what is explained of them.

`scenes` has the incidents, `brokers` what they are played on, `night` what each of them leaves: a broker's
log, logs of clients, a recording and the folder of a partition. `judged` compares what `rota explain` names
with the cause. `python -m nights` (in `tests`) plays them and prints the table.
"""
