"""Passes when the memory holds the known fact once, the new one once, and all that it held before."""

import json
import re
from pathlib import Path

from hemra_verifier import answer, calls, failed, passed, plain, skipped, states, text

STORES = (".hermes/memories/MEMORY.md", ".hermes/memories/USER.md")
SAVING = ("add", "save", "replace", "create", "update", "append", "insert", "store", "remember")
REFUSED = re.compile(r"\s*(?:error|failed|failure|traceback|exception|unknown|invalid)\b", re.IGNORECASE)


def stored(trace):
    """The entries of the memory on disk, below the trial's HOME; None where there is no file that can be read."""
    home, found = trace.get("home"), None
    for path in STORES if isinstance(home, str) and home else ():
        content = text(Path(home), path)
        if content is not None:
            found = (found or []) + [part.strip() for part in content.split("§") if part.strip()]
    return found


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


def operations(trace):
    """[(action, content, old text)] of every memory call that worked, in order, batches taken apart."""
    found = []
    for call in calls(trace, "memory"):
        arguments = loaded(call["arguments"])
        if refused(call["result"]) or not isinstance(arguments, dict):
            continue
        batch = loaded(arguments.get("operations")) or [arguments]
        for one in batch if isinstance(batch, list) else []:
            if isinstance(one, dict):
                told = (one.get("action"), one.get("content"), one.get("old_text"))
                found.append(tuple(str(part or "") for part in told))
    return found


def has(entry, value):
    """Whether an entry holds this number or name, and not a longer one."""
    return (
        re.search(rf"(?i)(?<![\w.])(?<!(?<![a-z])-){re.escape(value)}(?![\w-]*\d|\.\d)", plain(entry))
        is not None
    )


def replayed(before, done):
    """The entries after these operations, where the memory itself cannot be read."""
    entries = list(before)
    for action, content, old in done:
        hit = next((place for place, entry in enumerate(entries) if old and old in entry), None)
        if action == "remove" and hit is not None:
            del entries[hit]
        elif action in ("replace", "update") and hit is not None:
            entries[hit] = content
        elif action in SAVING and not old and content not in entries:
            entries.append(content)
    return entries


def copies(entries, fact):
    """How many entries hold the fact's number, which no other fact has; 0 where none has name and bench too."""
    whole = any(all(has(entry, part) for part in fact) for entry in entries)
    return sum(has(entry, fact[2]) for entry in entries) if whole else 0


def problem(entries, values):
    """What is wrong with the memory, or None."""
    for kind in ("known", "new"):
        count = copies(entries, values[kind])
        if count != 1:
            return f"the memory holds the {kind} fact {count} times, not once"
    lost = [fact for fact in values["others"] if not copies(entries, fact)]
    return f"the memory lost what it knew of {lost[0][0]}" if lost else None


def verify(workspace, trace):
    """Counts copies in the memory on disk; where that cannot be read, in what the calls made of it."""
    values = trace["values"]
    said = answer(trace)
    if not states(said, values["new"][0], ignore_case=True):
        return failed("the answer does not name the instrument whose fact was new")
    entries, seeded = stored(trace), values["facts"]
    if not trace["tools_recorded"] and (entries is None or entries == seeded):
        return skipped(
            "this harness records no tools, and the memory that it was given is unchanged: it may have another"
        )
    done = operations(trace)
    adds = [content for action, content, _ in done if action in SAVING]
    if entries == seeded and adds:
        return skipped("this harness keeps its memory elsewhere: what it knew beforehand did not reach it")
    wrong = problem(replayed(seeded, done) if entries is None else entries, values)
    if wrong:
        return failed(wrong)
    if not trace["tools_recorded"]:
        return passed(
            "each fact is in the memory once; this harness records no tools, the outcome alone was judged"
        )
    if not any(all(has(content, part) for part in values["new"]) for content in adds):
        return failed("no successful memory call saved the new fact")
    return passed("the new fact was saved, and the known one not a second time")
