"""Dialogues by the consumer protocol with a broker: `python tests/consumer_dialogues.py [--write] [SLUG…]`.

Prints them, or writes them where the golden ones are (beside_kafka/consumer_dialogues). `--address HOST:PORT`
names a broker that runs already, with the settings of `broker.SETTINGS` there; else one of Apache Kafka
4.4.0 is started. Review what is written like code.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from beside_kafka.consumer_dialogues import epochs, membership, others, reconciling, written
from beside_kafka.consumer_dialogues.broker import broker
from beside_kafka.consumer_dialogues.stage import Stage
from beside_kafka.consumer_dialogues.steps import Dialogue

GOLDEN = Path(__file__).parent / "beside_kafka" / "consumer_dialogues" / "golden"
ALL: Sequence[Dialogue] = (
    *(*membership.DIALOGUES, *epochs.DIALOGUES),
    *(*reconciling.DIALOGUES, *others.DIALOGUES, *written.DIALOGUES),
)


def played(dialogue: Dialogue, address: tuple[str, int]) -> str:
    """The text of a dialogue."""
    with closing(Stage(address, dialogue.slug)) as stage:
        return dialogue.text(stage)


def golden(dialogue: Dialogue) -> Path:
    return GOLDEN / f"{dialogue.slug}.txt"


@contextmanager
def _at(address: str | None) -> Iterator[tuple[str, int]]:
    if address is not None:
        host, _, port = address.rpartition(":")
        yield host, int(port)
        return
    with tempfile.TemporaryDirectory() as folder, broker(Path(folder)) as started:
        yield started


def main(words: Iterable[str] | None = None) -> None:
    """Play what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slugs", nargs="*")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--address")
    asked = parser.parse_args(words if words is None else list(words))
    chosen = [one for one in ALL if not asked.slugs or any(one.slug.startswith(slug) for slug in asked.slugs)]
    if not chosen:
        parser.error(
            f"no dialogue is called {' or '.join(asked.slugs)}; the files in golden have their names"
        )
    with _at(asked.address) as address:
        for dialogue in chosen:
            text = played(dialogue, address)
            if asked.write:
                golden(dialogue).write_text(text, encoding="utf-8")
            else:
                print(text, flush=True)


if __name__ == "__main__":
    main()
