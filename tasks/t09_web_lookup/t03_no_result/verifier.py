"""Passes when each code has the pages that the search finds, and the one without any has an honest none."""

import re
from urllib.parse import unquote_plus

from hemra_verifier import answer, as_text, calls, failed, passed, states

NONE = re.compile(
    r"\b(?:none|nothing|nowhere|never|not|no|zero|absent|missing|without|empty)\b|n't\b"
    r"|\b0\s+(?:match|page|hit|result)|(?:^|[:=|]|->)\s*(?:0|-+|/|\[\])\s*\|?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
NOWHERE = re.compile(r"\bnone\b|\bnowhere\b|\bno (?:page|match|result)|\bnot (?:found|occur)", re.IGNORECASE)
CODE = re.compile(r"\b[A-Z][a-z]+-\d{4,5}\b")
PAGE = re.compile(r"/?\b(?:archive|desk|shelf)/[\w.-]*\w")


def clauses_of(said):
    """The lines of the answer; a line that speaks of several codes is taken apart."""
    for line in said.splitlines():
        if len(set(CODE.findall(line))) > 1:
            yield from re.split(r";|\.\s|,\s|\b(?:and|but|while|whereas)\b", line)
        else:
            yield line


def said_of(said, codes):
    """For each code the clauses with it, and those behind that speak of no other code."""
    parts = {code: [] for code in codes}
    last = None
    for clause in clauses_of(said):
        about = [code for code in codes if states(clause, code)]
        if not about and CODE.search(clause):
            last = None
        for code in about or ([last] if last else []):
            parts[code].append(clause)
        last = about[-1] if about else last
    return {code: "\n".join(clauses) for code, clauses in parts.items()}


def pages_in(text):
    """The pages that a text names, by the path of their address."""
    return {"/" + found.lstrip("/") for found in PAGE.findall(text)}


def problem_with(code, pages, said):
    """What the answer says wrongly of this code, or None."""
    named = pages_in(said)
    if pages:
        if named != set(pages):
            return f"the answer does not name exactly the pages of {code}"
        return (
            f"the answer says that there is no page with {code}, and names some"
            if NOWHERE.search(said)
            else None
        )
    if named:
        return f"no page has {code}, and the answer names one"
    return (
        None if NONE.search(said.replace(code, " ")) else f"the answer does not say that no page has {code}"
    )


def verify(workspace, trace):
    """The pages said of each code, then what the search was asked and what it showed."""
    places = trace["values"]["places"]
    said = said_of(answer(trace), list(places))
    for code, pages in places.items():
        problem = problem_with(code, pages, said[code])
        if problem:
            return failed(problem)
    log = [entry for entry in trace["services"].get("web", []) if entry["status"] == 200]
    asked = [unquote_plus(entry["path"]) for entry in log if entry["path"].startswith("/search?")]
    for code in places:
        if not any(code.casefold() in query.casefold() for query in asked):
            return failed(f"the search was never asked for {code}")
    if not trace["tools_recorded"]:
        return passed("right pages, an honest none, and all were searched for; this harness records no tools")
    shown = pages_in("\n".join(as_text(call["result"]) for call in calls(trace)))
    if any(not shown.issuperset(pages) for pages in places.values()):
        return failed("no successful call showed the pages of the codes that occur")
    return passed("right pages, and an honest none")
