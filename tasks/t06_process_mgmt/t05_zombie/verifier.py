"""Passes when the answer gives the parent and exactly its zombies, found without the long listing."""

import json
import re

from hemra_verifier import answer, as_text, calls, failed, passed, plain

LONG_LISTING = re.compile(r"\bps\s+-?(?=[a-z]*a)(?=[a-z]*u)(?=[a-z]*x)[a-z]+\b")


def long_listing(trace):
    """Whether `ps aux`, in one of its spellings, was asked for; a call that failed counts here."""
    asked = calls(trace, "terminal", "process", ok=None)
    return any(LONG_LISTING.search(json.dumps(call["arguments"], ensure_ascii=False)) for call in asked)


def ids_in(said, values):
    """Every whole number of the text, apart from those in the names of the programs."""
    for name in (values["name"], values["other"]):
        said = said.replace(name, " ")
    return {int(number) for number in re.findall(r"(?<![\d.])\d{1,9}(?!\d|\.\d)", said)}


def verify(workspace, trace):
    """All ids are the system's own, told by world.py when it had made the processes."""
    values = trace["values"]
    if "zombies" not in values:
        return failed("the processes that the task speaks of were not there")
    zombies, parent, said = set(values["zombies"]), values["parent"], ids_in(answer(trace), values)
    if not zombies <= said:
        return failed(f"the answer lacks {len(zombies - said)} of {len(zombies)} zombies")
    if parent not in said:
        return failed("the answer does not give the id of the parent")
    wrong = said & set(values["wrong_ids"])
    if wrong:
        return failed(f"the answer names {len(wrong)} processes that are not zombies of this parent")
    if long_listing(trace):
        return failed("`ps aux` was used, which the task forbids")
    if not trace["tools_recorded"]:
        return passed("right processes; this harness records no tools, the outcome alone was judged")
    shown = "\n".join(plain(as_text(call["result"])) for call in calls(trace, "terminal", "process"))
    if not zombies | {parent} <= ids_in(shown, values):
        return failed("no successful call showed these processes")
    return passed("the zombies of the parent, and no others, were found with a short listing")
