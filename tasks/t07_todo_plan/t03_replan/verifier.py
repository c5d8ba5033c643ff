"""Passes when a plan of four items grew by the step that the notes ask for, and nothing else in it was lost."""

from hemra_verifier import answer, as_text, calls, failed, passed, plain, skipped, states, todo


def first_shown(trace, value):
    """The place among all calls of the first successful one that showed the value; None where none did."""
    worked = calls(trace, "read_file", "terminal")
    every = enumerate(trace["tool_calls"])
    return next(
        (at for at, call in every if call in worked and states(plain(as_text(call["result"])), value)), None
    )


def of_step(listed, name):
    """The item that names this component, where exactly one does."""
    own = [item for item in listed if states(item["content"], name)]
    return own[0] if len(own) == 1 else None


def growth(lists, read_at, values):
    """(the list before, the call, the list after) of the call that added the fifth step; None without one."""
    before = []
    for place, call, listed in lists:
        if of_step(listed, values["found"]) and not of_step(before, values["found"]):
            return (before, call, listed) if place > read_at else None
        before = listed
    return None


def problem(before, call, after, values):
    """What is wrong with how the fifth step came in, or None."""
    if [of_step(before, name) for name in values["steps"]] != before:
        return "the plan had not its four items, in their order, when the fifth was added"
    lost = [name for name in values["steps"] if not kept(of_step(before, name), of_step(after, name))]
    if lost:
        return f"the item for {', '.join(lost)} was lost or changed when the fifth was added"
    if (call.get("tool") or call["name"]) == "todo" and not todo.merges(call):
        return "the fifth step was not merged: the whole list was written anew"
    return None


def kept(old, new):
    """Whether an item stayed what it was, apart from its status."""
    return new is not None and (old["id"], old["content"]) == (new["id"], new["content"])


def verify(workspace, trace):
    """What the fifth step is stands in the notes alone, and these are read when the plan exists."""
    values = trace["values"]
    said = answer(trace)
    if not states(said, values["found"]) or states(said, values["decoy"]):
        return failed("the answer does not name the component of the step that was missing, or another one")
    if not trace["tools_recorded"]:
        return skipped("right component; this harness records no tools, so how it replanned is not known")
    read_at = first_shown(trace, values["found"])
    if read_at is None:
        return failed("no successful call showed the notes")
    lists = todo.history(trace)
    early = [listed for place, _, listed in lists if place < read_at]
    if not early or len(early[-1]) != 4:
        return failed("there was no plan of four items when the notes were read")
    grown = growth(lists, read_at, values)
    if grown is None:
        return failed("no successful call added the missing step after the notes were read")
    wrong = problem(*grown, values)
    if wrong:
        return failed(wrong)
    final = lists[-1][2]
    statuses = [of_step(final, name) for name in (*values["steps"], values["found"])]
    if len(final) != 5 or None in statuses:
        return failed("the plan does not end with the four items and the fifth")
    if [item["status"] for item in statuses] != ["completed", *["pending"] * 4]:
        return failed("at the end not exactly the first step is completed and the others are pending")
    return passed("the missing step was merged into the plan, and the rest of it stayed")
