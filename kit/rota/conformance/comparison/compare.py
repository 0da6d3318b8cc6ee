"""Two targets side by side: the same dialogues on both, made comparable, and where they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import count

from rota.conformance.comparison.normalisation import normalised
from rota.conformance.connections.connection import Closed, Connection, Garbage, NotListening
from rota.conformance.dialogues.failures import Deviation, Undecidable
from rota.conformance.dialogues.negotiation import Dispreferred, Unreadable, advertised
from rota.conformance.dialogues.script import Script
from rota.conformance.results import DialogueResult, Ending
from rota.conformance.rounds import Gone
from rota.conformance.runner import Options, Watch, find_unreadable, perform
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.target import Target
from rota.wire import all_apis

PLAYS = 3
"""How often a dialogue is played on both before it counts as different: some choices are random."""

CASTINGS = 5
"""How often more, where the first group was never led by the same member on both: that is open, and drawn."""

Lines = tuple[str, ...]
Ranges = Mapping[int, tuple[int, int]]


class Likeness(StrEnum):
    """Whether one dialogue went alike on two targets."""

    SAME = "same"
    DIFFERS = "differs"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class DialogueComparison:
    """One dialogue on two targets: the transcript on the left and that on the right, made comparable.

    `endings` says how the two dialogues ended; `plays` how often it was played on both.
    """

    script: Script
    likeness: Likeness
    left: Lines
    right: Lines
    endings: tuple[Ending, Ending]
    plays: int

    @property
    def at(self) -> int:
        """The first line that differs; the end of the shorter one if it is the beginning of the other."""
        both = zip(self.left, self.right, strict=False)
        return next(
            (n for n, (one, other) in enumerate(both) if one != other), min(len(self.left), len(self.right))
        )


class CutShort(KeyboardInterrupt):
    """Somebody interrupted; `compared` says what is known of dialogues that were played on both by then."""

    def __init__(self, compared: list[DialogueComparison]) -> None:
        super().__init__()
        self.compared = compared


@dataclass(frozen=True)
class _Play:
    """One play of a dialogue on one target; one that is undecided says only why.

    roles: what each member is in the first group that forms, by name.
    """

    lines: Lines
    ending: Ending
    roles: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass
class _Plays:
    """The plays of one dialogue on the two sides, those that are undecided apart."""

    plays: tuple[list[_Play], list[_Play]] = field(default_factory=lambda: ([], []))
    undecided: tuple[list[_Play], list[_Play]] = field(default_factory=lambda: ([], []))

    def add(self, side: int, result: DialogueResult) -> None:
        if result.ending is Ending.UNDECIDED:
            self.undecided[side].append(_Play((f"· {result.because}",), result.ending))
        else:
            self.plays[side].append(_Play(normalised(result), result.ending, result.roles))

    @property
    def number(self) -> int:
        """How often it was played on both."""
        return min(len(own) + len(other) for own, other in zip(self.plays, self.undecided, strict=True))

    @property
    def common(self) -> _Play | None:
        """A play that was the same on both."""
        return next((play for play in self.plays[0] if play in self.plays[1]), None)

    @property
    def ends(self) -> bool:
        """Whether more plays would tell nothing new."""
        if self.likeness is Likeness.SAME or self.number >= PLAYS + CASTINGS:
            return True
        left, right = self.plays
        cast_alike = any(one.roles == other.roles for one in left for other in right)
        return self.number >= PLAYS and (cast_alike or self.likeness is Likeness.UNDECIDED)

    @property
    def likeness(self) -> Likeness:
        if self.common is not None:
            return Likeness.SAME
        return Likeness.DIFFERS if all(self.plays) else Likeness.UNDECIDED


def compare(
    scripts: Sequence[Script],
    left: Target,
    right: Target,
    options: Options,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> list[DialogueComparison]:
    """Play the dialogues on both targets at a time; those that differ are played again, `PLAYS` times in all.

    A dialogue differs if no play on the one went as any play on the other. Which member leads at first is no
    such difference: until it was the same one on both there are up to `CASTINGS` plays more. `progress` is
    told how many plays of the present round are done, of how many. The dialogues have to be playable on both,
    see `divide`.
    Raises CutShort if it is interrupted, after all plays have ended.
    """
    plays_by_id = {script.id: _Plays() for script in scripts}
    unreadable = _unreadable_of_both(left, right, options)
    again = scripts
    try:
        for play in range(PLAYS + CASTINGS):
            _round(
                again,
                (left, right),
                replace(options, seed=options.seed + play),
                unreadable,
                plays_by_id,
                progress,
            )
            again = [script for script in again if not plays_by_id[script.id].ends]
            if not again:
                break
    except KeyboardInterrupt:
        there = [script for script in scripts if plays_by_id[script.id].number]
        raise CutShort([_compared(script, plays_by_id[script.id]) for script in there]) from None
    return [_compared(script, plays_by_id[script.id]) for script in scripts]


def _round(
    scripts: Sequence[Script],
    targets: tuple[Target, Target],
    options: Options,
    unreadable: tuple[Unreadable, Unreadable],
    plays_by_id: Mapping[str, _Plays],
    progress: Callable[[int, int], None],
) -> None:
    plays = count(1)

    def one_more() -> None:
        progress(next(plays), 2 * len(scripts))

    def play(side: int) -> None:
        watch = Watch(over=lambda _: one_more())
        left = {script.id for script in scripts}
        try:
            for script, result in perform(scripts, targets[side], options, unreadable[side], watch):
                plays_by_id[script.id].add(side, result)
                left.discard(script.id)
        except Gone as gone:
            for name in left:
                plays_by_id[name].add(side, DialogueResult(ending=Ending.UNDECIDED, because=str(gone)))

    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="compare") as pool:
        sides = [pool.submit(play, side) for side in (0, 1)]
        try:
            for future in sides:
                future.result()
        except KeyboardInterrupt:
            options.stop.set()
            raise


def _compared(script: Script, played: _Plays) -> DialogueComparison:
    common = played.common
    left, right = (
        common or (*plays, *undecided)[0]
        for plays, undecided in zip(played.plays, played.undecided, strict=True)
    )
    endings = left.ending, right.ending
    return DialogueComparison(script, played.likeness, left.lines, right.lines, endings, plays=played.number)


def _unreadable_of_both(left: Target, right: Target, options: Options) -> tuple[Unreadable, Unreadable]:
    """For each target the versions to avoid: those that it cannot read, and those that only it has.

    The latter are used where a dialogue needs them, so that the other target is seen not to have them.
    """
    ranges = _ranges(left, options.patience), _ranges(right, options.patience)
    return (
        _beyond(find_unreadable(left, options.patience), ranges[0], ranges[1], right.name),
        _beyond(find_unreadable(right, options.patience), ranges[1], ranges[0], left.name),
    )


def _beyond(unreadable: Unreadable, own: Ranges, others: Ranges, other: str) -> Unreadable:
    found = {name: dict(versions) for name, versions in unreadable.items()}
    for api in all_apis():
        if api.key not in own or api.key not in others:
            continue
        first, last = others[api.key]
        for version in range(own[api.key][0], own[api.key][1] + 1):
            if not first <= version <= last:
                found.setdefault(api.name, {}).setdefault(version, Dispreferred(f"{other} does not have it"))
    return found


def _ranges(target: Target, patience: float) -> Ranges:
    try:
        running = target.start({})
    except NotStarted:
        return {}
    try:
        with closing(Connection(running.address, "rota-compare")) as connection:
            return advertised(connection, patience)
    except (Undecidable, Deviation, Closed, Garbage, NotListening):
        return {}  # every dialogue meets what is wrong here
    finally:
        running.stop()
