"""The harness's own part of a try: started in its sandbox, listened to, ended by what may end it, read to its end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from eventlog.schemas.conversation import (
    MessageRecorded,
    ModelResponded,
    NoteRecorded,
    ToolCalled,
    ToolReturned,
)
from eventlog.schemas.trials import HarnessExited, HarnessStarted, SandboxLost
from harnesses.base import TERMINALS, Dialogue, FileReader
from hemra.engine.intake import Intake
from hemra.engine.kept import kept_files
from hemra.engine.phases import one_line
from hemra.sandboxes.base import ENDED_BY_US, ExecSpec, SandboxError

if TYPE_CHECKING:
    from eventlog.blobs import BlobStore
    from eventlog.schemas.base import EventData
    from harnesses.base import Conclusion, Launch
    from hemra.engine.conduct import Conduct
    from hemra.engine.context import Job, TrialLog
    from hemra.engine.served import Served
    from hemra.engine.stop import Stop
    from hemra.recording.tmux import PaneRecorder
    from hemra.sandboxes.base import ExecResult, Sandbox

#: Columns and rows of a harness's terminal.
PTY_SIZE = (120, 40)
#: What the gateway tells of a trial whose calls it sees. A harness's own word for the same would be a second record.
_OF_THE_GATEWAY = (ToolCalled, ToolReturned, ModelResponded)


class HarnessRun:
    """One harness process of a try: `carry_out` once, then read what is known of it.

    `result` is how the process ended, `conclusion` what the adapter makes of it. `unready`, `lost`, `unwatched` (it
    ended the process that watched it) and `cancelled` are reasons in one line, null where it was not so. `kept`:
    files of its HOME that the adapter asked for.
    """

    def __init__(
        self,
        job: Job,
        try_no: int,
        log: TrialLog,
        sandbox: Sandbox,
        blobs: BlobStore,
        conduct: Conduct,
        served: Served,
    ) -> None:
        self._job, self._try_no, self._log, self._sandbox = job, try_no, log, sandbox
        self._conduct, self._served = conduct, served
        self._interpreter = job.harness.interpreter()
        self._size = PTY_SIZE if job.harness.terminal == "pty" else None
        self.intake = Intake(
            log, self._interpreter, blobs, self._size, hear=conduct.take, wanted=self._wanted
        )
        self.result: ExecResult | None = None
        self.conclusion: Conclusion | None = None
        self.unready: str | None = None
        self.lost: str | None = None
        self.unwatched: str | None = None
        self.cancelled: str | None = None
        self.flags: list[str] = []
        self.kept: dict[str, bytes] = {}
        self._blobs = blobs
        self._panes: PaneRecorder | None = None

    def _wanted(self, event: EventData) -> bool:
        """Whether what the harness tells is to be recorded: not what the gateway records already."""
        if not self._served.tells_conversation:
            return True
        return not isinstance(event, _OF_THE_GATEWAY) and not (
            isinstance(event, MessageRecorded) and not event.final
        )

    async def carry_out(self, launch: Launch, environment: dict[str, str], stop: Stop) -> None:
        """Run it to its end. `environment` is what it gets besides the sandbox's own and the launch's."""
        job, sandbox = self._job, self._sandbox
        if isinstance(self._interpreter, Dialogue):
            self._interpreter.begin(launch)
        spec = ExecSpec(
            argv=launch.argv, env=sandbox.environment() | environment | launch.env,
            cwd=sandbox.inside(sandbox.workspace),
            stdin=launch.stdin if self.intake.speech is None else self.intake.speech, pty=self._size,
            wall_seconds=job.limits.wall_seconds, output_bytes=job.limits.output_bytes,
            ended=self.intake.ended,
        )  # fmt: skip
        following = self._follow(launch)
        try:
            self.result = await self._execute(spec, launch.prompt, stop)
        except SandboxError as error:
            self._lose(one_line(error), **error.evidence)
            return
        finally:
            if following is not None:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
            await self._served.close()
        if not self.result.started:
            self.unready = self.result.error or "the harness could not be started"
            return
        await self._keep(launch)
        self._conclude(self.result)

    def _follow(self, launch: Launch) -> asyncio.Task[None] | None:
        """Record the terminals that the harness keeps itself, while it runs."""
        if not launch.terminals:
            return None
        from hemra.recording.tmux import PaneRecorder

        place = self._sandbox.harness_dir / TERMINALS
        self._panes = PaneRecorder(place, self._log.redactor.stream, self._log.emit, self._blobs.writer)
        return asyncio.ensure_future(self._panes.follow())

    def store(self) -> None:
        """Keep all output and end the recordings (blocking), once nothing of the try runs; OSError when the disk
        refuses."""
        self.intake.store()
        if self._panes is not None:
            self._panes.close()

    def abandon(self) -> None:
        """Forget what was not stored."""
        self.intake.abandon()
        if self._panes is not None:
            self._panes.abort()

    async def _execute(self, spec: ExecSpec, prompt: str, stop: Stop) -> ExecResult:
        """Run the harness to its end, or end it when the run, its conduct or its budget says so."""

        async def on_start(pid: int) -> None:
            self.intake.open()
            self._log.emit(
                HarnessStarted(
                    try_no=self._try_no, argv=spec.argv, environment=sorted(spec.env), cwd=spec.cwd, pid=pid,
                    prompt=prompt,
                )
            )  # fmt: skip

        work = asyncio.ensure_future(self._sandbox.exec(spec, on_start, self.intake.output, self._log.emit))
        wish = asyncio.ensure_future(stop.running.wait())
        reasons = [self._conduct.over, *self._served.over]
        if self.intake.speech is not None:
            reasons.append(self.intake.speech.over)
        over = [asyncio.ensure_future(event.wait()) for event in reasons]
        try:
            await asyncio.wait({work, wish, *over}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                if not any(event.done() for event in over):
                    self.cancelled = stop.reason
                await self._sandbox.stop()
            return await work
        finally:
            for waiting in (wish, *over, work):
                waiting.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _keep(self, launch: Launch) -> None:
        """Take what the adapter wants of HOME, and show it to the adapter."""
        if not launch.keep_home:
            return
        self.kept, problems = await kept_files(self._sandbox, launch.keep_home)
        for text in problems:
            self._log.emit(NoteRecorded(level="warning", code="home_file_not_kept", text=text))
        if isinstance(self._interpreter, FileReader):
            self._interpreter.files(self.kept)

    def _conclude(self, result: ExecResult) -> None:
        result.limit = result.limit or self._served.fired or self._conduct.fired
        # How we ended it says nothing about the harness.
        ours = result.limit is not None or self.cancelled is not None or bool(ENDED_BY_US & set(result.flags))
        how = (None, None) if ours else (result.exit_code, result.exit_signal)
        self.conclusion = self.intake.conclude(*how)
        self._log.emit(
            HarnessExited(
                try_no=self._try_no, exit_code=result.exit_code, exit_signal=result.exit_signal,
                duration_ns=result.duration_ns, stdout_bytes=result.stdout_bytes,
                stderr_bytes=result.stderr_bytes, leftover_processes=result.leftover_processes,
                flags=result.flags, peak_memory_bytes=result.peak_memory_bytes, cpu_ns=result.cpu_ns,
            )
        )  # fmt: skip
        if "slow_exit" in result.flags and result.ended_ns is not None:
            wait = result.duration_ns - result.ended_ns
            text = f"exited {wait / 1e9:.1f} s after it had said that it was done; its time ends at that word"
            self._log.emit(NoteRecorded(level="info", code="slow_exit", text=text, details={"wait_ns": wait}))
        self.flags += [*self._conduct.flags, *self._served.flags(self.conclusion)]
        if result.leftover_processes:
            self.flags.append("leftover_processes")
        if "launcher_killed" in result.flags:
            # Else a model could take what it failed at out of the scores, and have it run again, by one signal.
            self.unwatched = result.error
        if "launcher_lost" in result.flags:
            self._lose(
                result.error or "the process that watched the harness was killed", stdout=result.stdout_bytes
            )

    def _lose(self, reason: str, **evidence: Any) -> None:
        """The sandbox went away under the harness: how that ended is not known, so nothing is scored."""
        self.lost = reason
        self._log.emit(SandboxLost(try_no=self._try_no, reason=reason, evidence=dict(evidence)))
