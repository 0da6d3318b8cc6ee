"""Texts from anywhere stay texts: no element, attribute, address or script of a page comes from a story."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from harness.elements import elements, having
from harness.stories import story_of
from rota.pages.document import document, embedded
from rota.pages.trace_page import page
from rota.trace.markup import Markup, element, escaped, visible
from rota.trace.svg import svg

EVIL = (
    "</script><img src=x onerror=alert(1)>",
    "</style><script>alert(1)</script>",
    '" onmouseover="alert(1)" x=\'',
    "' autofocus onfocus='alert(1)",
    "--><!-- ]]> <![CDATA[",
    "javascript:alert(1)",
    "&lt;b&gt; &amp;lt; &#60;b&#62;",
    "\u202egnp.exe \x00 \x1b[31m \ud800 \u2028",
    "((((((((((]]]'",
)

ATTRIBUTES = {
    "a": {"class", "href", "aria-label", "data-step", "tabindex"},
    "script": {"type", "class"},
    "style": set[str](),
}
"""What some elements may have, and nothing else."""


@pytest.mark.parametrize("evil", EVIL)
def test_no_element_or_attribute_comes_from_a_story(evil: str) -> None:
    plain = elements(page(story_of(lambda text: f"{text} x" * 3)))
    strange = elements(page(story_of(lambda text: f"{text} {evil}")))
    known = {(one.name, name) for one in plain for name in one.attributes}
    found = {(one.name, name) for one in strange for name in one.attributes}
    assert found <= known
    assert {one.name for one in strange} <= {one.name for one in plain}
    assert [one.name for one in strange].count("script") == [one.name for one in plain].count("script") == 2
    for one in strange:
        assert set(one.attributes) <= ATTRIBUTES.get(one.name, set(one.attributes)), one
        assert not [name for name in one.attributes if name.startswith("on") or name in ("style", "src")], one
        assert (one.attributes.get("href") or "#").startswith("#"), one
        for name in ("class", "id", "href"):
            assert "alert" not in (one.attributes.get(name) or ""), one


@pytest.mark.parametrize("evil", EVIL)
def test_a_stranger_s_text_is_shown_as_it_is(evil: str) -> None:
    text = page(story_of(lambda text: f"{text} {evil}"))
    (title,) = having(text, "h1")
    assert title.text == f"sync.one-owner {visible(evil)}"
    (data,) = having(text, "script", type="application/json")
    assert "at 2 " + visible(evil) in json.loads(data.text)["texts"]
    copied = [one for one in having(text, "pre") if "sequenceDiagram" in one.text]
    assert copied[0].text == f"sequenceDiagram\n  a->>b: c {visible(evil)}"


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("standalone", [True, False])
def test_a_chart_is_xml_whatever_is_in_it(evil: str, standalone: bool) -> None:
    names = {one.tag for one in ElementTree.fromstring(svg(story_of(), standalone=standalone)).iter()}
    strange = svg(replace(story_of(lambda text: f"{text} {evil}"), cycle=2), standalone=standalone)
    assert {one.tag for one in ElementTree.fromstring(strange).iter()} <= names


def test_what_turns_or_hides_text_is_written_out() -> None:
    assert visible("a\u202eb\x00c\ud800") == "a\\u202eb\\u0000c\\ud800"
    assert visible("two\nlines") == "two\nlines"
    page(story_of(lambda text: text + "\ud800")).encode()


def test_attributes_and_names_of_elements_are_checked() -> None:
    assert element("a", "<", Markup("<b></b>"), href='"') == '<a href="&quot;">&lt;<b></b></a>'
    assert element("br") == "<br>"
    assert escaped("'\"<&>") == "&#39;&quot;&lt;&amp;&gt;"
    with pytest.raises(ValueError, match="no name of an element"):
        element("a b")
    with pytest.raises(ValueError, match="no name of an attribute"):
        element("a", **{"x onclick": "1"})


def test_data_and_scripts_cannot_end_their_element() -> None:
    data = embedded(["</script><!--", "&"])
    assert "<" not in data.removeprefix("<script").removesuffix("</script>")
    assert json.loads(elements(data)[0].text) == ["</script><!--", "&"]
    with pytest.raises(ValueError, match="cannot contain its end"):
        document("t", Markup(""), scripts=["'</SCRIPT>'"])
    with pytest.raises(ValueError, match="cannot contain its end"):
        document("t", Markup(""), styles=["</style>"])
