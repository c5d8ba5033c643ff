"""Passes when the fact, with all its parts, was saved with the memory tool and is in the memory."""

import json
import re
from pathlib import Path

from hemra_verifier import answer, calls, failed, passed, plain, skipped, text

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


def missing(entry, values):
    """The part of the fact that the entry lacks, or None."""
    for part in ("name", "bench", "offset"):
        if not has(entry, str(values[part])):
            return part
    number, unit = re.escape(values["offset"]), re.escape(values["unit"])
    return None if re.search(rf"(?<!\d){number}\s*{unit}(?!\w)", plain(entry)) else "unit"


def verify(workspace, trace):
    """The memory on disk decides where there is one; else what the calls that worked were told to save."""
    values = trace["values"]
    lacks = missing(answer(trace), values)
    if lacks:
        return failed(
            f"the answer does not repeat the fact as it was saved: {lacks} is missing or another one"
        )
    entries = stored(trace)
    if entries is not None and not any(missing(entry, values) is None for entry in entries):
        return failed("the memory on disk does not hold the fact")
    if not trace["tools_recorded"]:
        if entries is None:
            return skipped("this harness records no tools, and where it keeps its memory is not known")
        return passed("the memory on disk holds the fact; this harness records no tools")
    saved = [content for action, content, _ in operations(trace) if action in SAVING]
    if not any(missing(content, values) is None for content in saved):
        return failed("no successful memory call saved the fact")
    where = "its call" if entries is None else "the memory on disk"
    return passed(f"the fact was saved, as {where} shows")
