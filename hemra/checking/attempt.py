"""One run of a harness against the checking model, in a sandbox, and everything that was seen of it.

Run as a program it is the part that lives in the watched namespace: what to run comes as JSON on stdin, what was
seen goes as JSON to stdout.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from eventlog import clock
from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import Usage
from harnesses.base import Dialogue, FileReader
from harnesses.errors import HarnessError
from hemra.checking.endpoint import INSTRUCTION, CheckModel
from hemra.checking.outside import Attempt, Outside
from hemra.engine.speech import speech_of
from hemra.sandboxes.base import ENDED_BY_US
from hemra.secrets import Redactor

if TYPE_CHECKING:
    from harnesses.base import Conclusion, Harness, Interpreter, Launch
    from hemra.sandboxes.base import ExecResult, Sandbox

_OUTPUT_BYTES = 8 << 20
_TAIL_BYTES = 2000
_MOST_FILES = 2000


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What to run. `ref` is a harness file, or the name of a kind whose agent is installed; `store` is hidden."""

    ref: str
    store: str
    sandbox: str
    dialect: str | None = None
    seconds: float = 120.0
    watched: bool = False


class Seen(msgspec.Struct, kw_only=True):
    """What was seen. Times in nanoseconds; null = it did not come to that.

    `problems` kept it from being started. `outside` is null where nobody watched, and `not_watched` says why.
    """

    harness: str
    kind: str
    sandbox: str
    version: str | None = None
    version_problem: str | None = None
    problems: list[str] = []
    argv: list[str] = []
    environment: list[str] = []
    calls: list[dict[str, Any]] = []
    main: int = 0
    carried_out: bool = False
    has_model: bool = False
    told: Usage | None = None
    served: Usage | None = None
    served_all: Usage | None = None
    final: str | None = None
    outcome: str | None = None
    reason: str | None = None
    flags: list[str] = []
    recognised: int = 0
    unrecognised: int = 0
    exit_code: int | None = None
    exit_signal: int | None = None
    limit: str | None = None
    leftover_processes: int = 0
    duration_ns: int | None = None
    first_request_ns: int | None = None
    given: list[str] = []
    home: dict[str, int] = {}
    temporary: dict[str, int] = {}
    workspace: dict[str, int] = {}
    stdout: str = ""
    stderr: str = ""
    outside: list[dict[str, Any]] | None = None
    not_watched: str | None = None
    packets_lost: int = 0


def harness_for(ref: str, dialect: str | None) -> Harness:
    """The harness of a file; or, for the name of a kind whose agent hemra installs, one with nothing but defaults.

    Raises HemraError.
    """
    from harnesses.base import HarnessFile, Upstream
    from harnesses.registry import BUILTIN, KINDS
    from hemra.engine.harness_files import harness_of
    from hemra.errors import UsageError
    from hemra.installing.catalog import kinds

    if ref in BUILTIN:
        raise UsageError(f"{ref} is built in, and made to be run on tasks: there is nothing to check")
    names = [kind.name for kind in kinds() if kind.recipe]
    if ref not in names:
        if dialect is not None:
            raise UsageError("--dialect is for installed agents; a harness file says it as upstream.dialect")
        return harness_of(ref)
    upstream = msgspec.convert({"base_url": "http://127.0.0.1:9/v1", "dialect": dialect}, Upstream)
    file = HarnessFile(name=ref, kind=ref, model="hemra-check", upstream=upstream)
    try:
        return KINDS[ref](file, Path.cwd())
    except HarnessError as error:
        raise UsageError(str(error)) from error


class Watch:
    """Reads what the harness prints, as the engine would, and keeps the end of it."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.speech = speech_of(interpreter, lambda said: None)
        self.tails = {"stdout": bytearray(), "stderr": bytearray()}
        self.started_ns = clock.mono_ns()

    async def started(self, pid: int) -> None:
        """Its time begins."""
        self.started_ns = clock.mono_ns()
        if self.speech is not None:
            self.speech.begin()

    async def output(self, stream: str, chunk: bytes) -> None:
        """Take a chunk."""
        self.interpreter.feed(stream, chunk)
        tail = self.tails[stream]
        tail += chunk
        del tail[:-_TAIL_BYTES]
        if self.speech is not None:
            await self.speech.heard()

    def tail(self, stream: str) -> str:
        """The end of what came on a stream."""
        return self.tails[stream].decode("utf-8", "replace").strip()


async def carry_out(order: Order) -> Seen:
    """Run the harness once. Raises HemraError."""
    harness = harness_for(order.ref, order.dialect)
    seen = Seen(
        harness=harness.name, kind=harness.kind, sandbox=order.sandbox,
        has_model=harness.traits.upstream is not None,
    )  # fmt: skip
    seen.version, seen.version_problem = await asyncio.to_thread(_version, harness)
    token = secrets.token_urlsafe(24)
    model = CheckModel(token)
    place = await model.start()
    outside = Outside() if order.watched else None
    try:
        if outside is not None:
            outside.open()
        await _in_sandbox(order, harness, model, f"http://{place}", token, seen)
    finally:
        await model.close()
        if outside is not None:
            attempts, seen.packets_lost = await asyncio.to_thread(outside.close)
            seen.outside = [_attempt(each) for each in attempts]
    # What is printed is copied into bug reports: nothing that the user passed through may be in it.
    return Redactor({**harness.secrets(), "the gateway's token": token}).clean_struct(seen)


def _attempt(each: Attempt) -> dict[str, Any]:
    return {"name": each.name, "address": each.address, "port": each.port, "protocol": each.protocol,
            "count": each.count}  # fmt: skip


def _version(harness: Harness) -> tuple[str | None, str | None]:
    from hemra.installing.version import ask_version

    argv = harness.version_argv
    answer = ask_version(argv, seconds=60) if argv else None
    return (answer.version, answer.problem) if answer is not None else (None, None)


async def _in_sandbox(
    order: Order, harness: Harness, model: CheckModel, address: str, token: str, seen: Seen
) -> None:
    from hemra.sandboxes.registry import open_sandbox

    sandbox = open_sandbox(order.sandbox, _spec(order, harness))
    try:
        await sandbox.create()
        launch = harness.launch(_trial(order, harness, sandbox, address, token))
        seen.argv, seen.environment = launch.argv, sorted(launch.env)
        seen.given = await _write(sandbox, launch)
        before = {path: _sizes(path) for path in (sandbox.home, sandbox.workspace, _tmp(sandbox))}
        watch = Watch(harness.interpreter())
        result = await _exec(order, harness, sandbox, launch, watch)
        conclusion = await _conclude(sandbox, launch, watch, result)
        await sandbox.stop()
        _tell(seen, model, watch, result, conclusion)
        for name, path in (
            ("home", sandbox.home),
            ("workspace", sandbox.workspace),
            ("temporary", _tmp(sandbox)),
        ):
            setattr(seen, name, {file: size for file, size in _sizes(path).items()
                                 if before[path].get(file) != size})  # fmt: skip
    finally:
        await sandbox.destroy()


def _spec(order: Order, harness: Harness) -> Any:
    from hemra.engine.place import shown
    from hemra.sandboxes.base import LoginFile, SandboxSpec

    hidden = (Path(order.store),)
    needs = harness.traits.needs
    read_only, masked = shown(needs, hidden)
    # The namespace around it is what keeps it from the network.
    return SandboxSpec(
        run=f"check-{os.getpid()}", trial="0001", try_no=1, limits=Limits(), root=Path(tempfile.gettempdir()),
        network="full", read_only=read_only, hidden=(*hidden, *masked),
        login_files=tuple(LoginFile(*pair) for pair in needs.login_files),
    )  # fmt: skip


def _trial(order: Order, harness: Harness, sandbox: Sandbox, address: str, token: str) -> Any:
    from harnesses.base import GatewayAddress, TrialInput

    traits = harness.traits
    gateway = GatewayAddress(root=f"{address}/t/check", token=token, dialect=traits.spoken)
    return TrialInput(
        run="check", trial="0001", task="check", instruction=INSTRUCTION,
        workspace=sandbox.inside(sandbox.workspace), home=sandbox.inside(sandbox.home),
        harness_dir=sandbox.inside(sandbox.harness_dir), seed=0, attempt=1,
        limits=Limits(wall_seconds=order.seconds, turns=20),
        gateway=gateway if traits.upstream is not None else None, model=harness.definition.get("model"),
    )  # fmt: skip


async def _write(sandbox: Sandbox, launch: Launch) -> list[str]:
    """Put the launch's files where they belong; those of HOME."""
    for folder, files in ((sandbox.harness_dir, launch.files), (sandbox.home, launch.home_files)):
        for name, content in files.items():
            await sandbox.put(f"{sandbox.inside(folder)}/{name}", content)
    return sorted(launch.home_files)


async def _exec(order: Order, harness: Harness, sandbox: Sandbox, launch: Launch, watch: Watch) -> ExecResult:
    from hemra.sandboxes.base import ExecSpec

    spec = ExecSpec(
        argv=launch.argv, env=sandbox.environment() | launch.env, cwd=sandbox.inside(sandbox.workspace),
        stdin=launch.stdin if watch.speech is None else watch.speech,
        pty=(120, 40) if harness.terminal == "pty" else None,
        wall_seconds=order.seconds, output_bytes=_OUTPUT_BYTES, ended=lambda: watch.interpreter.ended,
    )  # fmt: skip
    if isinstance(watch.interpreter, Dialogue):
        watch.interpreter.begin(launch)
    return await sandbox.exec(spec, watch.started, watch.output, lambda sample: None)


async def _conclude(sandbox: Sandbox, launch: Launch, watch: Watch, result: ExecResult) -> Conclusion:
    from hemra.engine.kept import kept_files

    if launch.keep_home and isinstance(watch.interpreter, FileReader):
        found, _ = await kept_files(sandbox, launch.keep_home)
        watch.interpreter.files(found)
    ours = result.limit is not None or bool(ENDED_BY_US & set(result.flags))
    how = (None, None) if ours else (result.exit_code, result.exit_signal)
    return watch.interpreter.finish(*how)[1]


def _tell(seen: Seen, model: CheckModel, watch: Watch, result: ExecResult, conclusion: Conclusion) -> None:
    seen.calls = [
        msgspec.to_builtins(call) | {"after_ns": call.at_ns - watch.started_ns} for call in model.calls
    ]
    main = model.main
    seen.main, seen.carried_out = len(main), model.carried_out
    seen.told, seen.served, seen.served_all = conclusion.usage, model.served(main), model.served(model.asked)
    seen.final, seen.outcome, seen.reason = conclusion.final_text, conclusion.outcome, conclusion.reason
    seen.flags = [*conclusion.flags, *result.flags]
    seen.recognised, seen.unrecognised = conclusion.recognised, conclusion.unrecognised
    seen.exit_code, seen.exit_signal = result.exit_code, result.exit_signal
    seen.limit = result.limit.name if result.limit is not None else None
    seen.leftover_processes, seen.duration_ns = result.leftover_processes, result.duration_ns
    if model.asked:
        seen.first_request_ns = model.asked[0].at_ns - watch.started_ns
    if not result.started:
        seen.problems = [result.error or "it could not be started"]
    seen.stdout, seen.stderr = watch.tail("stdout"), watch.tail("stderr")


def _tmp(sandbox: Sandbox) -> Path:
    return sandbox.home.parent / "tmp"


def _sizes(folder: Path) -> dict[str, int]:
    """Size of each file below a folder, at most `_MOST_FILES` of them; no link is followed."""
    found: dict[str, int] = {}
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if len(found) == _MOST_FILES:
                return found
            path = Path(place, name)
            with contextlib.suppress(OSError):
                found[path.relative_to(folder).as_posix()] = path.lstat().st_size
    return found


def main() -> int:
    """The part in the watched namespace."""
    from hemra.errors import HemraError

    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    try:
        seen: Any = asyncio.run(carry_out(order))
    except (HemraError, HarnessError) as error:
        seen = {"error": str(error)}
    sys.stdout.buffer.write(msgspec.json.encode(seen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
