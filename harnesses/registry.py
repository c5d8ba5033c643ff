"""Harnesses by name: the built-in ones, and those that harness files describe.

Another package adds a kind by the entry point group `hemra.harnesses`: the entry point's name is the kind,
its object makes a Harness from (HarnessFile, folder of the file).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from harnesses.acp import (
    AcpHarness,
    ClaudeAcpHarness,
    CodexAcpHarness,
    HermesAcpHarness,
    OpencodeAcpHarness,
    PiAcpHarness,
)
from harnesses.aider import AiderHarness
from harnesses.base import Harness, HarnessFile, HarnessTraits
from harnesses.builtin import NopHarness, OracleHarness
from harnesses.claude_code import ClaudeCodeHarness
from harnesses.codex import CodexHarness
from harnesses.command import CommandHarness
from harnesses.errors import HarnessError, HarnessFileError, HarnessNotFound
from harnesses.file import read_harness_file
from harnesses.hermes import HermesHarness
from harnesses.mini_swe import MiniSweHarness
from harnesses.opencode import OpencodeHarness
from harnesses.pi import PiHarness
from harnesses.protocol import ProtocolHarness
from harnesses.sdk_program import SdkHarness

Make = Callable[[HarnessFile, Path], Harness]

#: kind -> what makes a harness of it from a harness file.
KINDS: dict[str, Make] = {
    "command": CommandHarness,
    "protocol": ProtocolHarness,
    "oracle": OracleHarness,
    "nop": NopHarness,
    "sdk": SdkHarness,
    "hermes": HermesHarness,
    "pi": PiHarness,
    "codex": CodexHarness,
    "claude-code": ClaudeCodeHarness,
    "mini-swe-agent": MiniSweHarness,
    "opencode": OpencodeHarness,
    "aider": AiderHarness,
    "acp": AcpHarness,
    "hermes-acp": HermesAcpHarness,
    "claude-agent-acp": ClaudeAcpHarness,
    "codex-acp": CodexAcpHarness,
    "pi-acp": PiAcpHarness,
    "opencode-acp": OpencodeAcpHarness,
}
#: Harnesses that need no file, with what they are for.
BUILTIN = {
    "oracle": "carries out each task's reference solution: shows that the tasks can be done",
    "nop": "does nothing: shows that the tasks cannot be passed by doing nothing",
}
ENTRY_POINTS = "hemra.harnesses"
FILE_NAME = "harness.yaml"


def load_harness(ref: str) -> Harness:
    """The harness that `ref` names: `oracle`, `nop`, a harness file, or a folder with a `harness.yaml`.

    Raises HarnessNotFound or HarnessFileError; that a program is missing is told by its `problems`.
    """
    if ref in BUILTIN:
        return KINDS[ref](HarnessFile(name=ref, kind=ref), Path.cwd())
    path = Path(ref).expanduser()
    if path.is_dir():
        path = path / FILE_NAME
    if not path.is_file():
        raise HarnessNotFound(_not_found(ref, path))
    file = read_harness_file(path)
    if file.name.casefold() in BUILTIN:
        raise HarnessFileError(
            f"{path}: name {file.name!r}: a built-in harness has it, whose scores these would pass for; choose another"
        )
    try:
        return _maker(file.kind)(file, path.parent.absolute())
    except HarnessFileError as error:
        raise HarnessFileError(f"{path}: {error}") from error


def _not_found(ref: str, path: Path) -> str:
    if "/" in ref or path.suffix in (".yaml", ".yml"):
        return f"no harness file {path}"
    near = difflib.get_close_matches(ref, BUILTIN, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"built in are {' and '.join(BUILTIN)}"
    return f"no harness {ref!r}: {hint}; any other is named by the path of its harness file"


def _maker(kind: str) -> Make:
    if kind in KINDS:
        return KINDS[kind]
    points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if kind in points:
        return partial(_of_package, points[kind])
    kinds = [*KINDS, *sorted(points)]
    near = difflib.get_close_matches(kind, kinds, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(kinds)}"
    raise HarnessFileError(f"kind: there is no kind {kind!r}: {hint}")


def _of_package(point: EntryPoint, file: HarnessFile, folder: Path) -> Harness:
    """What another package makes of a harness file. Raises HarnessFileError where that is no harness."""
    whose = f"kind: {point.name!r} ({point.value})"
    try:
        made: Harness = point.load()(file, folder)
        complete = isinstance(getattr(made, "traits", None), HarnessTraits)
    except HarnessError:
        raise
    except Exception as error:  # somebody else's module may fail in any way
        raise HarnessFileError(f"{whose} cannot be used: {error}") from error
    if not complete:
        raise HarnessFileError(
            f"{whose} makes no harness for this hemra: it has no `traits`, see docs/harnesses.md"
        )
    return made
