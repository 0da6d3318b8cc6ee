"""Histories of many groups, judged in tasks that can run anywhere: what `rota validate` judges, as tables.

`shards` are what tasks read; `reading` makes rows of their events, `routing` finds which groups each is
about, `judging` judges group by group, `finishing` compares what several sources tell and writes the tables.
Rows travel in sorted files (`runs`) in the folder of a run, in which `record` keeps what is finished;
`tables` has the columns that people query. `tasks` are what is sent elsewhere, `pipeline` goes through them,
`summary` tells what came of it.
"""

import os

os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
# Read when Arrow is first used. Its own pool takes a gigabyte of address space at once, to which a process
# that is held to a bound (`--memory`) has no room.
