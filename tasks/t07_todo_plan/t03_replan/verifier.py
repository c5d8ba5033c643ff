"""Passes when a plan of four items grew by the step that the notes ask for, and nothing else in it was lost."""

import json
import re

from hemra_verifier import answer, as_text, calls, failed, passed, plain, skipped, states

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
    if (call.get("tool") or call["name"]) == "todo" and not merges(call):
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
    lists = history(trace)
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
