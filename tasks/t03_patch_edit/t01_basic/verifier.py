"""Passes when divide raises the error for every zero and nothing else changed: the module is run."""

import ast
import json
import math
import secrets

from hemra_verifier import calls, failed, passed, run, skipped, text

LARGEST_FILE = 20_000  # bytes, far above what was prepared
PROGRAM = b"""
import importlib.util, json, sys
job = json.load(sys.stdin)
spec = importlib.util.spec_from_file_location("broken_divide", "broken_divide.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
answers = []
for a, b in job["pairs"]:
    try:
        answers.append(["value", module.divide(a, b)])
    except Exception as error:
        answers.append(["ValueError" if isinstance(error, ValueError) else "other", str(error)])
print(job["mark"] + json.dumps(answers))
"""
ZEROS = [(1, 0), (7, 0.0), (0, 0), (-3.5, -0.0)]
PAIRS = [(0, 4), (9, 3), (1, 8), (-6, 4), (5, -2), (2.5, 0.5), (1, 1e-12), (3, -1e-12), (0.0, -7), (8, 1)]


def without(source, function):
    """The module as a tree without this function, or None where it does not parse."""
    try:
        module = ast.parse(source)
        module.body = [node for node in module.body if getattr(node, "name", None) != function]
        return ast.dump(module)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def answers_of(workspace):
    """What divide gave for ZEROS and then PAIRS; None where the module cannot be run."""
    mark = secrets.token_hex(16)
    job = json.dumps({"mark": mark, "pairs": ZEROS + PAIRS}).encode()
    ran = run(workspace, ["python3", "check_divide_.py"], stdin=job, files={"check_divide_.py": PROGRAM})
    if ran.exit_code != 0:
        return None
    try:
        answers = json.loads(ran.stdout.decode("utf-8", "replace").rpartition(mark)[2])
    except ValueError:
        return None
    return answers if len(answers) == len(ZEROS + PAIRS) else None


def verify(workspace, trace):
    """Every zero is refused with the message, every other divisor gives what it gave."""
    values = trace["values"]
    source = text(workspace, "broken_divide.py", LARGEST_FILE)
    if source is None:
        return failed("broken_divide.py is gone, or is no text")
    rest = without(source, "divide")
    if rest is None:
        return failed("broken_divide.py is not valid Python")
    if rest != without(values["source"], "divide"):
        return failed("something outside divide was changed")
    answers = answers_of(workspace)
    if answers is None:
        return failed("broken_divide.py could not be run")
    for (a, b), (kind, said) in zip(ZEROS, answers, strict=False):
        if kind != "ValueError":
            return failed(f"divide({a}, {b}) does not raise a ValueError")
        if said != values["message"]:
            return failed(f"divide({a}, {b}) raises the error with another message")
    for (a, b), (kind, value) in zip(PAIRS, answers[len(ZEROS) :], strict=True):
        right = a / b * values["factor"]
        if kind != "value" or type(value) not in (int, float) or not math.isclose(value, right):
            return failed(f"divide({a}, {b}) no longer returns {right}")
    if trace["tools_recorded"] and not calls(trace, ok=None):
        return skipped("the function is right, but no call is on record that could have made it so")
    return passed("divide refuses every zero and works as before otherwise")
