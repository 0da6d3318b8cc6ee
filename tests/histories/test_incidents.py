"""What tables tell of incidents is what `rota explain` tells of the same sources; the picture of it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from operator import itemgetter
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.judged_frames import terms_of
from harness.nights_apart import as_tables, own_nights, scattered, told
from harness.thinned import some
from rota.cli.main import main
from rota.explain.as_json import incident_as_json
from rota.explain.worst import Explainer, Wanted
from rota.histories.plots import LETTERS, picture, plots, shortened
from rota.histories.summary import as_json, text
from rota.histories.tables import rows
from rota.mutants.core import CoreBug, planted
from rota.reading import ReadOptions, read, time_zone

PAGE = Path(__file__).parents[2] / "docs" / "worst-groups.md"

SHARED = ("open", "seconds", "rebalances", "cause", "title", "sentence", "members")


def lake(folder):
    """The page's logs, and recordings of groups beside them."""
    (folder / "logs").mkdir(parents=True)
    for name, log in re.findall(r"```text file=(logs/\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        (folder / name).write_text(log)
    scattered([one for night in own_nights() for one in night], 3, folder / "recordings", copies=5)
    return folder


UTC = {"time_zone": time_zone("UTC")}


def explained(folder, **wanted):
    """By group: what one run over all of it tells."""
    explainer = Explainer(Wanted(**wanted), 1_000)
    for event in read([str(folder)], options=ReadOptions(unordered=True, **UTC)):
        explainer.take(event)
    found = {}
    for one in explainer.done().incidents:
        found.setdefault(one.incident.group, []).append(incident_as_json(one))
    return found


def tables(folder, out, **more):
    pipeline, known = as_tables([folder], out, terms_of(**more), unordered=True, **UTC)
    found = {}
    for row in rows(out, "incidents"):
        found.setdefault(row["group"], []).append(row)
    return told(pipeline, known), found


def agree(tmp_path):
    _, found = tables(lake(tmp_path / "lake"), tmp_path / "out")
    alone = explained(tmp_path / "lake")
    assert found.keys() == alone.keys() >= {"orders", "billing", "rejoining"}
    for group, incidents in alone.items():
        for row, one in zip(found[group], incidents, strict=True):
            # One that goes on is told to the last frame of all, there to the last one that says something.
            shared = [name for name in SHARED if not one["open"] or name not in ("seconds", "sentence")]
            assert [row[name] for name in shared] == [one[name] for name in shared]
            assert not one["open"] or row["seconds"] >= one["seconds"] > 4.0
        assert [one["began"].timestamp() for one in found[group]] == [
            pytest.approx(one["began"], abs=1e-5) for one in incidents
        ]
        assert [one["rests_on"] for one in found[group]] == [
            [each["origin"] for each in one["rests_on"]] for one in incidents
        ]
        assert all(one["accounts"] and one["change"] is not None for one in found[group])


def test_tables_tell_of_incidents_what_explain_does(tmp_path):
    agree(tmp_path)


def test_of_what_was_not_asked_for_no_incident_is_told(tmp_path):
    began = 1_795_500_000.0
    _, found = tables(lake(tmp_path / "lake"), tmp_path / "out", group="orders", since=began)
    assert {group: len(each) for group, each in found.items()} == {"orders": 1}
    assert found["orders"][0]["cause"] == "came"


BUGS = (
    ("what goes on ends with its last event", "Explaining.rows", "max(accounts.now, ends)", "accounts.now"),
    ("nothing is told in the end", "Explaining.rows", "self._explainer.done()", "pass"),
    ("whoever is asked for, all are told", "Explaining.__init__", 'terms.group in ("", group)', "True"),
    ("at any time", "Explaining.__init__", "terms.since, terms.until", "None, None"),
    ("the latest first", "Explaining.rows", "one.incident.began or 0.0", "-(one.incident.began or 0.0)"),
    ("what it cost is when it began", "Explaining._row", '"open", "seconds"', '"open", "began"'),
)


@pytest.mark.parametrize(
    ("name", "function", "old", "new"), some(BUGS, name=itemgetter(0)), ids=[one[0] for one in BUGS]
)
def test_what_is_planted_is_found(tmp_path, name, function, old, new):
    failed = []
    with planted(CoreBug("", name, name, "rota.histories.explaining:" + function, old, new)):
        for number, check in enumerate((agree, test_of_what_was_not_asked_for_no_incident_is_told)):
            try:
                check(tmp_path / str(number))
            except Exception as error:
                failed.append(error)
    assert failed


def worst_of(out):
    """Groups and their seconds, from the table."""
    found = {}
    for row in rows(out, "incidents"):
        found[row["group"]] = found.get(row["group"], 0.0) + (row["seconds"] or 0.0)
    return found.items()


def test_the_picture_has_a_bar_for_everything(tmp_path):
    found, _ = tables(lake(tmp_path / "lake"), tmp_path / "out")
    drawn = ET.fromstring(picture(found))
    texts = [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
    for plot in plots(found):
        assert plot.title in texts
        assert {shortened(name) for name, length in plot.rows} <= set(texts)
    lengths = {one.title: dict(one.rows) for one in plots(found)}
    summary = as_json(found)
    assert lengths["Groups by verdict"] == summary["verdicts"]
    assert lengths["Events by what became of them"]["judged"] == summary["judged"]
    assert lengths["What happened: incidents by cause"]["Lost client"] == 1
    assert summary["causes"]["Lost client"] == {"incidents": 1, "seconds": 40.1}
    assert "Lost client 1 (40.1 s)" in text(found)
    assert summary["worst"] == {
        name: pytest.approx(lost, abs=0.001) for name, lost in worst_of(tmp_path / "out")
    }
    assert [*summary["worst"].values()] == sorted(summary["worst"].values(), reverse=True)
    assert summary["worst"]["orders"] == 43.2
    assert len(shortened("x" * 99)) == LETTERS
    assert picture(found) == picture(found)
    widths = [float(one.get("width")) for one in drawn.iter("{http://www.w3.org/2000/svg}rect")]
    assert max(widths[1:]) <= widths[0] / 2


def told_by(*arguments):
    found = CliRunner().invoke(main, ["explain", *map(str, arguments), "--time-zone", "UTC"])
    return found.exit_code, found.stdout


def test_explain_tells_the_costliest_of_its_tables(tmp_path):
    lake(tmp_path)
    code, said = told_by(tmp_path / "logs", "--out", tmp_path / "out")
    assert code == 0
    assert said.splitlines()[-1] == "explained: 3 rebalances of 2 groups, 48.4 s without an assignment"
    assert said.startswith("Lost client: the broker heard nothing of packer-1")
    assert re.search(r"^orders +2 +2 +43.2 +Lost client", said, re.MULTILINE)
    code, alone = told_by(tmp_path / "logs")
    assert (code, alone.splitlines()[-1]) == (0, said.splitlines()[-1])
    whose = "--group", "billing", "--out", tmp_path / "billing"
    code, said = told_by(tmp_path / "logs", *whose, "--json")
    found = json.loads(said)
    assert (code, found["groups"], found["rebalances"], found["seconds"]) == (0, 1, 1, 5.2)
    code, said = told_by(tmp_path / "logs", "--out", tmp_path / "out", "--most", 1)
    assert "not told: 2 incidents that cost less" in said


@pytest.mark.parametrize("more", [["--follow"], ["--report", "html=x.html"], ["--engine", "spark"]])
def test_what_does_not_go_with_tables_is_refused(tmp_path, more):
    out = [] if "spark" in more else ["--out", tmp_path / "out"]
    code, _ = told_by(lake(tmp_path) / "logs", *more, *out)
    assert code == 2
