"""Passes when the fact, with all its parts, was saved with the memory tool and is in the memory."""

import re

from hemra_verifier import answer, failed, memory, passed, plain, skipped


def missing(entry, values):
    """The part of the fact that the entry lacks, or None."""
    for part in ("name", "bench", "offset"):
        if not memory.holds(entry, str(values[part])):
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
    entries = memory.stored(trace)
    if entries is not None and not any(missing(entry, values) is None for entry in entries):
        return failed("the memory on disk does not hold the fact")
    if not trace["tools_recorded"]:
        if entries is None:
            return skipped("this harness records no tools, and where it keeps its memory is not known")
        return passed("the memory on disk holds the fact; this harness records no tools")
    saved = [content for action, content, _ in memory.operations(trace) if action in memory.SAVING]
    if not any(missing(content, values) is None for content in saved):
        return failed("no successful memory call saved the fact")
    where = "its call" if entries is None else "the memory on disk"
    return passed(f"the fact was saved, as {where} shows")
