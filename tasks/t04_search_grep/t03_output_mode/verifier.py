"""Passes when both numbers are right and were counted by a search that did not print the lines."""

import re
from collections import Counter

from hemra_verifier import answer, as_text, calls, denies, failed, numbers, passed, states

MOST_OTHERS = (
    8  # numbers in the answer that are none of those asked for or of a file; more is a guess at all of them
)
LARGEST_SHARE = 0.5  # of the matching lines; a look into one file is no print-out of all


def swapped(said, lines, files):
    """Whether the two right numbers are given each for the other."""
    forms = ((r"lines?\s*[:=]\s*{}\b", r"files?\s*[:=]\s*{}\b"), (r"\b{}\s+lines", r"\b{}\s+files"))
    return any(
        re.search(of_lines.format(files), said, re.IGNORECASE)
        and re.search(of_files.format(lines), said, re.IGNORECASE)
        for of_lines, of_files in forms
    )


def counted(trace, values):
    """Whether calls that worked gave the number of lines: the sum, or that of every file."""
    given = Counter(number for call in calls(trace) for number in numbers(as_text(call["result"])))
    return given[values["lines"]] > 0 or not Counter(values["counts"]) - given


def verify(workspace, trace):
    """The two numbers, then what the calls showed."""
    values = trace["values"]
    said = answer(trace)
    for what in ("lines", "files"):
        if not states(said, values[what]) or denies(said, values[what]):
            return failed(f"the answer does not give the number of {what}, {values[what]}")
    if swapped(said, values["lines"], values["files"]):
        return failed("the answer gives the number of lines as that of files")
    others = set(numbers(said)) - {values["lines"], values["files"], *values["counts"]}
    if len(others) > MOST_OTHERS:
        return failed(f"the answer gives {len(others)} other numbers beside the right ones")
    if not trace["tools_recorded"]:
        return passed(
            "both numbers are right; this harness records no tools, so how it counted was not judged"
        )
    if not counted(trace, values):
        return failed("no successful call counted the lines")
    shown = "\n".join(as_text(call["result"]) for call in calls(trace))
    printed = sum(name in shown for name in values["names"])
    if printed > LARGEST_SHARE * len(values["names"]):
        return failed(f"{printed} of the {values['lines']} lines were printed rather than counted")
    return passed("both numbers are right, and the search counted them")
