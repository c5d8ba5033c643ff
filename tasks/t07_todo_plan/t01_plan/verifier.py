"""Passes when the plan in the todo list has the four steps in the order that their dependencies ask for."""

import json
import re

from hemra_verifier import answer, calls, failed, passed, plain, skipped, states

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
    others = [call["name"] for call in calls(trace, ok=None) if call not in calls(trace, *TODO, ok=None)]
    if others:
        return failed(f"other tools were used than the todo list: {', '.join(sorted(set(others)))}")
    plans = history(trace)
    if not plans:
        return failed("no successful call wrote a todo list")
    wrong = problem(plans[-1][2], names)
    return failed(wrong) if wrong else passed("four pending items, one for each step, in the right order")
