"""Passes when the plan in the todo list has the four steps in the order that their dependencies ask for."""

import re

from hemra_verifier import answer, calls, failed, passed, skipped, states, todo


def in_order(text, names):
    """Whether the text names all of these, each for the first time after the one before it."""
    places = [re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names]
    found = [place.start() for place in places if place]
    return len(found) == len(names) and found == sorted(found)


def problem(plan, names):
    """What is wrong with the plan, or None."""
    if len(plan) != len(names):
        return f"the plan has {len(plan)} items, not {len(names)}"
    for item, name in zip(plan, names, strict=True):
        if [each for each in names if states(item["content"], each)] != [name]:
            return f"the item for {name} is missing, or not in its place"
        if len(re.findall(r"[a-zA-Z]{2,}", item["content"].replace(name, ""))) < 2:
            return f"the item for {name} does not say what is to be done"
        if item["status"] != "pending":
            return f"the item for {name} is {item['status']}, though nothing was to be begun"
    return None


def verify(workspace, trace):
    """The brief tells the steps in another order than that in which they can be done."""
    names = trace["values"]["order"]
    if not in_order(answer(trace), names):
        return failed("the answer does not give the four functions in the order of the plan")
    if not trace["tools_recorded"]:
        return skipped(
            "right order; this harness records no tools, so whether a todo list was made is not known"
        )
    others = [
        call["name"] for call in calls(trace, ok=None) if call not in calls(trace, *todo.TOOLS, ok=None)
    ]
    if others:
        return failed(f"other tools were used than the todo list: {', '.join(sorted(set(others)))}")
    plans = todo.history(trace)
    if not plans:
        return failed("no successful call wrote a todo list")
    wrong = problem(plans[-1][2], names)
    return failed(wrong) if wrong else passed("four pending items, one for each step, in the right order")
