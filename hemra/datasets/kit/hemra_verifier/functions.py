"""Judging functions that an agent wrote: called in the limited process, compared here after that has ended."""

import ast
import json
import math
import random
import re
import secrets
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from .limited import run
from .verdicts import failed, passed

#: A function's name and its arguments.
Call = tuple[str, Sequence[Any]]
#: What a call did: ("value", the value) or ("raised", names of the error's classes, the error's own first).
Did = tuple[str, Any]

LARGEST_ANSWER = 100_000  # characters
SHOWN = 200  # characters of a value in a reason
#: Calls the functions in the limited process. It is told the inputs and never what is right.
_PROGRAM = r"""
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


class Odd:
    """A value of a type that no right function gives."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"something of {self.kind}"


def called(code: str, calls: "Sequence[Call]", *, timeout: float = 10) -> "list[Did] | str":
    """What the functions of `code` did for each call, made in one limited process; the values are plain data, with
    `Odd` for what is none. A text in place of the list says why nothing is known."""
    mark = secrets.token_hex(16)
    job = json.dumps({"code": code, "calls": calls, "mark": mark}).encode()
    with tempfile.TemporaryDirectory() as empty:
        program = {"call_it_.py": _PROGRAM}
        ran = run(Path(empty), ["python3", "call_it_.py"], stdin=job, files=program, timeout=timeout)
    if ran.timed_out:
        return "it did not come to an end"
    try:
        said = json.loads(ran.stdout.decode("utf-8", "replace").rpartition(mark)[2])
        if isinstance(said, str):
            return f"it cannot be used: {said}"
        did = [(how, _value(what) if how == "value" else [str(name) for name in what]) for how, what in said]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return "the program ended before the function had been called"
    return did if len(did) == len(calls) else "the program ended before all calls had been made"


def _value(shape: Any) -> Any:
    """The value that the program told in this form. Raises what malformed data raise."""
    kind, content = shape
    if kind in ("list", "tuple"):
        items = [_value(item) for item in content]
        return items if kind == "list" else tuple(items)
    if kind in ("str", "bool"):
        return content
    makers: dict[str, Callable[[Any], Any]] = {"int": int, "float": float.fromhex, "other": Odd}
    return makers[kind](content)


def same(got: Any, want: Any) -> bool:
    """Whether two values are equal, in type as well; a whole number may stand for a float."""
    if type(want) is float:
        return type(got) in (int, float) and math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-9)
    if type(got) is not type(want):
        return False
    if type(want) in (list, tuple):
        return len(got) == len(want) and all(map(same, got, want))
    return bool(got == want)


def misfit(call: Call, did: Did, must: str) -> str:
    """One line on a call that did something else than it must."""
    (name, arguments), (how, got) = call, did
    shown = ", ".join(map(repr, arguments))[:SHOWN]
    what = f"gave {got!r}" if how == "value" else f"raised {''.join(got[:1])}"
    return f"{name}({shown}) must {must[:SHOWN]}, and {what[:SHOWN]}"


def code_with(name: str, text: str) -> "str | None":
    """The last code block of a text that has the function (an example of its use may follow), or None."""
    if len(text) > LARGEST_ANSWER:
        return None
    return next((code for code in [*reversed(_blocks(text)), text] if _defines(name, code)), None)


def _blocks(text: str) -> "list[str]":
    """The fenced code blocks of a text; one that is never closed reaches to the end."""
    found: list[list[str]] = []
    fence, lines = "", list[str]()
    for line in text.replace("\r\n", "\n").split("\n"):
        mark = re.match(r"[ \t>]*(`{3,}|~{3,})(.*)", line)
        if not fence:
            fence, lines = (mark[1], []) if mark else ("", [])
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            found.append(lines)
            fence = ""
        else:
            lines.append(line)
    return ["\n".join(_without_margin(each)) for each in [*found, *([lines] if fence else [])]]


def _without_margin(lines: "list[str]") -> "list[str]":
    """The lines without the indentation that all of them have, as in a list."""
    margin = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return [line[margin:] for line in lines]


def _defines(name: str, code: str) -> bool:
    """Whether this is Python that makes a function of the name."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    made = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return name in made | {
        node.id for node in nodes if isinstance(node, ast.Name) and type(node.ctx) is ast.Store
    }


def judged(
    name: str,
    trace: "dict[str, Any]",
    inputs_for: "Callable[[dict[str, Any], random.Random], Iterable[Sequence[Any]]]",
    reference: "Callable[..., Any]",
) -> "dict[str, Any]":
    """The verdict on the function `name` of the final answer.

    It is called with the arguments that `inputs_for(values, rng)` gives, rng being the seed's own; what it must do is
    what `reference(values, *arguments)` does, a ValueError included. That is worked out after its process has ended.
    """
    code = code_with(name, trace.get("final") or "")
    if code is None:
        return failed(f"the answer has no code with a function {name}")
    values = trace["values"]
    inputs = list(inputs_for(values, random.Random(f"{name}:{trace['seed']}")))
    said = called(code, [(name, arguments) for arguments in inputs])
    if isinstance(said, str):
        return failed(f"{name}: {said}")
    for did, arguments in zip(said, inputs, strict=True):
        want_how, want = _right(values, arguments, reference)
        how, got = did
        if how != want_how or not (same(got, want) if how == "value" else want in got):
            must = f"give {want!r}" if want_how == "value" else f"raise {want}"
            return failed(misfit((name, arguments), did, must))
    return passed(f"{name} was right for {len(inputs)} inputs", inputs=len(inputs))


def _right(values: "dict[str, Any]", arguments: "Sequence[Any]", reference: "Callable[..., Any]") -> Did:
    """What a right function does."""
    try:
        return "value", reference(values, *arguments)
    except ValueError:
        return "raised", "ValueError"
