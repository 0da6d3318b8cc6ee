"""A page for every property: kind, premise, the rules that it guards, what it kills, where it is judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache

from rota.invariants import WEAKNESSES, classic, endless
from rota.invariants.weaknesses import STRONG_FORMS
from rota.kernel import Liveness
from rota.mutants import MUTANTS
from rota.mutants.endless import ENDLESS_KILLS
from rota.report.reference.claims import Claim, claims
from rota.report.reference.markdown import table
from rota.report.reference.property_pages import KINDS, kind_of
from rota.report.site.writing import listed, place_of, plain, property_link, rule_link, toctree
from rota.scopes import load
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
    yield from toctree(claims(), "hidden")


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
    yield from ("", "## See it", "", "```console", f"$ {_command(name, claim)}", "```", "")


def _command(name: str, claim: Claim) -> str:
    lively = " --liveness" if isinstance(claim, Liveness) else ""
    first = next((scope for scope in SCOPES if name in judged().get(scope, {})), "small")
    scope = f" --scope {first}" if first not in ("small", "endless") else ""
    where = judged().get(first, {}).get(name, ())
    return f"rota check{lively}{scope} --property {name}" + (f" --configuration {where[0]}" if where else "")


def _killed(name: str) -> Iterator[tuple[str, str, str, str]]:
    lasting = {one.mutant: one.configuration for one in ENDLESS_KILLS if one.by == name}
    for mutant in MUTANTS.values():
        if mutant.killer == name or mutant.name in lasting:
            of = rule_link(mutant.slug) if mutant.slug in RULES else mutant.slug
            where = mutant.configuration if mutant.killer == name else lasting[mutant.name]
            yield f"`{mutant.name}`", plain(mutant.meaning), of, f"`{where}`"


@cache
def judged() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Scope -> property -> the configurations of that scope whose worlds have it, with the newest brokers."""
    found: dict[str, dict[str, list[str]]] = {}
    for scope in SCOPES:
        found[scope] = defaultdict(list)
        for one in load(scope).configurations:
            if one.is_for(PROFILE):
                settings = one.settings_for(PROFILE)
                here = (
                    endless(settings, strict=True) if scope == "endless" else classic(settings, strict=True)
                )
                for claim in here:
                    found[scope][claim.name].append(one.name)
    return {scope: {name: tuple(where) for name, where in some.items()} for scope, some in found.items()}


def _where(name: str) -> Iterator[str]:
    for scope, some in judged().items():
        if where := some.get(name):
            shown = ", ".join(f"`{one}`" for one in where[:4])
            more = f" and {len(where) - 4} more" if len(where) > 4 else ""
            yield f"[{scope}](/scopes.md): {shown}{more}"
