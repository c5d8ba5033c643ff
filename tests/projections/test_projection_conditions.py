"""What differs between two sides besides the harness: named, of the side's own trials, and never of others'."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eventlog.schemas import conversation as c
from eventlog.schemas import runs as r
from eventlog.schemas import trials as t
from eventlog.store import Store
from hemra.reports.render import render_compare
from projections.compare import compare
from tests.projections.compared_runs import (
    TASKS,
    begun,
    carried,
    differing,
    placed,
    plain,
    ran,
    resumed,
    spoken,
)
from tests.projections.synthetic_runs import SECOND, new_store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    return new_store(tmp_path)


def test_the_models_asked_for_and_answering_are_conditions(store: Store) -> None:
    """A harness that asked for another model than its file names, or got one, would be like for like with one
    that did not."""
    own = ran(store, {"model": "model-alpha", "answered": "model-alpha-1"})
    other = ran(store, {"model": "cheap", "answered": "cheap-2", "auxiliary": "other_model"})
    switched = ran(store, {"model": "model-alpha", "answered": "stand-in"})
    mixed = ran(store, {"model": "model-alpha"}, {"model": "x/model-alpha"})
    assert differing(compare(store, own, other)) == {
        "model asked": ("model-alpha", "cheap"), "model answered": ("model-alpha-1", "cheap-2"),
    }  # fmt: skip
    assert differing(compare(store, own, switched)) == {"model answered": ("model-alpha-1", "stand-in")}
    assert differing(compare(store, own, mixed))["model asked"] == (
        "model-alpha",
        "model-alpha, x/model-alpha",
    )
    assert compare(store, own, mixed)["a"]["models"] == {
        "file": "model-alpha", "asked": ["model-alpha"], "answered": ["model-alpha-1"],
    }  # fmt: skip
    assert compare(store, own, mixed)["warnings"] == [], "a provider's prefix is no other model"


def test_side_calls_make_no_difference(store: Store) -> None:
    """A harness that lets a small model make titles would never be like for like with one that does not."""
    own = ran(store, {"model": "model-alpha"})
    titled = ran(
        store,
        {"model": "model-alpha"},
        {"model": "small", "auxiliary": "other_model"},
        {"model": "tiny", "auxiliary": "no_tools"},
        {"model": "probed", "auxiliary": "probe"},
    )
    comparison = compare(store, own, titled)
    assert (comparison["conditions"], comparison["warnings"]) == ([], [])


def test_the_models_word_counts_without_the_gateway(store: Store) -> None:
    """A harness that tells which model answered would be like for like with one on another model."""
    runs = []
    for model in ("one", "two"):
        run = begun(store)
        for trial in run.trials.values():
            run.start(trial)
            run.event(c.ModelResponded(model=model, usage=None), trial)
            run.finish(trial, reward=1.0)
        runs.append(run.end())
    assert differing(compare(store, *runs)) == {"model answered": ("one", "two")}


def test_only_the_try_that_counts_is_looked_at(store: Store) -> None:
    """A try that was thrown away would make a side differ from what was scored."""
    own = ran(store, {"model": "model-alpha"})
    run = begun(store, served=("alpha",))
    for trial in run.trials.values():
        run.start(trial, sandbox={"network": "full"})
        run.call(trial, "m1", asked={"model": "other"}, model="other")
        run.event(
            t.TrialRetried(
                try_no=1, outcome="provider_error", reason="x", backoff_seconds=0, duration_ns=SECOND
            ),
            trial,
        )
        run.start(trial, 2)
        run.call(trial, "m1", asked={"model": "model-alpha"}, model="model-alpha")
        run.score(trial, "PASS", 1.0, try_no=2)
        run.finish(trial, reward=1.0, try_no=2)
    again = compare(store, own, run.end())
    assert differing(again) == {}
    assert any("2 tries were run again (2 provider error)" in warning for warning in again["warnings"])


def test_the_sandbox_is_that_of_the_sides_own_harness(store: Store) -> None:
    """What another harness of the run was given would be told of a side, or hide what its own was not given."""
    full = {"network": "full", "enforcement": {"network": t.Enforcement(status="not enforced")}}
    none = {"network": "none", "enforcement": {"network": t.Enforcement(status="enforced", by="namespace")}}
    both = begun(store, harnesses=("alpha", "beta"))
    for (harness, _, _), trial in both.trials.items():
        plain(both, trial, full if harness == "beta" else none)
    run = both.end()
    alone = placed(store, none)
    assert differing(compare(store, f"{run}:alpha", alone)) == {}
    between = differing(compare(store, run))
    assert between["network"] == ("none", "full")
    assert between["not enforced"] == (None, "network")


def test_what_is_held_as_best_it_can_be_is_a_condition(store: Store) -> None:
    """A limit that is only asked for would stand beside one that is held."""
    sides = [
        placed(store, {"enforcement": {"memory_bytes": t.Enforcement(status=status)}})
        for status in ("enforced", "best effort")
    ]
    assert differing(compare(store, *sides)) == {"best effort": (None, "memory_bytes")}


def test_what_a_trial_was_not_given_is_a_condition(store: Store) -> None:
    """A task's limit that nobody holds for one harness would look as if it held for both."""
    runs = []
    for names in ([], ["turns"]):
        run = begun(store)
        for (harness, task, attempt), trial in run.trials.items():
            run.event(
                t.TrialStarted(
                    try_no=1, harness=harness, task=task, attempt=attempt, seed=1, instruction="x", values={},
                    not_enforced=names, limits=r.Limits(),
                ),
                trial,
            )  # fmt: skip
            run.finish(trial, reward=1.0)
        runs.append(run.end())
    assert differing(compare(store, *runs)) == {"not enforced": (None, "turns")}


def test_images_are_conditions_and_shown_short(store: Store) -> None:
    """Two builds of one tag would be like for like; or whole digests would fill the page."""
    ids = ["sha256:" + letter * 64 for letter in "ab"]
    one, other = (placed(store, {"kind": "docker", "details": {"image": "x:1", "image_id": i}}) for i in ids)
    comparison = compare(store, one, other)
    assert differing(comparison) == {"image": (ids[0], ids[1])}
    for format_ in ("text", "md"):
        text = spoken(comparison, format_)
        assert "sha256:" + "a" * 12 in text
        assert "a" * 13 not in text


def test_images_of_tasks_that_are_not_paired_make_no_difference(store: Store) -> None:
    """A run of more tasks would differ by what only those tasks brought along."""
    more = begun(store, tasks=(*TASKS, "t/2"))
    for (_, task, _), trial in more.trials.items():
        plain(more, trial, {"details": {"image_id": "sha256:" + ("b" if task == "t/2" else "a") * 64}})
    few = placed(store, {"details": {"image_id": "sha256:" + "a" * 64}})
    assert differing(compare(store, more.end(), few)) == {}


def test_the_endpoint_behind_the_gateway_is_a_condition(store: Store) -> None:
    """Answers of two providers, or of a cheap copy of one, would be told to come from the same place."""

    def at(*urls: str) -> str:
        harnesses = [
            r.PlannedHarness(
                name=f"h{i}", kind="command", digest="sha256:x", version="1",
                definition={"model": "m", "upstream": {"base_url": url}},
            )
            for i, url in enumerate(urls)
        ]  # fmt: skip
        return ran(
            store, {"model": "m"}, harnesses=[h.name for h in harnesses], plan={"harnesses": harnesses}
        )

    one, other = "https://one.example/v1", "https://other.example/v1"
    assert differing(compare(store, at(one, other))) == {"upstream": (one, other)}
    assert differing(compare(store, at(one), at(other))) == {"upstream": (one, other)}
    assert differing(compare(store, at(one, f"{one}/"))) == {}


def test_the_files_of_an_installed_program_are_a_condition(store: Store) -> None:
    """An agent that was changed where it was installed would pass for the one of its version."""

    def of(digest: str | None) -> str:
        installed = None if digest is None else {"name": "x", "version": "1.0", "digest": digest}
        harness = r.PlannedHarness(
            name="alpha", kind="pi", digest="sha256:x", definition={}, version="1.0", installed=installed
        )
        return placed(store, {}, plan={"harnesses": [harness]})

    assert differing(compare(store, of("sha256:1"), of("sha256:2"))) == {
        "harness program": ("sha256:1", "sha256:2")
    }
    assert differing(compare(store, of("sha256:1"), of("sha256:1"))) == {}


def test_versions_of_a_resumed_run_are_a_condition(store: Store) -> None:
    """Trials of two versions of a harness would be averaged and told to be those of the first."""
    line = "harness alpha says it is version 2.0; the run was planned with 1.0"
    mixed, whole = resumed(store, line), placed(store, {})
    comparison = compare(store, mixed, whole)
    assert differing(comparison) == {"harness version": ("1.0 and 2.0", "1.0")}
    assert comparison["a"]["versions"] == ["1.0", "2.0"]
    said = f"A ({mixed}): harness_version_changed: {line}"
    assert said in comparison["warnings"]
    for format_ in ("text", "md", "json"):
        assert said in spoken(comparison, format_).replace("\\", "")
    page = render_compare(comparison, "text", width=140, colour=False)
    assert "A   alpha 1.0 and 2.0" in page, "the side stands there as of one version"
    assert "| A | alpha | 1.0 and 2.0 |" in spoken(comparison, "md")
    both = compare(store, mixed, resumed(store, line))
    assert both["like_for_like"]
    assert any(warning.startswith("B (") and line in warning for warning in both["warnings"])
    two = begun(store, harnesses=("beta",))
    for trial in two.trials.values():
        plain(two, trial)
    other = differing(compare(store, mixed, two.end()))
    assert other["harness version"] == ("1.0 and 2.0", "1.0"), "another harness, but a side of two versions"


def test_a_version_that_could_not_be_asked_for_is_not_the_planned_one(store: Store) -> None:
    """A program that no longer tells its version would be taken for the one of the plan."""
    line = "harness alpha: its version is not known: it ended with 1"
    run = begun(store)
    plain(run, "0001")
    run.event(r.RunResumed(pid=2, boot="boot-1", jobs=2, finished=1, remaining=1, interrupted=[]))
    run.event(c.NoteRecorded(level="warning", code="harness_version_unknown", text=line))
    plain(run, "0002")
    comparison = compare(store, run.end(), placed(store, {}))
    assert differing(comparison) == {"harness version": ("1.0 and not told", "1.0")}


def test_jobs_of_every_session_are_a_condition(store: Store) -> None:
    """A run that was resumed with more jobs would be like for like with one that never had them."""
    assert differing(compare(store, resumed(store, jobs=3), placed(store, {}))) == {"jobs": ("2, 3", 2)}
    assert differing(compare(store, resumed(store, jobs=10), resumed(store, jobs=10))) == {}


def test_another_hemra_or_machine_is_a_condition(store: Store) -> None:
    """A run that was carried to another machine, or went on with another hemra, would pass for one of one piece."""
    whole = placed(store, {})
    moved = carried(store, host={"system": "Linux", "cpus": 64}, hemra={"version": "0.2.0"})
    assert differing(compare(store, moved, whole)) == {
        "hemra.version": ("0.1.0, 0.2.0", "0.1.0"), "host.cpus": ("2, 64", 2),
    }  # fmt: skip


def test_resuming_on_the_same_machine_is_no_condition(store: Store) -> None:
    """Every resumed run would differ from every other, also old ones of which nothing more is known."""
    whole = placed(store, {})
    for fields in ({"host": {"system": "Linux", "cpus": 2}, "hemra": {"version": "0.1.0"}}, {}):
        assert differing(compare(store, carried(store, **fields), whole)) == {}


def test_json_has_what_the_page_says(store: Store) -> None:
    """A script would have to read a table made for people to know what differs."""
    one, other = (placed(store, {"network": kind}) for kind in ("none", "full"))
    document = json.loads(render_compare(compare(store, one, other), "json"))
    assert document["conditions"] == [{"name": "network", "a": "none", "b": "full"}]
    assert document["a"]["versions"] == ["1.0"]
