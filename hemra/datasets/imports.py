"""Which modules a task's own code imports, in whatever way: it must get by with what is there when it runs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator

_BY_NAME = ("__import__", "import_module")
_HIDING = ("exec", "eval", "compile")


def problems(source: bytes, name: str, *, provided: Collection[str] = ()) -> Iterator[str]:
    """One line for every import of `source` that cannot be told or will not be found: what is there is
    the standard library and the modules named in `provided`.
    """
    try:
        tree = ast.parse(source, name)
    except (SyntaxError, ValueError) as error:
        yield f"{name}: is not Python: {error}"
        return
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for what in _foreign(node, provided):
            yield f"{name}, line {line}: {what}"


def _foreign(node: ast.AST, provided: Collection[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (_named(alias.name) for alias in node.names if not _there(alias.name, provided))
    elif isinstance(node, ast.ImportFrom):
        if node.level:
            yield "a relative import finds nothing: the file is run alone"
        elif not _there(node.module or "", provided):
            yield _named(node.module or "")
    elif isinstance(node, ast.Call):
        yield from _called(node, provided)


def _called(node: ast.Call, provided: Collection[str]) -> Iterator[str]:
    function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
    if function in _BY_NAME:
        first = node.args[0] if node.args else None
        if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
            yield f"{function}() with a name that is computed"
        elif not _there(first.value, provided):
            yield _named(first.value)
    elif isinstance(node.func, ast.Name) and function in _HIDING:
        yield f"{function}() can hide imports"


def _there(module: str, provided: Collection[str]) -> bool:
    return module in provided or module.partition(".")[0] in sys.stdlib_module_names


def _named(module: str) -> str:
    return f"imports {module}, which is not in the standard library"
