"""What must be known before the result of a comparison is read: one sentence each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from projections.conditions import models
from projections.handicaps import handicaps
from projections.models import same_model
from projections.pairing import Pairing
from projections.report_warnings import run_again
from projections.sides import Row, Side

_LETTERS = ("A", "B")
#: How a report begins what it says of its harnesses together, of which a comparison may have another two.
_OF_SEVERAL = "The harnesses lack different shares"


def compare_cautions(a: Side, b: Side, pairing: Pairing, withheld: Sequence[Row]) -> list[str]:
    """All sentences, those that matter most first. `withheld`: why there is no verdict."""
    both = ((a, [t for p in pairing.matched for t in p[0].trials]),
            (b, [t for p in pairing.matched for t in p[1].trials]))  # fmt: skip
    return [
        *_same(a, b),
        *_of_runs(a, b),
        *(_withheld(cause) for cause in withheld),
        *_missingness(a, b),
        *_by_side(_lacking(side) for side in (a, b)),
        *_by_side(_other_model(side, trials) for side, trials in both),
        *_by_side(run_again(side.figures["retries"]["outcomes"]) for side in (a, b)),
        *_by_side(_replayed(trials) for _, trials in both),
        *_several(a, b),
    ]


def _by_side(found: Iterable[Sequence[str]]) -> list[str]:
    """`A: …`; `A and B: …` where the same is to be said of both."""
    return _lettered(found, lambda letters, _: letters)


def _lettered(found: Iterable[Sequence[str]], heading: Callable[[str, int], str]) -> list[str]:
    """The sentences of A and of B under the heading of the letters that each holds for."""
    told: dict[str, list[int]] = {}
    for index, sentences in enumerate(found):
        for sentence in sentences:
            told.setdefault(sentence, []).append(index)
    return [
        f"{heading(' and '.join(_LETTERS[i] for i in indexes), indexes[0])}{_each(indexes, sentence)}: {sentence}"
        for sentence, indexes in told.items()
    ]


def _each(indexes: Sequence[int], sentence: str) -> str:
    """What keeps a number that is true of both sides from being read as that of both together."""
    return ", each" if len(indexes) > 1 and sentence[0].isdigit() else ""


def _same(a: Side, b: Side) -> list[str]:
    if (a.run, a.harness) != (b.run, b.harness):
        return []
    return [f"A and B are the same side, harness {a.harness} of run {a.run}: nothing is compared."]


def _of_runs(a: Side, b: Side) -> list[str]:
    """What is said of each side's run as a whole. What a report says of its harnesses (of one, after its name) is
    said here of the side, in words of its own."""
    reports = (a.report,) if a.run == b.run else (a.report, b.report)
    out = []
    for index, report in enumerate(reports):
        letters = "A and B" if len(reports) == 1 else _LETTERS[index]
        elsewhere = (_OF_SEVERAL, *(f"{h['name']}: " for h in report["harnesses"]))
        out += [
            f"{letters} ({report['run']}): {w}" for w in report["warnings"] if not w.startswith(elsewhere)
        ]
    return out


def _withheld(cause: Row) -> str:
    if cause["cause"] == "overlap":
        return (
            f"Only {cause['number']} of {cause['of']} tasks {'is' if cause['number'] == 1 else 'are'} paired; "
            "the rest may well differ from them."
        )
    return (
        f"{cause['side'].upper()}: only {cause['number']} of {cause['of']} planned trials "
        f"{'is' if cause['number'] == 1 else 'are'} scored; no ranking below {cause['needed'] * 100:.0f} %."
    )


def _missingness(a: Side, b: Side) -> list[str]:
    if a.figures["coverage"] == b.figures["coverage"]:
        return []
    return ["A and B lack different shares of their scores, so what is paired may favour one of them."]


def _lacking(side: Side) -> list[str]:
    """That it failed for want of a tool."""
    return [text for harness, text in handicaps(side.trials) if harness == side.harness]


def _other_model(side: Side, trials: Sequence[Row]) -> list[str]:
    """Models that were asked for although the harness's file names another."""
    named = models(side, trials)
    if named["file"] is None:
        return []
    other = [name for name in named["asked"] if not same_model(named["file"], name)]
    if not other:
        return []
    was = "was" if len(other) == 1 else "were"
    return [f"{', '.join(other)} {was} asked for, and the harness's file names {named['file']}."]


def _replayed(trials: Sequence[Row]) -> list[str]:
    """That a model's answers were recorded before: they are no second sample."""
    count = sum(bool(t["replayed_calls"]) for t in trials)
    if not count:
        return []
    return [
        f"{count} {'trial was' if count == 1 else 'trials were'} answered by a cassette: nothing was spent on "
        f"{'it' if count == 1 else 'them'}, and the model's words and times are those of the recorded run."
    ]


def _several(a: Side, b: Side) -> list[str]:
    """That this is one comparison of many."""
    held = {side.run: len(side.report["harnesses"]) for side in (a, b)}
    count = sum(held.values())
    if count < 3:
        return []
    runs = " and ".join(sorted(held))
    return [
        f"{count * (count - 1) // 2} comparisons can be made from the {count} harnesses of {runs}, and the p-values "
        "are not corrected for that; docs/statistics.md says how."
    ]
