"""Passes when the new first line is there, and a V4A patch that worked put it there."""

import json
import re

from hemra_verifier import as_text, calls, failed, passed, read, skipped

LARGEST_FILE = 20_000  # bytes, far above what was prepared


def refused(call):
    """Whether the tool itself says in its result that nothing was done."""
    result = call["result"]
    try:
        result = json.loads(result) if isinstance(result, str) else result
    except (ValueError, RecursionError):
        return False
    return isinstance(result, dict) and (result.get("success") is False or bool(result.get("error")))


def is_v4a(call, line):
    """Whether this call applied a V4A patch of target.py that adds the line."""
    said = as_text(call["arguments"])
    tool = call.get("tool") or call.get("name")
    if tool == "terminal" and not re.search(r"(?:^|&&|;)\s*apply_patch\b", said, re.MULTILINE):
        return False  # a patch that is only printed or kept in a file is not applied by that
    return (
        re.search(r"^.*\*\*\*\s*Begin Patch", said, re.MULTILINE) is not None
        and re.search(r"^\*\*\*\s*(?:Update|Add) File:\s*\S*\btarget\.py\s*$", said, re.MULTILINE) is not None
        and re.search(rf"^\+{re.escape(line)}\s*$", said, re.MULTILINE) is not None
    )


def verify(workspace, trace):
    """The exact bytes first, then the call that made them."""
    values = trace["values"]
    line = f"x = {values['number']}"
    got = read(workspace, "target.py", LARGEST_FILE)
    if got is None:
        return failed("target.py is gone, or is no plain file")
    if got != f"{line}\n{values['source']}".encode():
        if got.splitlines()[:1] == [line.encode()]:
            return failed("the first line is right, but what followed it was changed")
        return failed(f"the first line of target.py is not {line}")
    if not trace["tools_recorded"]:
        return skipped("the file is right; whether a V4A patch made it so is not recorded by this harness")
    tried = [call for call in calls(trace, ok=None) if is_v4a(call, line)]
    if not tried:
        return failed("the file is right, but no V4A patch of it was made")
    if not any(call in tried and not refused(call) for call in calls(trace)):
        return failed("the file is right, but no V4A patch of it succeeded")
    return passed("a V4A patch put the line at the top")
