"""Passes when the todo list followed the work: each item pending, in progress while its script ran, completed."""

from hemra_verifier import answer, as_text, calls, failed, passed, plain, showed, skipped, states, todo


def status_of(listed, script):
    """The status of the one item that names the script alone; None where there is no such item."""
    own = [item for item in listed if states(item["content"], script) or states(item["content"], script[:-3])]
    return own[0]["status"] if len(own) == 1 else None


def steps(lists, script):
    """[(place, status)] of the script's item at every change of its status."""
    found = []
    for place, _, listed in lists:
        status = status_of(listed, script)
        if not found or found[-1][1] != status:
            found.append((place, status))
    return found


def ran_at(trace, code):
    """Places among all calls of the successful terminal calls that showed the code."""
    worked = calls(trace, "terminal")
    every = enumerate(trace["tool_calls"])
    return [at for at, call in every if call in worked and states(plain(as_text(call["result"])), code)]


def problem(trace, lists, script, code):
    """What is wrong with how one script's item was kept, or None."""
    changes = steps(lists, script)
    statuses = [str(status) for _, status in changes]
    if statuses != ["pending", "in_progress", "completed"]:
        return f"the item for {script} went {' -> '.join(statuses)}, not pending -> in_progress -> completed"
    (_, _), (begun, _), (ended, _) = changes
    if not any(begun < place < ended for place in ran_at(trace, code)):
        return f"{script} was not run between the marks that its item is in progress and completed"
    return None


def verify(workspace, trace):
    """Replays the successful todo calls as a state machine, beside the runs of the scripts."""
    values = trace["values"]
    said = answer(trace)
    missing = [script for script, code in values["codes"].items() if not states(said, code)]
    if missing:
        return failed(f"the answer does not hold the code of {', '.join(missing)}")
    if not trace["tools_recorded"]:
        return skipped(
            "right codes; this harness records no tools, so how the todo list was kept is not known"
        )
    unseen = [script for script, code in values["codes"].items() if not showed(trace, code, "terminal")]
    if unseen:
        return failed(f"no successful terminal call showed the code of {', '.join(unseen)}")
    lists = todo.history(trace)
    complete = next((n for n, (_, _, listed) in enumerate(lists) if len(listed) == 2), len(lists))
    lists = lists[complete:]  # the two items may have come one by one
    if any(len(listed) != 2 for _, _, listed in lists) or not lists:
        return failed("there was no todo list of two items, or it did not keep two")
    for script, code in values["codes"].items():
        wrong = problem(trace, lists, script, code)
        if wrong:
            return failed(wrong)
    return passed("both items went from pending to in progress to completed, as the work did")
