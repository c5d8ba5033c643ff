"""Passes when the answer names the capital of today and the page that says so, and the web was really asked."""

import re

from hemra_verifier import answer, calls, denies, failed, passed, showed, states

#: Words with which an answer may speak of the other cities.
NOT_THIS = re.compile(
    r"\b(?:former|formerly|old|until|previous|previously|before|was|refus\w+|reject\w+|not|n't|minor|island|other"
    r"|distinct|different|no longer|historic\w*|decoy|unlike)\b",
    re.IGNORECASE,
)


def cites(said, path):
    """Whether the address is in the text: whole, or from its path on."""
    return re.search(rf"{re.escape(path.lstrip('/'))}(?![\w/-]|\.\w)", said) is not None


def verify(workspace, trace):
    """City and page; then that they came from the trial's web."""
    values = trace["values"]
    said = answer(trace)
    if not states(said, values["capital"], ignore_case=True) or denies(
        said, values["capital"], ignore_case=True
    ):
        told = [what for city, what in values["others"].items() if states(said, city, ignore_case=True)]
        return failed("the answer does not name the capital" + "".join(f", but {what}" for what in told))
    for clause in re.split(r"[\n;]|\.\s|,\s+(?:and|but|while)\b", said):
        for city, what in values["others"].items():
            if states(clause, city, ignore_case=True) and not NOT_THIS.search(clause):
                return failed(f"the answer also offers {city}, {what}")
    if not cites(said, values["page"]):
        return failed("the answer does not give the address of the page that says so")
    asked = [entry for entry in trace["services"].get("web", []) if entry["status"] == 200]
    found = [
        entry for entry in asked if entry["path"].startswith("/search?") or entry["path"] == values["page"]
    ]
    if not found:
        return failed("neither the search of the trial's web nor the page was ever asked for")
    if not trace["tools_recorded"]:
        return passed("right city and page, from the trial's web; this harness records no tools")
    if not showed(trace, values["capital"]):
        return failed("no successful call showed the capital", calls=len(calls(trace, ok=None)))
    return passed("the capital was found on the web, with its page", requests=len(asked))
