"""The recorder: the one process that writes a live stream.

    python -m eventlog.recorder --store DIR --stream NAME --holder-pid PID

One thread: wait for a request, take all others that wait, commit them as one group (one write, one sync),
answer them all. What arrives while a sync is under way goes into the next group. An answer is
sent only after its events are on disk; what was sent twice is recorded once, because the stream's writer
knows the numbers.

It lives as long as one of its holders does: the process that started it, and each that said hello and not
yet bye. When none is left and nothing came for a while it closes the stream and ends; SIGTERM does the same
at once.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import math
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from eventlog.anchor import SYNC_S
from eventlog.bus import address_of
from eventlog.bus_messages import Answer, BadRequest, Kind, Request, Status, pack_answer, unpack_request
from eventlog.bus_server import Received, Server
from eventlog.errors import DamageError, LogError, RecorderRefused
from eventlog.holders import Holders
from eventlog.pace import Pace
from eventlog.store import Store
from eventlog.stream import Incoming, StreamWriter

#: How long a wait for requests may last: signals and dead holders are noticed in between.
_TICK_S = 0.25
#: Without holders it ends after this long without a request.
LINGER_S = 2.0
#: Where a commit takes GATHER_FROM_S or more, a group waits GATHER_SHARE of that, at most GATHER_MAX_S, for producers
#: that are about to send again. On faster disks the wait would cost more than the sync that it saves.
GATHER_FROM_S = 0.001
GATHER_SHARE = 0.3
GATHER_MAX_S = 0.002
#: Followers are told of the first commit at once and of those that come on its heels after so long at most.
WAKE_S = 0.0004
#: Thresholds of garbage collection: a group of requests makes fewer objects than the first.
_COLLECT = (50_000, 10, 10)


class Recorder:
    """Serves one stream until it is finished, told to end, or nobody needs it any more."""

    def __init__(self, writer: StreamWriter, server: Server, holders: Holders) -> None:
        self._writer = writer
        self._server = server
        self._holders = holders
        self._stopping = False
        self._ended = False
        self._last_request = time.monotonic()
        self._commits = 0
        self._unwoken, self._woken_at = False, -math.inf
        self._last_group: set[bytes] = set()
        self._group_before: set[bytes] = set()
        self._commit_s = 0.0
        self._pace = Pace()

    def stop(self, *_: object) -> None:
        """End after the group in hand (a signal handler)."""
        self._stopping = True

    def run(self) -> None:
        """Serve until the end. The stream is closed and every socket too when this returns."""
        try:
            while not self._stopping:
                requests = self._server.receive(self._patience_s(), self._pace.awake_until())
                if requests:
                    self.serve(self._gathered(requests))
                if self._unwoken and (not requests or time.monotonic() - self._woken_at >= WAKE_S):
                    self._wake()
                elif not requests:
                    self._quiet()
                    if self._nobody_left():
                        return
        finally:
            self.close()

    def _quiet(self) -> None:
        """Do what can wait for a moment without requests."""
        self._writer.settle()
        self._writer.seal_full()

    def _patience_s(self) -> float:
        if self._unwoken:
            return 0.0
        return _TICK_S if self._writer.settled else SYNC_S

    def _wake(self) -> None:
        """Tell followers: when nothing waits to be committed, and now and then while something does."""
        self._unwoken, self._woken_at = False, time.monotonic()
        self._server.wake()

    def close(self) -> None:
        """Close stream and sockets. The stream is not finished by that."""
        try:
            if not self._ended:
                self._writer.close()
        finally:
            self._server.close()

    def _gathered(self, requests: list[Received]) -> list[Received]:
        """The group, after a short wait for producers that took part in one of the last two groups but not in this.

        Otherwise producers that wait for their answers fall into two halves that take turns, and each sync serves
        only half of them. The wait is a fraction of what a commit takes, so it never costs more than it can save.
        """
        present = {item.body[2:18] for item in requests}
        missing = (self._last_group | self._group_before) - present
        if missing and self._commit_s >= GATHER_FROM_S:
            time.sleep(min(GATHER_MAX_S, self._commit_s * GATHER_SHARE))
            more = self._server.receive(0)
            present.update(item.body[2:18] for item in more)
            requests += more
        self._group_before, self._last_group = self._last_group, present
        return requests

    def _nobody_left(self) -> bool:
        quiet = time.monotonic() - self._last_request
        return quiet >= LINGER_S and not self._holders.any_alive()

    def serve(self, received: Sequence[Received]) -> None:
        """Answer one group of requests: those that append first, as one commit."""
        appends: list[tuple[Received, Request]] = []
        later: list[tuple[Received, Request]] = []
        for item in received:
            try:
                request = unpack_request(item.body)
            except BadRequest as error:
                self._answer(item, Answer(Status.BAD, text=str(error)))
                continue
            (appends if request.kind is Kind.APPEND else later).append((item, request))
        if appends:
            self._commit(appends)
        for item, request in later:
            self._other(item, request)
        self._server.send_answers()
        self._last_request = time.monotonic()

    def _commit(self, appends: Sequence[tuple[Received, Request]]) -> None:
        batch = [Incoming(request.producer, request.first, request.lines) for _, request in appends]
        began = time.monotonic()
        try:
            acks = self._writer.commit(batch)
        except RecorderRefused as error:
            for item, _ in appends:
                self._answer(item, Answer(Status.NO_ROOM, text=str(error)))
            return
        for (item, _), ack in zip(appends, acks, strict=True):
            if ack.error:
                self._answer(item, Answer(Status.BAD, text=ack.error))
            else:
                self._answer(item, Answer(Status.OK, ack.first_seq or 0, ack.last_seq or 0, ack.duplicates))
        self._commits += 1
        self._commit_s += (time.monotonic() - began - self._commit_s) / 8
        self._server.send_answers()
        self._pace.beat()
        self._unwoken = True

    def _other(self, item: Received, request: Request) -> None:
        if self._stopping:
            self._answer(item, Answer(Status.CLOSING))
            return
        match request.kind:
            case Kind.HELLO:
                self._holders.add(request.producer, request.pid)
                self._answer(item, Answer(Status.OK, last=self._writer.last_seq, text=self._about()))
            case Kind.BYE:
                self._holders.remove(request.producer)
                self._answer(item, Answer(Status.OK))
            case Kind.STATUS:
                self._answer(item, Answer(Status.OK, last=self._writer.last_seq, text=self._about()))
            case _:
                self._finish(item)

    def _finish(self, item: Received) -> None:
        """Seal everything and end; also where sealing fails: another recorder can try again."""
        self._stopping = self._ended = True
        try:
            self._writer.finish()
        except (LogError, OSError) as error:
            status = Status.BAD if isinstance(error, DamageError) else Status.NO_ROOM
            self._answer(item, Answer(status, text=f"cannot seal {self._writer.path}: {error}"))
            return
        self._server.wake()
        self._answer(item, Answer(Status.OK, last=self._writer.last_seq))

    def _answer(self, item: Received, answer: Answer) -> None:
        self._server.answer_later(item, pack_answer(answer))

    def _about(self) -> str:
        about: dict[str, Any] = {
            "pid": os.getpid(),
            "stream": self._writer.name,
            "last_seq": self._writer.last_seq,
            "commits": self._commits,
            "holders": self._holders.pids(),
            "cut": self._writer.recovered.cut,
        }
        return json.dumps(about)


def _report(**what: Any) -> None:
    """Tell the starter the one thing it waits for, then let go of its pipe."""
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(what).encode() + b"\n")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a recorder; 0 after an orderly end, 1 when it could not start (its one line says why)."""
    parser = argparse.ArgumentParser(prog="python -m eventlog.recorder", description=__doc__)
    parser.add_argument("--store", required=True, help="the store's directory")
    parser.add_argument("--stream", required=True, help="the stream to write")
    parser.add_argument("--holder-pid", required=True, type=int, help="process that needs this recorder")
    options = parser.parse_args(arguments)
    for name in (signal.SIGINT, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    try:
        store = Store.open(options.store)
        writer = StreamWriter.open(store, options.stream)
    except DamageError as error:
        _report(error="DamageError", path=str(error.path), offset=error.offset, cause=error.cause)
        return 1
    except (LogError, OSError) as error:
        _report(error=type(error).__name__, message=str(error))
        return 1
    try:
        server = Server(address_of(store.path, options.stream))
    except (LogError, OSError) as error:
        writer.close()
        _report(error=type(error).__name__, message=str(error))
        return 1
    recorder = Recorder(writer, server, Holders(options.holder_pid))
    signal.signal(signal.SIGTERM, recorder.stop)
    # What is loaded by now stays: no collection looks at it again. The rest makes no cycles in passing, so that
    # collecting in the middle of a commit would cost producers their time for nothing.
    gc.freeze()
    gc.set_threshold(*_COLLECT)
    _report(ready=True, pid=os.getpid())
    try:
        recorder.run()
    except (LogError, OSError) as error:
        print(f"recorder: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
