"""Output and input of a program in the host sandbox: complete, in order, bounded, and never in the way."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from pathlib import Path
from typing import Any

import pytest

from harnesses.protocol import ProtocolInterpreter
from hemra.recording.terminal import TerminalRecorder
from tests.hemra.sandboxed import Ran, attempt, python, run_in, sandbox, shell, tried

MB = 1 << 20


def resident() -> int:
    """Resident bytes of this process."""
    return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Hash:
    """A blob that is only hashed, so that the test measures memory and not the disk."""

    def __init__(self) -> None:
        self.sum = hashlib.sha256()
        self.size = 0
        self.digest = ""

    def write(self, data: bytes, /) -> None:
        """Take bytes."""
        self.sum.update(data)
        self.size += len(data)

    def commit(self) -> Hash:
        """Done."""
        self.digest = "sha256:" + self.sum.hexdigest()
        return self

    def abort(self) -> None:
        """Nothing to forget."""


def test_300_mb_on_one_line_leave_our_memory_flat(tmp_path: Path) -> None:
    """A harness that prints without end must not take the engine with it, and no byte of it may be lost."""
    size = 300 * MB
    emitted: list[Any] = []
    blobs = {name: Hash() for name in ("stdout", "stderr")}
    recorder = TerminalRecorder(emitted.append, lambda: blobs["stdout"])
    interpreter = ProtocolInterpreter()
    peaks: list[int] = []

    async def on_output(stream: str, chunk: bytes) -> None:
        recorder.feed(stream, chunk)
        emitted.extend(interpreter.feed(stream, chunk))
        if blobs["stdout"].size % (8 * MB) < 65536:
            peaks.append(resident())

    program = shell(f"head -c {size} /dev/zero | tr '\\0' a")
    attempt(tmp_path, ["true"])
    before = resident()
    ran = asyncio.run(tried(tmp_path, program, on_output=on_output))
    recorder.close()
    growth = max(peaks) - before
    print(f"resident memory grew by {growth / MB:.1f} MB while 300 MB went through")
    assert ran.result.stdout_bytes == size == blobs["stdout"].size
    expected = hashlib.sha256()
    for _ in range(300):
        expected.update(b"a" * MB)
    assert blobs["stdout"].sum.hexdigest() == expected.hexdigest()
    assert growth < 16 * MB


def test_a_character_split_over_two_writes_arrives_whole(tmp_path: Path) -> None:
    """Bytes are handed on as they came, on both streams at once."""
    code = (
        "import os, time\nb = 'café ☕ 😀'.encode()\n"
        "for i in range(len(b)): os.write(1, b[i:i+1]); os.write(2, b[i:i+1]); time.sleep(.005)\n"
        "os.write(1, b'\\xf0')"
    )
    ran = attempt(tmp_path, python(code))
    assert ran.stdout == "café ☕ 😀".encode() + b"\xf0"
    assert ran.stderr == "café ☕ 😀".encode()


def test_a_full_stderr_does_not_stop_stdout(tmp_path: Path) -> None:
    """Reading one stream to its end before the other is a deadlock as soon as the other is full."""
    code = "import os\nfor _ in range(80): os.write(2, b'e' * 65536)\nos.write(1, b'done')"
    ran = attempt(tmp_path, python(code), wall_seconds=20)
    assert (ran.stdout, len(ran.stderr)) == (b"done", 80 * 65536)
    assert (ran.result.stderr_bytes, ran.result.exit_code) == (80 * 65536, 0)


def test_what_was_written_just_before_the_end_is_read(tmp_path: Path) -> None:
    """A last line is most of what matters; 60 KiB of it still lie in the pipe when the program is gone."""
    for _ in range(5):
        ran = attempt(tmp_path, python("import os; os.write(1, b'x' * 60000); os._exit(0)"))
        assert len(ran.stdout) == 60000


def test_output_past_its_cap_ends_the_trial_and_loses_nothing(tmp_path: Path) -> None:
    """What was read is delivered to the last byte; what the program would have printed is not waited for."""
    delivered = {"stdout": 0, "stderr": 0}

    async def on_output(stream: str, chunk: bytes) -> None:
        delivered[stream] += len(chunk)

    both = "echo a; echo b >&2; yes & yes >&2 & wait"
    ran = asyncio.run(tried(tmp_path, shell(both), on_output=on_output, output_bytes=3 * MB))
    limit = ran.result.limit
    assert limit is not None
    assert (limit.name, limit.value, limit.unit) == ("output_bytes", 3 * MB, "bytes")
    assert 3 * MB < limit.measured <= 3 * MB + 65536
    assert delivered == {"stdout": ran.result.stdout_bytes, "stderr": ran.result.stderr_bytes}
    assert min(delivered.values()) > 0
    assert sum(delivered.values()) < 6 * MB


def test_output_up_to_its_cap_is_fine(tmp_path: Path) -> None:
    """The cap itself may be reached."""
    ran = attempt(tmp_path, python("import os; os.write(1, b'x' * 5000)"), output_bytes=5000)
    assert (ran.result.limit, ran.result.exit_code, len(ran.stdout)) == (None, 0, 5000)


def test_a_program_that_never_pauses_does_not_stop_the_timers(tmp_path: Path) -> None:
    """A reader that always finds more would keep the loop, and the time limit, from running."""

    async def on_output(stream: str, chunk: bytes) -> None:
        return

    ran = asyncio.run(tried(tmp_path, ["yes"], on_output=on_output, wall_seconds=0.5))
    assert ran.result.limit is not None
    assert ran.result.limit.name == "wall_seconds"
    assert ran.result.limit.measured < 1.5
    assert ran.result.duration_ns < 3e9


def test_a_slow_receiver_holds_the_program_back(tmp_path: Path) -> None:
    """Without back-pressure everything that is printed while the disk is slow lies in our memory."""
    code = (
        "import os\nfor i in range(200):\n    os.write(1, b'x' * 65536)\n    open('count', 'w').write(str(i))"
    )
    box = sandbox(tmp_path)
    written: list[int] = []

    async def go() -> Ran:
        await box.create()

        async def on_output(stream: str, chunk: bytes) -> None:
            if not written:
                await asyncio.sleep(0.4)
                written.append(int((box.workspace / "count").read_text(encoding="utf-8") or 0))

        ran = await run_in(box, python(code), on_output=on_output)
        await box.destroy()
        return ran

    ran = asyncio.run(go())
    assert written[0] <= 4
    assert ran.result.stdout_bytes == 200 * 65536


def test_output_is_handed_over_one_chunk_at_a_time(tmp_path: Path) -> None:
    """A receiver that is entered twice at once mixes its streams up."""
    inside = 0
    most = 0

    async def on_output(stream: str, chunk: bytes) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.001)
        inside -= 1

    code = "import os\nfor _ in range(50): os.write(1, b'o'); os.write(2, b'e')"
    asyncio.run(tried(tmp_path, python(code), on_output=on_output))
    assert most == 1


@pytest.mark.parametrize("failing", ["on_output", "on_start"])
def test_what_a_receiver_raises_comes_out_after_the_end(tmp_path: Path, failing: str) -> None:
    """A full disk ends the trial, leaves no process behind, and is not lost on the way."""

    async def go() -> None:
        box = sandbox(tmp_path)
        await box.create()

        async def fail(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        if failing == "on_output":
            with pytest.raises(OSError, match="No space left"):
                await run_in(box, shell("setsid sleep NAP & yes"), on_output=fail)
        else:
            from hemra.sandboxes.base import ExecSpec

            spec = ExecSpec(argv=["sleep", "600"], env=box.environment(), cwd=str(box.workspace))
            with pytest.raises(OSError, match="No space left"):
                await box.exec(spec, fail, fail, lambda _: None)
        assert await box.stop() == 0
        await box.destroy()

    start = time.monotonic()
    asyncio.run(go())
    assert time.monotonic() - start < 4


def test_stdin_is_empty_unless_it_is_given(tmp_path: Path) -> None:
    """A program that inherits an open stdin waits for it for ever, with no output and no load."""
    ran = attempt(tmp_path, shell("cat; echo ok"), wall_seconds=10)
    assert ran.stdout == b"ok\n"
    assert ran.result.duration_ns < 5e9


def test_stdin_is_closed_after_the_prompt(tmp_path: Path) -> None:
    """The end of the prompt is the end of the input, for ten megabytes as for none."""
    for prompt in (b"", b"hello \xff\0", b"x" * 10_000_000):
        ran = attempt(tmp_path, ["wc", "-c"], stdin=prompt, wall_seconds=20)
        assert int(ran.stdout) == len(prompt)
        assert ran.result.flags == []


def test_a_prompt_that_nobody_reads_holds_nobody_up(tmp_path: Path) -> None:
    """A writer that waits for its reader must not wait longer than the reader lives."""
    ran = attempt(tmp_path, shell("sleep 0.2; echo ok"), stdin=b"x" * 10_000_000, wall_seconds=10)
    assert (ran.stdout, ran.result.exit_code, ran.result.flags) == (b"ok\n", 0, ["stdin_unread"])
    closed = attempt(tmp_path, shell("exec 0<&-; sleep 0.2; echo ok"), stdin=b"x" * 10_000_000)
    assert (closed.stdout, closed.result.flags) == (b"ok\n", ["stdin_unread"])


def test_no_output_in_all_the_time_is_told(tmp_path: Path) -> None:
    """Silence to the very end often means that a program waits for something that never comes."""
    assert attempt(tmp_path, ["sleep", "60"], wall_seconds=0.3).result.flags == ["no_output"]
    assert attempt(tmp_path, shell("echo x; sleep 60"), wall_seconds=0.3).result.flags == []


def test_a_terminal_is_one_and_has_its_size(tmp_path: Path) -> None:
    """Programs that draw need a real terminal: a size, a controlling terminal, one stream."""
    code = (
        "import os, sys\nprint(os.isatty(1), os.isatty(2), os.isatty(0), os.get_terminal_size(1))\n"
        "open('/dev/tty', 'w').write('to the terminal\\n')\n"
        "print(os.environ['TERM'], os.tcgetpgrp(1) == os.getpid())\n"
        "os.write(2, b'err\\n')"
    )
    ran = attempt(tmp_path, python(code), pty=(100, 30))
    assert ran.stderr == b""
    assert ran.stdout.decode().splitlines() == [
        "True True False os.terminal_size(columns=100, lines=30)",
        "to the terminal",
        "xterm-256color True",
        "err",
    ]
    assert b"\r\n" in ran.stdout
    assert ran.result.exit_code == 0


def test_the_end_of_a_terminal_loses_nothing(tmp_path: Path) -> None:
    """Linux ends a terminal with an error, not with an end of file; what was written before it counts."""
    for _ in range(5):
        ran = attempt(tmp_path, python("import os; os.write(1, b'x' * 3000)"), pty=(80, 24))
        assert ran.stdout == b"x" * 3000
    big = attempt(tmp_path, python("import sys; sys.stdout.write('y' * 500_000)"), pty=(80, 24))
    assert big.stdout == b"y" * 500_000


def test_who_holds_the_terminal_open_is_ended(tmp_path: Path) -> None:
    """A background child on the terminal must not hold the trial up."""
    start = time.monotonic()
    ran = attempt(tmp_path, shell("trap '' HUP; setsid sleep NAP & echo done"), pty=(80, 24))
    assert time.monotonic() - start < 3
    assert ran.stdout == b"done\r\n"
    assert ran.result.leftover_processes == 1


def test_a_terminal_program_gets_its_prompt_by_stdin(tmp_path: Path) -> None:
    """With a terminal for the output the prompt still comes through a pipe that is closed after it."""
    ran = attempt(tmp_path, shell("cat; tty <&2 | head -c 9"), pty=(80, 24), stdin=b"prompt\n")
    assert ran.stdout == b"prompt\r\n/dev/pts/"


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    """A descriptor a trial adds up to the limit of open files in a long run."""
    attempt(tmp_path, ["true"])
    before = len(os.listdir("/proc/self/fd"))
    for options in ({}, {"pty": (80, 24)}, {"stdin": b"x" * 500_000}, {"wall_seconds": 0.05}):
        attempt(tmp_path, ["sleep", "0.1"], **options)
        attempt(tmp_path, ["no-such-program"], **options)
    assert len(os.listdir("/proc/self/fd")) == before
