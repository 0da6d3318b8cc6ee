"""Why groups rebalanced, in plain words: from events of any source to accounts, causes and advice.

`accounts` folds events (`rota.history`) into rebalances as they end, `incidents` joins those that belong
together, `causes` has what can be behind one, as a table of the evidence that each needs, and `diagnosis`
reads it. `worst` keeps what is worth telling; `telling`, `as_json` and `page` tell it. `frames` reads
requests and answers, `following` logs that grow, `watching` what a running coordinator says of a group.
"""
