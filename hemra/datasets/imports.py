"""Which modules a task's own code imports, in whatever way: it must get by with what is there when it runs."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator

_BY_NAME = ("__import__", "import_module")
_HIDING = ("exec", "eval", "compile")
#: Names that, handed around instead of called, make every import invisible.
_HANDED = (*_HIDING, "__import__", "__builtins__", "__loader__", "__spec__")
#: Attributes that load code from elsewhere, and modules whose purpose that is.
_LOADING = ("exec_module", "load_module", "spec_from_file_location", "run_path", "run_module", "__import__")
_LOADERS = (
    "builtins",
    "code",
    "codeop",
    "imp",
    "pkgutil",
    "runpy",
    "zipimport",
    "importlib.machinery",
    "importlib.util",
)


def problems(source: bytes, name: str, *, provided: Collection[str] = ()) -> Iterator[str]:
    """One line for every import of `source` that cannot be told or will not be found: what is there is
    the standard library and the modules named in `provided`.
    """
    try:
        tree = ast.parse(source, name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        yield f"{name}: is not Python: {error}"
        return
    reader = _Reader(tree, provided)
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for what in reader.foreign(node):
            yield f"{name}, line {line}: {what}"


class _Reader:
    """Knows by which names the file calls what imports by name."""

    def __init__(self, tree: ast.AST, provided: Collection[str]) -> None:
        self._provided = provided
        self._by_name = {*_BY_NAME}
        self._called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "importlib":
                self._by_name |= {a.asname or a.name for a in node.names if a.name in _BY_NAME}

    def foreign(self, node: ast.AST) -> Iterator[str]:
        """What is wrong with one node."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from self._module(alias.name)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield "a relative import finds nothing: the file is run alone"
            else:
                yield from self._module(node.module or "")
        elif isinstance(node, ast.Call):
            yield from self._call(node)
        elif isinstance(node, ast.Name) and node.id in _HANDED and id(node) not in self._called:
            yield f"{node.id} handed around can hide imports"
        elif isinstance(node, ast.Attribute):
            yield from self._attribute(node)

    def _module(self, module: str) -> Iterator[str]:
        if not self._there(module):
            yield f"imports {module}, which is not in the standard library"
        elif module in _LOADERS:
            yield f"imports {module}, which can load other code"

    def _call(self, node: ast.Call) -> Iterator[str]:
        function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if function in self._by_name:
            first = node.args[0] if node.args else None
            if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
                yield f"{function}() with a name that is computed"
            else:
                yield from self._module(first.value)
        elif isinstance(node.func, ast.Name) and function in _HIDING:
            yield f"{function}() can hide imports"
        elif function in ("getattr", "__getattribute__", "attrgetter") and any(
            isinstance(arg, ast.Constant) and arg.value in (*_HANDED, *_BY_NAME) for arg in node.args
        ):
            yield f"{function}() of what imports can hide imports"

    def _attribute(self, node: ast.Attribute) -> Iterator[str]:
        if node.attr in _LOADING and id(node) not in self._called:
            yield f"{node.attr} handed around can hide imports"
        elif node.attr in _LOADING and node.attr not in self._by_name:
            yield f"{node.attr}() can load other code"
        elif node.attr in ("path", "meta_path", "path_hooks") and getattr(node.value, "id", None) == "sys":
            yield f"sys.{node.attr} changes where modules are found"

    def _there(self, module: str) -> bool:
        return module in self._provided or module.partition(".")[0] in sys.stdlib_module_names
