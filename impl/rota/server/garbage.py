"""Python's collector of cycles, which goes through all objects at times, and stops everything meanwhile.

A server with a hundred thousand groups has millions of objects, next to none of which are in cycles: what is
done with is freed at once. So only what is young is looked through often.
"""

import gc

YOUNG, MIDDLE, OLD = 2_000, 10, 20
"""Objects more until the youngest are looked through, how often so until those that survived are, and all."""


def collect_seldom() -> None:
    """What is there now is not looked through any more, and what stays long only after 400,000 others."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
