"""What the files of a task alone tell about it: one line for everything that is wrong."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from hemra.datasets import imports
from hemra.datasets.digest import CHECKS
from hemra.datasets.mcp import loopback_of
from hemra.datasets.model import Task

MAX_FIXTURE_BYTES = 100 * 1024
SOLUTION = "solution/solve.py"
#: What code of a task is given beside the standard library.
VERIFIERS, PROGRAMS = ("hemra_verifier",), ("hemra_protocol", "hemra_tools")
#: Text that speaks to the agent in place of its user.
INJECTION = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}"
    r"\b(?:previous|prior|above|earlier|preceding|all|any|your|the|these|those|system)\b[^.\n]{0,30}"
    r"\b(?:instructions?|prompts?|rules?|directions?|guidelines?)\b"
    r"|\bsystem\s+prompt\s*:|\byou\s+are\s+now\b|\bnew\s+instructions?\s*:|\bfrom\s+now\s+on\s+you\b"
    r"|\bdo\s+not\s+(?:tell|inform|alert)\s+the\s+user\b|<\|?(?:im_start|im_end|system|endoftext)\|?>|\[/?INST\]",
    re.IGNORECASE,
)


def lints(task: Task) -> Iterator[str]:
    """Everything that needs no code of the task to be run."""
    yield from _files(task)
    for path, source, provided in _code(task):
        yield from imports.problems(source, path, provided=provided)
    yield from _fields(task)
    for path in task.files:
        if path.startswith((task.fixture, *_corpus(task))) and path.removeprefix(task.fixture) not in (
            task.spec.allow_injection
        ):
            yield from injections((task.path / path).read_bytes(), path)


def _files(task: Task) -> Iterator[str]:
    if SOLUTION not in task.files:
        yield f"lacks {SOLUTION}: without a reference solution nobody knows that the task can be solved"
    if not any((task.path / CHECKS).glob("wrong_*.py")):
        yield f"lacks {CHECKS}/wrong_*.py: without something wrong nobody knows that the verifier can tell"
    for path in task.files:
        size = (task.path / path).stat().st_size
        if path.startswith((task.fixture, *_corpus(task))) and size > MAX_FIXTURE_BYTES:
            yield f"{path}: {size} bytes, above {MAX_FIXTURE_BYTES} (write large files in prepare.py)"
    for entry in sorted((task.path / CHECKS).glob("*")):
        if entry.name != "__pycache__" and not re.fullmatch(r"(?:right|wrong)_\w+\.py", entry.name):
            yield f"{CHECKS}/{entry.name}: is called neither right_….py nor wrong_….py, so nothing runs it"


def _code(task: Task) -> Iterator[tuple[str, bytes, tuple[str, ...]]]:
    """Path, source and what it may import, of all code of the task that is run by itself."""
    spec = task.spec
    own: dict[str, tuple[str, ...]] = {spec.verifier.file: VERIFIERS, "prepare.py": (), SOLUTION: PROGRAMS}
    if spec.world is not None:
        own[spec.world] = ()
    for path, provided in own.items():
        if path in task.files:
            yield path, (task.path / path).read_bytes(), provided
    for check in sorted((task.path / CHECKS).glob("*.py")):
        yield f"{CHECKS}/{check.name}", check.read_bytes(), PROGRAMS


def _fields(task: Task) -> Iterator[str]:
    """Fields of task.yaml that contradict each other or the files."""
    spec = task.spec
    both = set(spec.allowed_tools) & set(spec.forbidden_tools)
    if both:
        yield f"task.yaml: {', '.join(sorted(both))} both allowed and forbidden"
    delayed = set(spec.latency_ms) - set(spec.allowed_tools)
    if delayed and spec.allowed_tools:
        yield f"task.yaml: latency_ms: {', '.join(sorted(delayed))} not among allowed_tools"
    if spec.services.web is not None and spec.network == "none":
        yield "task.yaml: services.web needs network mock (or full): with none, nothing could reach it"
    if spec.network == "mock" and spec.services.web is None and not loopback_of(spec):
        yield "task.yaml: network mock without services: there is nothing to reach"
    for name in _repeated(variant.name for variant in spec.variants):
        yield f"task.yaml: variants: {name!r} is given twice"
    for path in spec.allow_injection:
        if task.fixture + path not in task.files:
            yield f"task.yaml: allow_injection: there is no {task.fixture}{path}"
    if spec.fixture != "fixture" and not any(path.startswith(task.fixture) for path in task.files):
        yield f"task.yaml: fixture: there is no file in {task.fixture}"


def _repeated(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]


def _corpus(task: Task) -> tuple[str, ...]:
    web = task.spec.services.web
    return () if web is None else (web.corpus.rstrip("/") + "/",)


def injections(content: bytes, path: str) -> Iterator[str]:
    """A line for each place of a file that reads like an instruction to the agent."""
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if found := INJECTION.search(line):
            yield (
                f"{path}, line {number}: reads like an instruction to the agent: {found[0][:60]!r} "
                "(name the file under allow_injection if that is what the task is about)"
            )


def written_injections(task: Task, workspace: Path) -> Iterator[str]:
    """The same for what prepare.py wrote into a workspace."""
    for path in sorted(workspace.rglob("*")):
        name = path.relative_to(workspace).as_posix()
        fresh = task.fixture + name not in task.files and name not in task.spec.allow_injection
        if fresh and path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20:
            with contextlib.suppress(PermissionError):  # a file that the agent cannot read either
                yield from injections(path.read_bytes(), f"workspace {name}")
