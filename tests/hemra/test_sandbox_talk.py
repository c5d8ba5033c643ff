"""A program that is talked to while it runs, in the host sandbox: said in time, closed in time, never in the way."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from hemra.sandboxes.base import Input
from tests.hemra.sandboxed import Ran, python, run_in, sandbox, tried

#: Answers each line until its input ends, then says so.
ECHO = """
import sys
for line in sys.stdin:
    print('heard ' + line, end='', flush=True)
print('over', flush=True)
"""


class Talk(Input):
    """Says the next word whenever something is heard, and then no more."""

    def __init__(self, *words: bytes, first: bytes = b"hello\n", last: bytes = b"") -> None:
        self._words, self._last = list(words), last
        self._said: asyncio.Queue[bytes] = asyncio.Queue()
        self._said.put_nowait(first)
        self.heard = b""
        self.closed = False
        self.farewells = 0

    async def read(self) -> bytes:
        """The next word."""
        return await self._said.get()

    def close(self) -> None:
        """Remember."""
        self.closed = True

    async def farewell(self) -> None:
        """Say the last word and wait for ever, as for an agent that does not stop."""
        self.farewells += 1
        self._said.put_nowait(self._last)
        await asyncio.Event().wait()

    async def on_output(self, stream: str, chunk: bytes) -> None:
        """Hear something, and say the next word or that there is none."""
        self.heard += chunk
        if stream == "stdout" and chunk.startswith(b"heard"):
            self._said.put_nowait(self._words.pop(0) if self._words else b"")


def talked(root: Path, program: list[str], talk: Talk, **options: object) -> Ran:
    """The program run to its end, talked to."""
    return asyncio.run(tried(root, program, stdin=talk, on_output=talk.on_output, **options))


def test_what_is_said_depends_on_what_was_heard(tmp_path: Path) -> None:
    """A program that is asked a second question only after its first answer would never be asked."""
    talk = Talk(b"again\n", b"x" * 300_000 + b"\n")
    ran = talked(tmp_path, python(ECHO), talk, wall_seconds=20)
    assert talk.heard == b"heard hello\nheard again\nheard " + b"x" * 300_000 + b"\nover\n"
    assert (ran.result.exit_code, ran.result.flags, talk.closed) == (0, [], True)


def test_a_program_that_reads_nothing_holds_nobody_up(tmp_path: Path) -> None:
    """A writer that waits for its reader must not wait longer than the reader lives."""
    talk = Talk(first=b"x" * 10_000_000)
    ran = talked(tmp_path, python("import time; time.sleep(0.2)"), talk, wall_seconds=10)
    assert (ran.result.exit_code, ran.result.flags, talk.closed) == (0, ["stdin_unread"], True)


def test_a_program_that_ends_while_nothing_is_said_left_nothing_unread(tmp_path: Path) -> None:
    """Every trial that was talked to would carry a flag that says nothing."""
    talk = Talk()
    ran = talked(tmp_path, python("import sys; sys.stdin.readline()"), talk, wall_seconds=10)
    assert (ran.result.exit_code, ran.result.flags) == (0, [])


def test_its_time_is_up_and_it_is_asked_to_stop_first(tmp_path: Path) -> None:
    """An agent that is killed without a word cannot tell that its turn was broken off."""
    code = (
        "import sys\nfor line in sys.stdin:\n    if line == 'stop\\n': print('stopped', flush=True); break\n"
    )
    talk = Talk(last=b"stop\n")
    ran = talked(tmp_path, python(code), talk, wall_seconds=0.5)
    assert talk.heard == b"stopped\n"
    assert ran.result.limit is not None
    assert (ran.result.limit.name, ran.result.exit_code) == ("wall_seconds", 0)


def test_one_that_does_not_stop_when_asked_is_made_to(tmp_path: Path) -> None:
    """The last word must not become a way to live on."""
    began = time.monotonic()
    ran = talked(tmp_path, python("import time; time.sleep(60)"), Talk(), wall_seconds=0.3)
    assert (ran.result.exit_signal, time.monotonic() - began < 8) == (15, True)


def test_ended_at_once_it_is_asked_nothing(tmp_path: Path) -> None:
    """A program that fills the disk would be given time to go on."""
    talk = Talk()
    ran = talked(tmp_path, python("while True: print('y' * 9999)"), talk, output_bytes=100_000)
    assert (talk.farewells, ran.result.exit_signal) == (0, 9)


def test_a_server_that_ignores_the_end_of_its_input_is_ended_without_blame(tmp_path: Path) -> None:
    """Some agents serve on when nobody talks to them any more: their work is done, and must count."""
    talk = Talk()
    code = "import sys, time; sys.stdin.readline(); print('heard', flush=True); time.sleep(60)"

    async def go() -> Ran:
        box = sandbox(tmp_path)
        await box.create()
        try:
            return await run_in(
                box, python(code), stdin=talk, on_output=talk.on_output, hang_grace_seconds=0.3,
                ended=lambda: b"heard" in talk.heard, wall_seconds=20,
            )  # fmt: skip
        finally:
            await box.destroy()

    result = asyncio.run(go()).result
    assert (result.flags, result.limit) == (["stdin_close_ignored"], None)
    assert result.ended_ns is not None


def test_it_is_talked_to_on_a_terminal_too(tmp_path: Path) -> None:
    """Its output would be a terminal's and its input closed from the start."""
    talk = Talk()
    ran = talked(tmp_path, python(ECHO), talk, pty=(80, 24), wall_seconds=20)
    assert (talk.heard, ran.result.exit_code) == (b"heard hello\r\nover\r\n", 0)
