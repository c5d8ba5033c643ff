"""Passes when the answer names the files of the codes that occur, and says of the other that there are none."""

import re

from hemra_verifier import answer, as_text, calls, failed, passed, states

NONE = re.compile(
    r"\b(?:none|nothing|nowhere|never|not|no|zero|absent|missing|without)\b|n't\b|\b0\s+(?:match|file|hit|result)"
    r"|(?:^|[:=|]|->)\s*(?:0|-+|/)\s*\|?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
NOWHERE = re.compile(r"\bnone\b|\bnowhere\b|\bno (?:file|match)|\bnot (?:found|occur)", re.IGNORECASE)
CODE = re.compile(r"\b[A-Za-z]+[-_]\d{5}\b")
FILE = re.compile(r"[\w./-]*\w\.(?:csv|log|md|txt)\b")


def clauses_of(said):
    """The lines of the answer; a line that speaks of several codes is taken apart."""
    for line in said.splitlines():
        if len(set(CODE.findall(line))) > 1:
            yield from re.split(r";|\.\s|,\s|\b(?:and|but|while|whereas)\b", line)
        else:
            yield line


def said_of(said, codes):
    """For each code the clauses with it, and those behind that speak of no other code (near misses included)."""
    parts = {code: [] for code in codes}
    last = None
    for clause in clauses_of(said):
        about = [code for code in codes if states(clause, code)]
        if not about and CODE.search(clause):
            last = None
        for code in about or ([last] if last else []):
            parts[code].append(clause)
        last = about[-1] if about else last
    return parts


def named(said, path):
    """Whether the text names this file: by its path, or by its name, which no other file has."""
    return states(said, path) or states(said, path.rpartition("/")[2])


def seen(trace, path):
    """Whether a call that worked showed this file, under whatever path."""
    name = re.escape(path.rpartition("/")[2])
    return any(re.search(rf"(?<![\w.-]){name}(?!\w|\.\w)", as_text(call["result"])) for call in calls(trace))


def problem_with(code, paths, clauses, files):
    """What the answer says wrongly of this code, or None."""
    said = "\n".join(clauses)
    got = sorted(path for path in files if named(said, path))
    every = {name.rpartition("/")[2] for name in FILE.findall(said)}
    if not paths:
        if got or every:
            return f"{code} occurs nowhere, and the answer names a file for it"
        silent = not NONE.search(said.replace(code, " "))
        return f"the answer does not say that {code} occurs nowhere" if silent else None
    if got != paths or every - {path.rpartition("/")[2] for path in paths}:
        return f"the answer does not name exactly the files of {code}"
    denied = any(NOWHERE.search(clause) for clause in clauses if states(clause, code))
    return f"the answer says that {code} occurs nowhere, and names files for it" if denied else None


def verify(workspace, trace):
    """The files said of each code must be those that hold it."""
    values = trace["values"]
    said = said_of(answer(trace), list(values["places"]))
    for code, paths in values["places"].items():
        problem = problem_with(code, paths, said[code], values["files"])
        if problem:
            return failed(problem)
    if not trace["tools_recorded"]:
        return passed(
            "right files, and an honest none; this harness records no tools, so only that was judged"
        )
    if not all(seen(trace, path) for paths in values["places"].values() for path in paths):
        return failed("no successful call showed the files of the codes that occur")
    return passed("right files, and an honest none")
