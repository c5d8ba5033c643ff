"""Passes when Foo has the method at its place, it works, and one single edit brought it in."""

import ast
import json
import re
import secrets

from hemra_verifier import as_text, calls, failed, passed, run, skipped, text

LARGEST_FILE = 20_000  # bytes, far above what was prepared
#: Tools that can change a file, under the names that harnesses give them; a plan in `todo` is no edit.
EDITORS = re.compile(
    r"terminal|patch|edit|write|replace|insert|create|str_|exec|code|notebook", re.IGNORECASE
)
PROGRAM = b"""
import importlib.util, json, sys
mark = sys.stdin.read()
spec = importlib.util.spec_from_file_location("big_block", "big_block.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(mark + json.dumps(module.Foo().bar()))
"""
WRITES = re.compile(r">|\b(?:sed|perl|awk|gawk|python\S*|patch|apply|ed|ex|vim?|tee|dd|ruby|node)\b")


def methods_of(module):
    """The statements of the class Foo, in order; None unless there is exactly one such class."""
    found = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == "Foo"]
    return found[0].body if len(found) == 1 else None


def misplaced(source, values):
    """What is wrong with the text of the module, or None: it must be the old one with the method at its place."""
    try:
        now, old = ast.parse(source), ast.parse(values["source"])
        methods = methods_of(now)
        if methods is None:
            return "big_block.py no longer has exactly one class Foo"
        added = [node for node in methods if getattr(node, "name", None) == "bar"]
        if len(added) != 1 or not isinstance(added[0], ast.FunctionDef):
            return "class Foo has no method bar, or more than one"
        behind = methods.index(added[0]) - 1
        if behind < 0 or getattr(methods[behind], "name", None) != values["after"]:
            return f"the method bar does not stand directly behind {values['after']}"
        if [argument.arg for argument in added[0].args.args] != ["self"]:
            return "the method bar does not take self alone"
        methods.remove(added[0])
        return None if ast.dump(now) == ast.dump(old) else "something else in big_block.py was changed"
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "big_block.py is not valid Python"


def returned(workspace):
    """What Foo().bar() gives, or None."""
    mark = secrets.token_hex(16)
    ran = run(workspace, ["python3", "check_bar_.py"], stdin=mark.encode(), files={"check_bar_.py": PROGRAM})
    try:
        return json.loads(ran.stdout.decode("utf-8", "replace").rpartition(mark)[2])
    except ValueError:
        return None


def refused(call):
    """Whether the tool itself says in its result that nothing was done."""
    result = call["result"]
    try:
        result = json.loads(result) if isinstance(result, str) else result
    except (ValueError, RecursionError):
        return False
    return isinstance(result, dict) and (result.get("success") is False or bool(result.get("error")))


def edits(trace, value):
    """(calls that changed a file, those of them that carry the whole method)."""
    changed, whole = [], []
    for call in calls(trace):
        said = as_text(call["arguments"])
        tool = call.get("tool") or call.get("name")
        carries = re.search(rf"(?s)\bdef\s+bar\s*\(\s*self.{{0,400}}?\breturn\b.{{0,40}}?\b{value}\b", said)
        if tool == "terminal":
            carries = carries and WRITES.search(re.sub(r"\d?>&\d|\d?>\s*/dev/null", "", said))
        if not EDITORS.search(tool) or refused(call) or not (carries or tool == "patch"):
            continue
        changed.append(call)
        if carries:
            whole.append(call)
    return changed, whole


def verify(workspace, trace):
    """The class first, then how many edits it took."""
    values = trace["values"]
    source = text(workspace, "big_block.py", LARGEST_FILE)
    if source is None:
        return failed("big_block.py is gone, or is no text")
    problem = misplaced(source, values)
    if problem:
        return failed(problem)
    got = returned(workspace)
    if type(got) is not int or got != values["value"]:
        return failed(f"Foo().bar() does not return {values['value']}")
    if not trace["tools_recorded"]:
        return skipped("the method is right; whether one edit did it is not recorded by this harness")
    changed, whole = edits(trace, values["value"])
    if not whole:
        return failed("no single successful call brought in the complete method")
    if len(changed) > 1:
        return failed(f"the change took {len(changed)} edits", edits=len(changed))
    return passed("one edit brought in the method")
