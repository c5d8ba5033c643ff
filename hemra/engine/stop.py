"""How a run is stopped before its end: in order by the first signal, at once by the second."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

#: Signals that end a run in order; the exit code is 128 + number.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """The wish to stop a run. Nothing starts once `wanted`; running trials end once `running` is set.

    `reason` is one line for the record, `signal` the number of the signal, `failure` an error that is
    to be raised when all is tidied up.
    """

    def __init__(self) -> None:
        self.wanted = asyncio.Event()
        self.running = asyncio.Event()
        self.reason: str | None = None
        self.signal: int | None = None
        self.failure: Exception | None = None

    def request(
        self,
        reason: str,
        *,
        end_running: bool,
        signal_number: int | None = None,
        failure: Exception | None = None,
    ) -> None:
        """Ask for the stop. The first reason counts; a later request can only make it stricter."""
        if self.reason is None:
            self.reason = reason
        self.signal = self.signal or signal_number
        self.failure = self.failure or failure
        self.wanted.set()
        if end_running:
            self.running.set()


class Interrupts:
    """Turns SIGINT, SIGTERM and SIGHUP into a stop; the second one ends the process at once.

    Signals are handled where Python handles them, not in the loop: a second Ctrl-C must work while the
    loop is busy or stuck, and a first one before there is a loop. Outside the main thread nothing can be
    handled, and nothing is.
    """

    def __init__(self, stop: Stop, told: Callable[[str], None], run: str) -> None:
        self._stop = stop
        self._run = run
        self._told = told
        self._loop: asyncio.AbstractEventLoop | None = None
        self._kill_now: Callable[[], None] = lambda: None
        self._first: int | None = None
        self._before: dict[int, Any] = {}

    def attach(self, kill_now: Callable[[], None]) -> None:
        """From the running loop: stops are asked for in it from now on; a second signal calls `kill_now`."""
        self._loop = asyncio.get_running_loop()
        self._kill_now = kill_now

    def detach(self) -> None:
        """The loop is about to end; a signal from now on only sets the wish."""
        self._loop = None

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                # What is ignored stays ignored: nohup and shells without job control rely on it.
                if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGTERM:
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._first is not None:
            try:
                self._kill_now()
            finally:
                _last_words(self._run)
                os._exit(128 + number)
        self._first = number
        if self._loop is None:
            self._in_order(number)
        else:
            self._loop.call_soon_threadsafe(self._in_order, number)

    def _in_order(self, number: int) -> None:
        name = signal.Signals(number).name
        self._stop.request(f"{name} received", end_running=True, signal_number=number)
        self._told(f"{name}: ending the running trials; once more to leave at once")


def _last_words(run: str) -> None:
    """Said where nothing else gets a turn any more: what was drawn on the terminal is taken off, its cursor is back."""
    drawn = "\r\x1b[K\x1b[?25h" if os.isatty(2) else ""
    with contextlib.suppress(OSError):
        os.write(2, f"{drawn}left at once; `hemra resume {run}` goes on\n".encode())
