"""A page for every property: kind, premise, the rules that it guards, what it kills, where it is judged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from rota.environment.world import observed
from rota.explore.result import DEADLOCK
from rota.invariants import WEAKNESSES, Weakness, classic, endless
from rota.invariants.weaknesses import STRONG_FORMS
from rota.kernel import Kind, Liveness
from rota.mutants import MUTANTS
from rota.mutants.endless import ENDLESS_KILLS
from rota.report.reference.claims import Claim, claims
from rota.report.reference.markdown import table
from rota.report.reference.property_pages import KINDS, kind_of
from rota.report.site.writing import listed, place_of, plain, property_link, rule_link, toctree
from rota.scopes import Scope, load
from rota.spec import RULES

SCOPES = ("tiny", "small", "standard", "endless")
PROFILE = "kafka-4.x"

PREMISE = {
    True: "It has one. Where that is false nothing is claimed; a run counts how often it was true.",
    False: "It has none: it claims something of whatever it looks at.",
}


def pages() -> Iterator[tuple[str, str]]:
    """(path below the reference, text) of each property, and their index."""
    for name, claim in claims().items():
        yield f"property/{name}.md", "\n".join(_property(name, claim))
    yield "property/index.md", "\n".join(_index())


def _index() -> Iterator[str]:
    yield from ("# Every property", "", "A page for each sentence that is claimed, kind by kind.", "")
    weak = {one.name for one in WEAKNESSES}
    for kind, meaning in KINDS.items():
        rows = [
            (property_link(name, claims()), plain(claim.meaning))
            for name, claim in claims().items()
            if kind_of(claim) == kind and name not in weak
        ]
        yield from (f"## {kind}", "", plain(meaning), "")
        yield from table(("property", "says"), rows)
        yield ""
    yield from ("## known weaknesses", "", "What one would wish to hold, and brokers break.", "")
    yield from table(
        ("weakness", "says", "broken by"),
        ((property_link(one.name, claims()), plain(one.sentence.meaning), ", ".join(one.profiles))
         for one in WEAKNESSES),
    )  # fmt: skip
    yield ""
    yield from toctree(claims(), hidden="")


def _property(name: str, claim: Claim) -> Iterator[str]:
    weakness = next((one for one in WEAKNESSES if one.name == name), None)
    yield from (f"# {name}", "", plain(claim.meaning), "")
    if weakness:
        yield f"A known weakness of {', '.join(weakness.profiles)}: a sentence that one would wish to hold."
        yield ""
    strong = [one for one, weak in STRONG_FORMS.items() if weak == name]
    yield from listed(
        {
            "kind": f"{kind_of(claim)}: {KINDS[kind_of(claim)]}",
            "says": claim.kind.value if isinstance(claim, Liveness) else "",
            "assumes": " ".join(one.meaning for one in claim.fairness) if isinstance(claim, Liveness) else "",
            "premise": PREMISE[claim.given is not None],
            "looks at": ", ".join(f"`{view.role}`" for view in claim.views),
            "strong form of": property_link(STRONG_FORMS[name], claims()) if name in STRONG_FORMS else "",
            "strong forms, which brokers break": ", ".join(property_link(one, claims()) for one in strong),
            "written in": plain(claim.source),
            "in the source": f"`{place_of(claim.test)}`",
            "judged in": "; ".join(_where(name)),
        }
    )  # fmt: skip
    yield from ("## Rules that it guards", "")
    guarded = [(rule_link(slug), plain(RULES[slug].title)) for slug in claim.rules if slug in RULES]
    yield from table(("rule", "says"), guarded) if guarded else iter(("It names none: it is about clients.",))
    yield from ("", "## Mutants that it kills", "")
    killed = list(_killed(name))
    if killed:
        yield "It is the first to report these; `rota check --mutant NAME` shows the shortest run."
        yield ""
        yield from table(("mutant", "mistake", "of", "first in"), killed)
    else:
        yield "It is the first to report none."
    yield from ("", "## Judge it alone", "", "```sh long", _command(name, claim), "```", "")


def _command(name: str, claim: Claim) -> str:
    """How it is judged alone where that is quickly done; of a known weakness: where its run is found."""
    weakness = next((one for one in WEAKNESSES if one.name == name), None)
    profile = weakness.profiles[0] if weakness else PROFILE
    smallest = "small" if name in load("tiny").unclaimed(profile) else "tiny"
    scope, where = next(_configurations(name, profile, weakness), (smallest, ""))
    words = ["rota check --liveness" if isinstance(claim, Liveness) else "rota check"]
    words += [f"--scope {scope}"] if scope not in ("small", "endless") else []
    words += [f"--profile {profile}"] if profile != PROFILE else []
    killed = next(_kills(name), None) if weakness is None else None
    words += [f"--mutant {killed[0]}"] if killed else []
    words += [f"--configuration {where}"] if where else []
    judged = DEADLOCK if kind_of(claim) == Kind.TERMINAL.value else name
    words += [f"--property {judged}", *(["  # exit 1, with the run"] if weakness or killed else [])]
    return " ".join(words)


def _configurations(name: str, profile: str, weakness: Weakness | None) -> Iterator[tuple[str, str]]:
    """(scope, configuration) where it is judged, of a weakness those where it must be found.

    Of what is no weakness and no witness only those where it kills a mutant, for there it has something to
    judge; where it is the first to kill none it is judged in all of the smallest scope that claims it.
    """
    if weakness is None and kind_of(claims()[name]) != Kind.WITNESS.value:
        scope = "endless" if isinstance(claims()[name], Liveness) else "small"
        yield from ((scope, where) for _, where in _kills(name))
        return
    for scope in SCOPES:
        for one in _scope(scope).configurations:
            if not one.is_for(profile) or name not in judged_in(scope, one.name, profile):
                continue
            if weakness is None or weakness.cause(observed(one.settings_for(profile))):
                yield scope, one.name


def _kills(name: str) -> Iterator[tuple[str, str]]:
    """(mutant, configuration) of what it kills; a witness is reached or not, with whatever bug."""
    if kind_of(claims()[name]) != Kind.WITNESS.value:
        yield from ((one.name, one.configuration) for one in MUTANTS.values() if one.killer == name)
        yield from ((one.mutant, one.configuration) for one in ENDLESS_KILLS if one.by == name)


def _killed(name: str) -> Iterator[tuple[str, str, str, str]]:
    lasting = {one.mutant: one.configuration for one in ENDLESS_KILLS if one.by == name}
    for mutant in MUTANTS.values():
        if mutant.killer == name or mutant.name in lasting:
            of = rule_link(mutant.slug) if mutant.slug in RULES else mutant.slug
            where = mutant.configuration if mutant.killer == name else lasting[mutant.name]
            yield f"`{mutant.name}`", plain(mutant.meaning), of, f"`{where}`"


@cache
def _scope(name: str) -> Scope:
    return load(name)


@cache
def judged_in(scope: str, configuration: str, profile: str) -> frozenset[str]:
    """The properties of a configuration's world."""
    settings = _scope(scope).configuration(configuration).settings_for(profile)
    sentences = endless(settings, strict=True) if scope == "endless" else classic(settings, strict=True)
    return frozenset(one.name for one in sentences)


def _where(name: str) -> Iterator[str]:
    for scope in SCOPES:
        here = [one.name for one in _scope(scope).configurations if one.is_for(PROFILE)]
        where = [one for one in here if name in judged_in(scope, one, PROFILE)]
        if where:
            shown = ", ".join(f"`{one}`" for one in where[:4])
            more = f" and {len(where) - 4} more" if len(where) > 4 else ""
            yield f"[{scope}](/scopes.md): {shown}{more}"
