"""Passes when the function in the answer does what is asked: it is called with inputs drawn by the seed."""

import ast
import json
import math
import random
import re
import secrets
import tempfile
from pathlib import Path

from hemra_verifier import failed, passed, run

NAME = "rolling_max"
LARGEST_ANSWER = 100_000  # characters
SHOWN = 200  # characters of a value in a reason
#: Calls the function in the limited process. It is told the inputs and never what is right; see `compared` for that.
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
    function = getattr(module, job["name"])
    said = [called(function, arguments) for arguments in job["inputs"]]
except BaseException as error:
    said = f"{type(error).__name__}: {error}"[:200]
out.write(job["mark"] + json.dumps(said))
out.flush()
os._exit(0)
"""


def blocks(text):
    """The fenced code blocks of a text; one that is never closed reaches to the end."""
    found, fence, lines = [], "", []
    for line in text.replace("\r\n", "\n").split("\n"):
        mark = re.match(r"[ \t>]*(`{3,}|~{3,})(.*)", line)
        if not fence:
            fence, lines = (mark[1], []) if mark else ("", [])
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            found.append(lines)
            fence = ""
        else:
            lines.append(line)
    return ["\n".join(without_margin(lines)) for lines in [*found, *([lines] if fence else [])]]


def without_margin(lines):
    """The lines without the indentation that all of them have, as in a list."""
    margin = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return [line[margin:] for line in lines]


def defines(code):
    """Whether this is Python that makes a function of the name."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    made = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return NAME in made | {
        node.id for node in nodes if isinstance(node, ast.Name) and type(node.ctx) is ast.Store
    }


def code_of(text):
    """The last code block of the answer that has the function (an example of its use may follow), or None."""
    if len(text) > LARGEST_ANSWER:
        return None
    return next((code for code in [*reversed(blocks(text)), text] if defines(code)), None)


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


def called(code, inputs):
    """What the function did for each input: ("value", …) or ("raised", names of the error's classes).

    A text in place of the list says why nothing is known.
    """
    mark = secrets.token_hex(16)
    job = {"code": code, "name": NAME, "inputs": inputs, "mark": mark}
    with tempfile.TemporaryDirectory() as empty:
        program = {"call_it_.py": PROGRAM}
        ran = run(Path(empty), ["python3", "call_it_.py"], stdin=json.dumps(job).encode(), files=program)
    if ran.timed_out:
        return "it did not come to an end"
    try:
        said = json.loads(ran.stdout.decode("utf-8", "replace").rpartition(mark)[2])
        if isinstance(said, str):
            return f"it cannot be used: {said}"
        said = [
            (how, value_of(what) if how == "value" else [str(name) for name in what]) for how, what in said
        ]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return "the program ended before the function had been called"
    return said if len(said) == len(inputs) else "the program ended before all calls had been made"


def right(values, arguments):
    """What a right function does, in the form of `called`."""
    try:
        return "value", reference(values, *arguments)
    except ValueError:
        return "raised", "ValueError"


def same(got, want):
    """Whether two values are equal, in type as well; a whole number may stand for a float."""
    if type(want) is float:
        return type(got) in (int, float) and math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-9)
    if type(got) is not type(want):
        return False
    if type(want) in (list, tuple):
        return len(got) == len(want) and all(map(same, got, want))
    return got == want


def compared(said, values, inputs):
    """What the function does wrongly, or None. What is right is worked out here, after its process has ended."""
    for (how, got), arguments in zip(said, inputs, strict=True):
        want_how, want = right(values, arguments)
        if how == want_how and (same(got, want) if how == "value" else want in got):
            continue
        shown = ", ".join(map(repr, arguments))[:SHOWN]
        did = f"gave {got!r}" if how == "value" else f"raised {''.join(got[:1])}"
        must = f"give {want!r}" if want_how == "value" else f"raise {want}"
        return f"{NAME}({shown}) must {must[:SHOWN]}, and {did[:SHOWN]}"
    return None


def verify(workspace, trace):
    """The function of the final answer, called; what lies in the workspace does not matter."""
    code = code_of(trace.get("final") or "")
    if code is None:
        return failed(f"the answer has no code with a function {NAME}")
    inputs = inputs_for(trace["values"], random.Random(f"{NAME}:{trace['seed']}"))
    said = called(code, inputs)
    if isinstance(said, str):
        return failed(f"{NAME}: {said}")
    problem = compared(said, trace["values"], inputs)
    if problem:
        return failed(problem)
    return passed(f"{NAME} was right for {len(inputs)} inputs", inputs=len(inputs))


def inputs_for(values, rng):
    """Lists in which the special numbers, their neighbours and others follow one another."""
    reset, limit = values["reset"], values["limit"]
    inputs = [
        [],
        [5],
        [-5, -9, -3],
        [reset],
        [limit],
        [limit + 1],
        [limit + 1, limit + 1, 4],
        [limit, limit + 1, 3],
        [reset + 9, reset, 4],
        [limit, reset, limit + 1, 7],
        [reset + 1, reset - 1, reset, reset - 1],
        [limit + 2, reset, 1],
        [7, 7, 7],
        [limit - 1, limit, limit + 1, limit - 1],
    ]
    for _ in range(30):
        numbers = []
        for _ in range(rng.randrange(1, 12)):
            special = rng.choice((reset, reset - 1, reset + 1, limit, limit + 1, limit - 1))
            numbers.append(special if rng.random() < 0.5 else rng.randrange(-limit, 2 * limit))
        inputs.append(numbers)
    return [(numbers,) for numbers in inputs]


def reference(values, numbers):
    """Number by number."""
    found, most = [], None
    for number in numbers:
        if number == values["reset"]:
            most = number
        elif number <= values["limit"]:
            most = number if most is None else max(most, number)
        found.append(int(values["nothing"]) if most is None else most)
    return found
