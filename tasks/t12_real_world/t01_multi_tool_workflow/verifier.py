"""Passes when all functions of add.py do what their docstrings say: they are called with inputs drawn by the seed."""

import ast
import json
import math
import random
import re
import secrets
import tempfile
from pathlib import Path

from hemra_verifier import answer, calls, failed, passed, run, states, text

LARGEST_FILE = 50_000  # bytes, far above what was prepared
SHOWN = 200  # characters of a value in a reason
#: Calls functions in the limited process. It is told the inputs and never what is right.
PROGRAM = r"""
import io, json, os, sys, sysconfig, types, typing

job = json.load(sys.stdin)
out, sys.stdout = sys.stdout, io.StringIO()


def guard():
    folders = tuple({os.path.realpath(sysconfig.get_path(kind)) + os.sep for kind in ("stdlib", "platstdlib")})
    refused = ("os.", "subprocess.", "socket.", "ctypes.", "pty.", "shutil.", "mmap.", "fcntl.")
    allowed = ("os.listdir", "os.scandir")
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    real, decoded = os.path.realpath, os.fsdecode

    def hook(event, arguments):
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, (str, bytes)) and not (set(mode or "") & set("wax+") or (flags or 0) & writes):
                place = real(decoded(path))
                if place.startswith(folders) and "-packages" not in place:
                    return
        elif event in allowed or not event.startswith(refused):
            return
        raise PermissionError(f"{event}: a function has no need of this")

    sys.addaudithook(hook)


def shape(value, depth=0):
    kind = type(value)
    if kind in (list, tuple) and depth < 4:
        return [kind.__name__, [shape(item, depth + 1) for item in value]]
    if kind is float:
        return ["float", value.hex()]
    if kind is int and value.bit_length() < 2000:
        return ["int", str(value)]
    return [kind.__name__, value] if kind in (str, bool) else ["other", str(kind)[:80]]


def called(function, arguments):
    try:
        return ["value", shape(function(*arguments))]
    except BaseException as error:
        return ["raised", [kind.__name__ for kind in type(error).__mro__]]


module = types.ModuleType("answer")
sys.modules["answer"] = module
for name in ("Any", "Dict", "Iterable", "List", "Optional", "Sequence", "Set", "Tuple", "Union"):
    setattr(module, name, getattr(typing, name))
guard()
try:
    exec(compile(job["code"], "answer.py", "exec", dont_inherit=True), module.__dict__)
    said = [called(getattr(module, name, None), arguments) for name, arguments in job["calls"]]
except BaseException as error:
    said = f"{type(error).__name__}: {error}"[:200]
out.write(job["mark"] + json.dumps(said))
out.flush()
os._exit(0)
"""


def value_of(shape):
    """The value that the program told in this form. Raises what malformed data raise."""
    kind, content = shape
    if kind in ("list", "tuple"):
        items = [value_of(item) for item in content]
        return items if kind == "list" else tuple(items)
    if kind in ("str", "bool"):
        return content
    return {"int": int, "float": float.fromhex, "other": Odd}[kind](content)


class Odd:
    """A value of a type that no right function gives."""

    def __init__(self, kind):
        self.kind = kind

    def __repr__(self):
        return f"something of {self.kind}"


def called(code, wanted):
    """What the functions did for each call: ("value", …) or ("raised", names of the error's classes).

    A text in place of the list says why nothing is known.
    """
    mark = secrets.token_hex(16)
    job = {"code": code, "calls": wanted, "mark": mark}
    with tempfile.TemporaryDirectory() as empty:
        program = {"call_it_.py": PROGRAM}
        ran = run(
            Path(empty), ["python3", "call_it_.py"], stdin=json.dumps(job).encode(), files=program, timeout=6
        )
    if ran.timed_out:
        return "it does not come to an end"
    try:
        said = json.loads(ran.stdout.decode("utf-8", "replace").rpartition(mark)[2])
        if isinstance(said, str):
            return f"it cannot be used: {said}"
        said = [
            (how, value_of(what) if how == "value" else [str(name) for name in what]) for how, what in said
        ]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return "it ends before all its functions have been called"
    return said if len(said) == len(wanted) else "it ends before all its functions have been called"


def same(got, want):
    """Whether two values are equal; numbers whatever their type, lists and tuples by theirs."""
    if type(want) in (int, float):
        return type(got) in (int, float) and math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-9)
    return type(got) is type(want) and len(got) == len(want) and all(map(same, got, want))


def wanted_calls(constants, rng):
    """Calls of every function, with the edges of what its docstring says."""
    edge, cap = constants["THRESHOLD"], constants["CAP"]
    lists = [[], [7], [3, 4, 5], [-2, 2]]
    lists += [[rng.randrange(-50, 99) for _ in range(rng.randrange(1, 9))] for _ in range(9)]
    found = [(name, [numbers]) for name in ("add_all", "add_running") for numbers in lists]
    found += [
        ("add_bonus", [points]) for points in (0, 1, edge - 1, edge, edge + 1, 3 * edge, rng.randrange(edge))
    ]
    found += [("add_percent", [rng.randrange(1, 900), rng.randrange(0, 150)]) for _ in range(9)]
    found += [("add_percent", [50, 10]), ("add_percent", [200, 0]), ("add_percent", [0, 20])]
    found += [
        ("add_minutes", times)
        for times in ([0, 0, 0], [23, 59, 1], [10, 15, 50], [12, 30, 24 * 60], [5, 7, 3])
    ]
    found += [("add_minutes", [rng.randrange(24), rng.randrange(60), rng.randrange(5000)]) for _ in range(9)]
    sums = [(cap, 0), (cap, 1), (cap - 1, 1), (-cap, 0), (-cap, -1), (1 - cap, -1), (2, 3), (3 * cap, -cap)]
    return found + [("add_capped", list(pair)) for pair in sums]


def right(constants, name, arguments):
    """What the function must give, by its docstring."""
    if name == "add_all":
        return sum(arguments[0])
    if name == "add_running":
        return [sum(arguments[0][: end + 1]) for end in range(len(arguments[0]))]
    if name == "add_bonus":
        return arguments[0] + (constants["BONUS"] if arguments[0] >= constants["THRESHOLD"] else 0)
    if name == "add_percent":
        return arguments[0] * (100 + arguments[1]) / 100
    if name == "add_minutes":
        minutes = 60 * arguments[0] + arguments[1] + arguments[2]
        return minutes // 60 % 24, minutes % 60
    return max(-constants["CAP"], min(constants["CAP"], sum(arguments)))


def promises(source):
    """Docstrings and parameters by function, and the constants; None for what is no Python."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    constants = [ast.dump(node) for node in body if isinstance(node, ast.Assign)]
    return {node.name: (ast.get_docstring(node), ast.dump(node.args)) for node in functions}, constants


def problem_with(source, values, rng):
    """What is wrong with add.py, or None."""
    now, (functions, constants) = promises(source), promises(values["source"])
    if now is None:
        return "add.py is not valid Python"
    for name, promised in functions.items():
        if now[0].get(name) != promised:
            return f"name, parameters or docstring of {name} were changed"
    if not set(constants) <= set(now[1]):
        return "the constants were changed"
    wanted = wanted_calls(values["constants"], rng)
    said = called(source, wanted)
    if isinstance(said, str):
        return f"add.py: {said}"
    for (how, got), (name, arguments) in zip(said, wanted, strict=True):
        must = right(values["constants"], name, arguments)
        if how != "value" or not same(got, must):
            did = f"gave {got!r}" if how == "value" else f"raised {''.join(got[:1])}"
            return f"{name}({', '.join(map(repr, arguments))}) must give {must!r}, and {did[:SHOWN]}"
    return None


def verify(workspace, trace):
    """The file first, then whether the answer tells which two they were."""
    values = trace["values"]
    source = text(workspace, "add.py", LARGEST_FILE)
    if source is None:
        return failed("add.py is gone, or is no text")
    problem = problem_with(source, values, random.Random(f"t12_multi_tool:{trace['seed']}"))
    if problem:
        return failed(problem)
    said = re.sub(r"\b(add_\w+)\(\w*\)", r"\1", answer(trace))
    said = said.replace("add.", " ").replace("/", " ")
    unsaid = [name for name in values["broken"] if not states(said, name)]
    if unsaid:
        return failed(f"add.py is right, but the answer does not name {' and '.join(unsaid)}")
    if trace["tools_recorded"] and not calls(trace):
        return failed("add.py is right, but no call on record worked that could have made it so")
    return passed("both functions were found and mended, and the others work as before")
