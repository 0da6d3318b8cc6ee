"""The list of properties, and the known weaknesses with the brokers that have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rota.invariants import WEAKNESSES
from rota.invariants.consumer import WEAKNESSES as CONSUMER_WEAKNESSES
from rota.invariants.weaknesses import STRONG_FORMS
from rota.kernel import Kind, Liveness
from rota.report.reference.claims import DEADLOCKS, Claim, claims, consumer_claims, consumer_kills, kills
from rota.report.reference.markdown import codes, link, links, opening, paragraph, table
from rota.spec import PROFILES

KINDS = {
    "shape": "Every state is well formed.",
    "safety": "Nothing bad in any state.",
    "effect": "Nothing bad in what a step does beside its next state: how long a timer is armed for.",
    "step": "Nothing bad between a state and the next.",
    "liveness": "Something good in the end, in every fair endless run: `rota check --liveness`.",
    "witness": "Something good can be reached, else the check would be in vain.",
    "terminal": "The states that may be last; any other that only leads to itself is a deadlock.",
}


ABOUT = """{strong} sentences that hold, and {weak} known weaknesses: sentences that one would wish to hold
and that brokers break. `rota check --property NAME` judges one alone. *Kills* names the mutants of the spec
that a property is the first to report; of a sentence about endless runs, those that it is known to report."""

WEAK = """Looked for in every run of a configuration that has what they take; a run that does not find one
fails. For brokers without it, and where the cause is not, the sentence is a property like all others. `rota
check --strict` makes all of them violations, `--property NAME` one of them: that is how to see its run."""


CONSUMER_ABOUT = """What is claimed of the consumer protocol (KIP-848): {strong} sentences that hold in its
worlds of two clients, and {weak} known weaknesses. `rota check --protocol consumer --property NAME` judges
one alone. *Kills* names the mutants of its spec that a property is the first to report."""

CONSUMER_WEAK = """Looked for in every configuration that has what they take, and violations with `rota check
--protocol consumer --strict`; `--property NAME` shows the run of one."""


@dataclass(frozen=True)
class Known:
    """What a page knows of its claims. kills: property -> mutants; rules: the page on which rules are."""

    kills: Mapping[str, tuple[str, ...]]
    rules: str


def kind_of(claim: Claim) -> str:
    """The kind in a word."""
    return Kind.LIVENESS.value if isinstance(claim, Liveness) else claim.kind.value


def lines() -> Iterator[str]:
    """The page."""
    weak = {one.name for one in WEAKNESSES}
    strong = {name: claim for name, claim in claims().items() if name not in weak}
    known = Known(kills(), "rules.md")
    yield from opening("Properties", ABOUT.format(strong=len(strong), weak=len(weak)))
    yield from _kinds(strong, known)
    yield from ("## known weaknesses", "")
    yield from paragraph(WEAK)
    yield from table(
        ("weakness", *PROFILES),
        (
            (link(one.name), *("breaks" if one.known_in(profile) else "holds" for profile in PROFILES))
            for one in WEAKNESSES
        ),
    )
    yield ""
    for one in WEAKNESSES:
        yield from _claim(one.name, one.sentence, known)


def consumer_lines() -> Iterator[str]:
    """The page on the consumer protocol."""
    weak = {one.sentence.name: one.sentence for one in CONSUMER_WEAKNESSES}
    strong = {name: claim for name, claim in consumer_claims().items() if name not in weak}
    known = Known(consumer_kills(), "consumer-rules.md")
    about = CONSUMER_ABOUT.format(strong=len(strong), weak=len(weak))
    yield from opening("Properties of the consumer protocol", about)
    yield from _kinds(strong, known)
    yield from ("## known weaknesses", "")
    yield from paragraph(CONSUMER_WEAK)
    for name, sentence in weak.items():
        yield from _claim(name, sentence, known)


def _kinds(strong: Mapping[str, Claim], known: Known) -> Iterator[str]:
    """Kind by kind; none is left out."""
    for kind, meaning in KINDS.items():
        some = [(name, claim) for name, claim in strong.items() if kind_of(claim) == kind]
        yield from (f"## {kind}", "", meaning, "")
        for name, claim in some:
            yield from _claim(name, claim, known)
        if kind == "terminal":
            name, meaning = DEADLOCKS
            yield from (f"### {name}", "", meaning, "", f"- kills: {codes(known.kills.get(name, ()))}", "")


def _claim(name: str, claim: Claim, known: Known) -> Iterator[str]:
    yield from (f"### {name}", "", claim.meaning, "")
    if isinstance(claim, Liveness):
        yield f"- says: {claim.kind.value}"
        yield f"- assumes: {' '.join(one.meaning for one in claim.fairness)}"
    elif name.startswith("weakness."):
        yield f"- kind: {claim.kind.value}"
    facts = {
        "strong form of": link(STRONG_FORMS[name]) if name in STRONG_FORMS else "",
        "strong forms, which brokers break": links(
            strong for strong, weak in STRONG_FORMS.items() if weak == name
        ),
        "source": claim.source,
        "rules": links(claim.rules, known.rules),
        "kills": codes(known.kills.get(name, ())),
    }
    yield from (f"- {what}: {words}" for what, words in facts.items() if words)
    yield ""
