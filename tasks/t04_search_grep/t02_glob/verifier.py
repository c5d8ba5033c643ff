"""Passes when exactly the right Python files are named, found by calls that left files of other kinds out."""

import re

from hemra_verifier import answer, as_text, calls, denies, failed, passed, states


def named(said, path):
    """Whether the text names this file: by its path, or by its name, which no other file has."""
    return states(said, path) or states(said, path.rpartition("/")[2])


def denied(said, path):
    """Whether the file is named to say that it is none of them."""
    return denies(said, path) or denies(said, path.rpartition("/")[2])


def seen(trace, path):
    """Whether a call that worked showed this file, under whatever path."""
    name = re.escape(path.rpartition("/")[2])
    return any(re.search(rf"(?<![\w.-]){name}(?!\w|\.\w)", as_text(call["result"])) for call in calls(trace))


def limited(trace, kinds):
    """The trace with those calls only that showed no file of another kind."""
    names = [path.rpartition("/")[2] for path in kinds]
    clean = [call for call in calls(trace) if not any(name in as_text(call["result"]) for name in names)]
    return {**trace, "tool_calls": clean}


def verify(workspace, trace):
    """The set of files must be equal; calls that showed no other kind of file must have shown all of it."""
    values = trace["values"]
    said = answer(trace)
    missing = [path for path in values["found"] if not named(said, path)]
    if missing:
        return failed(f"the answer leaves out {len(missing)} of the files", missing=missing)
    wrong = [path for path in values["found"] if denied(said, path)]
    others = values["others"] + values["kinds"]
    wrong += [path for path in others if named(said, path) and not denied(said, path)]
    if wrong:
        return failed(f"the answer is wrong about {wrong[0]}", wrong=wrong)
    if not trace["tools_recorded"]:
        return passed("the right files; this harness records no tools, so how it searched was not judged")
    if not all(seen(trace, path) for path in values["found"]):
        return failed("no successful call showed the files")
    if not all(seen(limited(trace, values["kinds"]), path) for path in values["found"]):
        return failed("the search was not limited to *.py: files of other kinds came up in it")
    return passed("a search limited to *.py found exactly the files")
