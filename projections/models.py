"""Which models a harness's calls asked for and which answered, beside the one that its file names.

Side calls may ask another model by right (a title, a summary), so they stand apart and differ from nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

Row = dict[str, Any]

#: So many names are told in a sentence.
MAX_NAMED = 5
#: The gateway's word for a call that asks another model than the harness's file names.
_OTHER_MODEL = "other_model"
#: The date, or `latest`, at the end of a model's name.
_DATED = re.compile(r"-(?:20\d\d-?\d\d-?\d\d|latest)$")


def models_of(rows: Sequence[Row], harness: str, named: str | None) -> Row:
    """The models of one harness, from rows of tables/models.sql; `named` is the one in its file. Names are sorted.

    - `file`: `named`; `asked`, `answered`: of its turns (`answered` also where only the harness told of its calls)
    - `side`: names that only side calls asked for
    - `differs`: those of `asked` that are another model than the file's; [] where the file names none
    - `only_side`: the names asked for where every call of the harness was taken for a side call because it asked for
      another model than the file's; [] where that is not so
    """
    own = [row for row in rows if row["harness"] == harness]
    turns = [row for row in own if row["kind"] != "side"]
    asked, side = _names(turns, "asked"), _names((row for row in own if row["kind"] == "side"), "asked")
    misfiled = bool(own) and all(row["auxiliary"] == _OTHER_MODEL for row in own)
    return {
        "file": named,
        "asked": asked,
        "answered": _names(turns, "answered"),
        "side": [name for name in side if name not in asked],
        "differs": [] if named is None else [name for name in asked if not same_model(named, name)],
        "only_side": side if misfiled else [],
    }


def warning(models: Row) -> list[str]:
    """What a reader must know where the calls of a harness (`models_of`) were not for the model that its file names."""
    file, wrong = models["file"], listed(models["differs"])
    if models["only_side"]:
        return [
            f"all its calls were taken for side calls: its file says model {file}, the calls ask for "
            f"{listed(models['only_side'])}. Put that into the harness file, or no call is a turn."
        ]
    too = " too" if len(models["differs"]) < len(models["asked"]) else ""
    return [f"its file says model {file}; its calls asked for {wrong}{too}."] if wrong else []


def listed(names: Sequence[str]) -> str:
    """The names in one line, the first of them where they are many: `m1, m2, m3, m4, m5 and 2 more`."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def same_model(one: str, other: str) -> bool:
    """Whether two names mean the same model: a provider's prefix, a variant in brackets and a date do not count. The
    gateway tells side calls by it."""
    return bool(_forms(one) & _forms(other))


def _forms(name: str) -> set[str]:
    short = name.rpartition("/")[2].partition("[")[0].lower()
    return {name.lower(), short, _DATED.sub("", short)}


def _names(rows: Iterable[Row], column: str) -> list[str]:
    return sorted({row[column] for row in rows if row[column] is not None})
