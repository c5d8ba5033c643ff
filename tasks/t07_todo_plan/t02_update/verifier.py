"""Passes when the todo list followed the work: each item pending, in progress while its script ran, completed."""

import json
import re

from hemra_verifier import answer, as_text, calls, failed, passed, plain, showed, skipped, states

TODO = ("todo", "TodoWrite", "todowrite", "todo_write", "write_todos", "update_plan", "manage_todo_list")
LISTS = ("todos", "newTodos", "plan", "items", "tasks", "todoList")
WRAPPERS = ("result", "output", "content", "text", "data")
CONTENT = ("content", "step", "task", "title", "text", "description")
STATUS = {
    "": "pending",
    "todo": "pending",
    "not_started": "pending",
    "doing": "in_progress",
    "started": "in_progress",
}
STATUS |= {"active": "in_progress", "inprogress": "in_progress", "done": "completed", "complete": "completed"}
REFUSED = re.compile(r"\s*(?:error|failed|failure|traceback|exception|unknown tool|invalid)\b", re.IGNORECASE)


def loaded(value):
    """What a JSON text stands for; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def refused(result):
    """Whether what came back is an error, though nobody said that the call failed."""
    result = loaded(result)
    if isinstance(result, dict):
        said = result.get("status")
        return bool(result.get("error")) or result.get("success") is False or said in ("error", "failed")
    return isinstance(result, str) and REFUSED.match(result) is not None


def entries(value, depth=0):
    """The todo list in arguments or in a result, [{"id", "content", "status"}]; None where there is none."""
    value = loaded(value)
    if isinstance(value, dict) and depth < 6:
        key = next((key for key in (*LISTS, *WRAPPERS) if key in value), None)
        return None if key is None else entries(value[key], depth + 1)
    if not isinstance(value, list):
        return None
    if value and all(isinstance(part, dict) and part.get("type") == "text" for part in value):
        return entries("".join(str(part.get("text", "")) for part in value), depth + 1)
    return [entry(each) for each in value]


def entry(each):
    """One item of a list in the one form."""
    each = each if isinstance(each, dict) else {"content": each}
    content = next((str(each[key]) for key in CONTENT if each.get(key)), "")
    status = re.sub(r"[\s-]+", "_", str(each.get("status") or "").strip().lower())
    return {"id": str(each.get("id") or ""), "content": plain(content), "status": STATUS.get(status, status)}


def merged(before, sent):
    """The list after a merging call: known ids are changed, new ones come at the end."""
    after = [dict(item) for item in before]
    for new in sent:
        old = next((item for item in after if item["id"] == new["id"]), None)
        if old is None:
            after.append(dict(new))
        else:
            old.update({key: value for key, value in new.items() if value})
    return after


def history(trace):
    """The list after every successful writing call: [(place among all calls, call, list)].

    Where the tool gives the list back, that is what counts; else it is worked out from what was sent.
    """
    worked, found, now = calls(trace, *TODO), [], []
    for place, call in enumerate(trace.get("tool_calls") or []):
        sent = entries(call["arguments"]) if call in worked and not refused(call["result"]) else None
        if sent is None:
            continue
        shown = entries(call["result"])
        now = shown if shown is not None else merged(now, sent) if merges(call) else sent
        found.append((place, call, now))
    return found


def merges(call):
    """Whether the call asks to change the list instead of writing it anew."""
    arguments = loaded(call["arguments"])
    return isinstance(arguments, dict) and str(arguments.get("merge")).lower() == "true"


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
    lists = history(trace)
    complete = next((n for n, (_, _, listed) in enumerate(lists) if len(listed) == 2), len(lists))
    lists = lists[complete:]  # the two items may have come one by one
    if any(len(listed) != 2 for _, _, listed in lists) or not lists:
        return failed("there was no todo list of two items, or it did not keep two")
    for script, code in values["codes"].items():
        wrong = problem(trace, lists, script, code)
        if wrong:
            return failed(wrong)
    return passed("both items went from pending to in progress to completed, as the work did")
