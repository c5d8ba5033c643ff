"""The rules of this house that a machine can check. Each test prints every place that breaks its rule."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("eventlog", "projections", "harnesses", "hemra")
MODULE_LINES = 400
FUNCTION_LINES = 50

Place = tuple[str, int]


def _files(*roots: str, pattern: str = "*.py") -> list[Path]:
    found = [p for root in roots for p in sorted((ROOT / root).rglob(pattern))]
    return [p for p in found if not {"__pycache__", "fixture", "golden"} & set(p.parts)]


CODE = _files(*PACKAGES, "tools")
TESTS = [p for p in _files("tests") if p.name.startswith("test_")]
TASKS = _files("tasks")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _broken(paths: list[Path], rule: Callable[[ast.AST], str | None]) -> list[str]:
    """`file:line: what` for every node of `paths` about which `rule` has something to say."""
    return [
        f"{_name(path)}:{getattr(node, 'lineno', 1)}: {said}"
        for path in paths
        for node in ast.walk(_tree(path))
        if (said := rule(node))
    ]


def _called(node: ast.AST) -> str:
    """`os.replace` for a call of it; the bare attribute for a method; empty for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    return ast.unparse(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""


def _imported(node: ast.AST) -> set[str]:
    """The top-level modules that an import statement loads."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return {node.module.partition(".")[0]}
    return set()


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_modules_are_short() -> None:
    """A module that grows past its limit has more than one reason to exist."""
    long = {_name(p): n for p in CODE if (n := p.read_text(encoding="utf-8").count("\n")) > MODULE_LINES}
    assert long == {}


def test_functions_are_short() -> None:
    """A function past its limit cannot be read at one glance."""
    long = [
        f"{_name(p)}:{f.name}: {f.end_lineno - f.lineno + 1} lines"
        for p in CODE
        for f in _functions(p)
        if f.end_lineno is not None and f.end_lineno - f.lineno + 1 > FUNCTION_LINES
    ]
    assert long == []


def test_file_names_say_what_a_file_holds() -> None:
    """A file called utils gathers what has no place."""
    empty = re.compile(r"(utils?|helpers?|common|misc|stuff)\.py")
    assert [_name(p) for p in CODE + TESTS + TASKS if empty.fullmatch(p.name)] == []


def test_every_module_and_public_name_has_a_docstring() -> None:
    """Without one, shapes, units and errors must be guessed from the code."""

    def undocumented(path: Path) -> Iterator[str]:
        if not ast.get_docstring(_tree(path)):
            yield _name(path)
        stack: list[tuple[str, ast.AST]] = [("", _tree(path))]
        while stack:
            prefix, parent = stack.pop()
            for node in ast.iter_child_nodes(parent):
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    continue
                overloaded = any(
                    ast.unparse(d).endswith((".setter", "overload")) for d in node.decorator_list
                )
                if node.name.startswith("_") or overloaded:
                    continue
                if not ast.get_docstring(node):
                    yield f"{_name(path)}:{node.lineno}: {prefix}{node.name}"
                if isinstance(node, ast.ClassDef):
                    stack.append((f"{prefix}{node.name}.", node))

    assert [line for path in CODE for line in undocumented(path)] == []


def test_every_test_says_what_it_guards() -> None:
    """A test whose failure nobody can explain gets deleted, or worse, adjusted."""
    silent = [
        f"{_name(p)}:{f.lineno}: {f.name}"
        for p in TESTS
        for f in _functions(p)
        if f.name.startswith("test_") and not ast.get_docstring(f)
    ]
    assert silent == []


def test_text_files_name_their_encoding() -> None:
    """Without one, the same store reads differently under another locale."""

    def rule(node: ast.AST) -> str | None:
        called = _called(node)
        if not isinstance(node, ast.Call) or any(k.arg in ("encoding", None) for k in node.keywords):
            return None
        if called.endswith(".read_text"):
            return None if node.args else "read_text without encoding"
        if called.endswith(".write_text"):
            return None if len(node.args) > 1 else "write_text without encoding"
        if called == "open":
            mode = (
                node.args[1]
                if len(node.args) > 1
                else next((k.value for k in node.keywords if k.arg == "mode"), None)
            )
            binary = isinstance(mode, ast.Constant) and "b" in str(mode.value)
            return None if binary else "open for text without encoding"
        return None

    assert _broken(CODE + TASKS, rule) == []


#: A library or call that one module wraps, and the modules that may use it.
ONLY_IN = {
    "zstandard": ("eventlog/frames.py", "hemra/gateway/decoding.py"),
    "pynng": ("eventlog/bus_server.py",),
    "duckdb": ("projections/",),
}


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_wrapped_library_is_used_in_one_place(library: str) -> None:
    """A second user would not share the checks that the one place makes."""
    elsewhere = [p for p in _files(*PACKAGES) if not _name(p).startswith(ONLY_IN[library])]
    assert _broken(elsewhere, lambda n: library if library in _imported(n) else None) == []


def test_wall_time_comes_from_one_place() -> None:
    """Wall time that is read here and there ends up measuring a duration, and then a clock jumps."""
    clocks = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.datetime.now"}
    others = [p for p in _files(*PACKAGES) if _name(p) != "eventlog/clock.py"]
    assert _broken(others, lambda n: _called(n) if _called(n) in clocks else None) == []


def test_nothing_forks() -> None:
    """nng aborts a process that uses it after a fork, and threads do not survive one."""
    forks = {"os.fork", "os.forkpty", "pty.fork", "pty.spawn"}
    # Process 1 of a trial's namespaces imports nothing, has no second thread, and never heard of nng.
    others = [p for p in CODE if _name(p) != "hemra/sandboxes/warden.py"]

    def rule(node: ast.AST) -> str | None:
        if _called(node) in forks:
            return _called(node)
        if "multiprocessing" in _imported(node):
            return "multiprocessing"
        if isinstance(node, ast.keyword) and node.arg == "preexec_fn":
            return "preexec_fn"
        return None

    assert _broken(others, rule) == []


def test_process_1_that_forks_imports_only_what_is_built_in() -> None:
    """What it imports might start a thread, and a fork would find the locks of that held for ever."""
    path = next(p for p in CODE if _name(p) == "hemra/sandboxes/warden.py")
    allowed = {"_signal", "_socket", "_ctypes", "marshal", "os", "select", "sys"}
    assert _broken([path], lambda n: "import" if set(_imported(n)) - allowed else None) == []


def test_files_are_renamed_by_the_storage_layer() -> None:
    """A rename without the syncs around it loses a file in a power cut."""
    # scratch.py moves folders only to be able to remove them: nothing in them is to be kept. place.py swaps a link.
    storage = ("eventlog/", "projections/cache.py", "hemra/sandboxes/scratch.py", "hemra/installing/place.py")
    others = [p for p in _files(*PACKAGES) if not _name(p).startswith(storage)]
    moves = {"os.rename", "os.replace", "os.renames", "shutil.move"}
    assert _broken(others, lambda n: _called(n) if _called(n) in moves else None) == []


def test_no_failure_is_swallowed() -> None:
    """`except Exception: pass` turns a bug into a wrong result that nobody sees."""

    def rule(node: ast.AST) -> str | None:
        if not isinstance(node, ast.ExceptHandler):
            return None
        broad = node.type is None or ast.unparse(node.type) in ("Exception", "BaseException")
        empty = all(
            isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and s.value is ...) for s in node.body
        )
        return "a failure is swallowed" if broad and empty else None

    assert _broken(CODE + TESTS + TASKS, rule) == []


def test_no_shell_is_started_for_a_command() -> None:
    """A shell between us and a program makes every odd file name a hole."""

    def rule(node: ast.AST) -> str | None:
        if _called(node) in ("os.system", "os.popen"):
            return _called(node)
        shell = isinstance(node, ast.keyword) and node.arg == "shell"
        return (
            "shell=True"
            if shell and not (isinstance(node.value, ast.Constant) and not node.value.value)
            else None
        )

    assert _broken(_files(*PACKAGES), rule) == []


def _texts() -> Iterator[tuple[Path, str]]:
    """Every text file of the project."""
    suffixes = {".py", ".md", ".toml", ".lock", ".yaml", ".yml", ".sql", ".sh", ".txt", ".json", ""}
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    names = listed.stdout.splitlines() or [
        _name(p) for p in _files(*PACKAGES, "tests", "tools", "docs", "tasks", pattern="*")
    ]
    for name in names:
        path = ROOT / name
        if path.suffix in suffixes and path.is_file() and not path.is_symlink():
            try:
                yield path, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # a fixture that is not text on purpose


def test_nothing_names_one_machine() -> None:
    """A path or a package host of one machine in the project breaks it on every other."""
    paths = r"(?<![\w/.])/(work|root|home/\w+)/"
    hosts = "|".join(["py" + "pi\\.org", "python" + "hosted", "registry\\." + "npmjs", "deb\\." + "debian"])
    banned = re.compile(f"{paths}|{hosts}")
    found = [
        f"{_name(path)}:{number}: {line.strip()[:100]}"
        for path, text in _texts()
        if path != Path(__file__)
        for number, line in enumerate(text.splitlines(), 1)
        if banned.search(line)
    ]
    assert found == []


#: What only some commands need, and what none needs to begin.
HEAVY = (
    "duckdb", "pynng", "rich", "docker", "zstandard", "psutil", "yaml", "watchfiles", "orjson", "msgspec",
    "importlib.metadata", "asyncio", "sqlite3",
)  # fmt: skip


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--version"]])
def test_starting_up_loads_no_heavy_module(arguments: list[str]) -> None:
    """One careless import and every command, `hemra --help` first, takes twice as long to start."""
    script = (
        "import sys; from hemra.cli.main import main; "
        f"main({arguments!r}) if {bool(arguments)} else None; "
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = set(done.stderr.split())
    assert [name for name in HEAVY if name in loaded] == []
    commands = {name for name in loaded if name.startswith("hemra.cli.")}
    assert commands == {f"hemra.cli.{name}" for name in ("main", "context", "lazy", "stdout", "table")}
