"""Passes when the answer lists exactly the hits, each by path and line, and calls that worked showed them."""

import re

from hemra_verifier import answer, as_text, calls, failed, passed, states

#: A line of the answer that only counts, and counts within a line.
SUMMARY = re.compile(
    r"\b(?:found|total|hits?|match(?:es)?|occurrences?|results?|files?|summary)\b", re.IGNORECASE
)
COUNT = re.compile(
    r"\(?\b\d+\s+(?:hits?|match(?:es)?|occurrences?|results?|todos?|lines)\b\)?", re.IGNORECASE
)
NUMBERED = re.compile(r"^\s*(?:[-*+]\s+)?\d{1,3}[.)]\s+(?=\D)")
#: The column behind a line number, which some searches print; what looks like a file.
COLUMN = re.compile(r"(:\s*\d+):\d+(?!\d)")
FILE = re.compile(r"[\w./-]*\w\.(?:js|md|py|sh|txt)\b")
BEFORE = r"(?:^\s*|[:#|(,]\s*|\blines?:?\s*(?:no\.?|number)?\s*|\bL|\band\s+|[-*+]\s+)"
PLACE = re.compile(rf"{BEFORE}(\d{{1,5}})(?![\w.]\w|\w)", re.IGNORECASE)


def places_in(said, files):
    """Every hit that the answer lists, as path:line: written so, as "path, line 3", or as lines under a path."""
    found, current = set(), None
    for line in said.splitlines():
        named = [
            path
            for path in files
            if states(line, path) or re.search(rf"(?<![\w/]){re.escape(path)}:\d", line)
        ]
        named = named or [path for path in FILE.findall(line) if path.removeprefix("./") not in files]
        current = named[0] if named else current
        if current is None or (not named and SUMMARY.search(line)):
            continue
        rest = re.split(r"\bTODO\b", NUMBERED.sub("", line) if named else line)[0]
        for path in named:
            rest = rest.replace(path, " : ")
        rest = COLUMN.sub(r"\1", COUNT.sub(" ", rest))
        found |= {f"{current}:{int(number)}" for number in PLACE.findall(rest)}
    return found


def seen(trace, path):
    """Whether a call that worked showed this file, under whatever path."""
    name = re.escape(path.rpartition("/")[2])
    return any(re.search(rf"(?<![\w.-]){name}(?!\w|\.\w)", as_text(call["result"])) for call in calls(trace))


def verify(workspace, trace):
    """The set of hits, exactly."""
    values = trace["values"]
    right = {f"{path}:{line}" for path, lines in values["hits"].items() for line in lines}
    got = places_in(answer(trace), values["files"])
    if got != right:
        missing, more = sorted(right - got), sorted(got - right)
        told = (
            [f"{len(missing)} of {len(right)} hits are not listed (such as {missing[0]})"] if missing else []
        )
        told += [f"{len(more)} that are none are listed (such as {more[0]})"] if more else []
        return failed("; ".join(told))
    if not trace["tools_recorded"]:
        return passed(
            "exactly the hits; this harness records no tools, so the list alone was judged", hits=len(right)
        )
    if not all(seen(trace, path) for path in values["hits"]):
        return failed("no successful call showed the files with the hits")
    return passed("exactly the hits", hits=len(right))
