"""A harness's memory: what is in it on disk, and what the calls of its tool made of it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .plaintext import plain
from .recorded import calls, loaded, refused
from .workspace import text

#: Actions of the tool that put something into the memory.
SAVING = ("add", "save", "replace", "create", "update", "append", "insert", "store", "remember")
#: Below HOME; entries stand between section signs.
_STORES = (".hermes/memories/MEMORY.md", ".hermes/memories/USER.md")


def stored(trace: "Mapping[str, Any]") -> "list[str] | None":
    """The entries of the memory on disk, below the trial's HOME; None where there is no file that can be read."""
    home = trace.get("home")
    found: list[str] | None = None
    if not isinstance(home, str) or not home:
        return None
    for path in _STORES:
        content = text(Path(home), path)
        if content is not None:
            found = (found or []) + [part.strip() for part in content.split("§") if part.strip()]
    return found


def operations(trace: "Mapping[str, Any]") -> "list[tuple[str, str, str]]":
    """[(action, content, old text)] of every memory call that worked, in order, batches taken apart."""
    found = []
    for call in calls(trace, "memory"):
        arguments = loaded(call["arguments"])
        if refused(call["result"], "unknown") or not isinstance(arguments, dict):
            continue
        batch = loaded(arguments.get("operations")) or [arguments]
        for one in batch if isinstance(batch, list) else []:
            if isinstance(one, dict):
                action, content, old = (
                    str(one.get(part) or "") for part in ("action", "content", "old_text")
                )
                found.append((action, content, old))
    return found


def holds(entry: str, value: str) -> bool:
    """Whether an entry holds this number or name, and not a longer one."""
    exact = rf"(?i)(?<![\w.])(?<!(?<![a-z])-){re.escape(value)}(?![\w-]*\d|\.\d)"
    return re.search(exact, plain(entry)) is not None
