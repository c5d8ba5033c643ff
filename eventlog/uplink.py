"""A producer's way to its stream's recorder: connected, restarted, asked again until there is an answer.

A request that got no answer is sent again, to the same recorder or to the next one. That is harmless for
appends, because the recorder knows the numbers of what it has recorded, and for everything else by its
nature.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from eventlog import anchor as anchors
from eventlog.bus import Address, address_of
from eventlog.bus_messages import Answer, BadRequest, Kind, Status, pack_hello, pack_plain, unpack_answer
from eventlog.bus_peer import Requester, Unreachable
from eventlog.errors import RecorderUnavailable, StreamBusy
from eventlog.lock import Lock
from eventlog.recorder_start import start_recorder
from eventlog.store import Store

#: How long somebody else may hold the stream without answering as a recorder before StreamBusy is raised.
BUSY_S = 10.0
#: Recorders that may die while they come up before that is taken for the answer.
MAX_STARTS = 3
#: Pause between two looks for a recorder that somebody else is starting or ending.
_PROBE_S = 0.02
#: A finish seals the whole stream: it may take this long as long as the recorder lives.
_FINISH_S = 3600.0


class Uplink:
    """Asks one stream's recorder. Not thread-safe: the client lets one thread at a time in."""

    def __init__(self, store: Store, stream: str, *, may_start: bool, holder: bytes | None = None) -> None:
        """Prepare. Uplinks of one client share its `holder`: the recorder counts the client once."""
        self._store = store
        self._stream = stream
        self._may_start = may_start
        self._address: Address = address_of(store.path, stream)
        self.holder = os.urandom(16) if holder is None else holder
        self._requester: Requester | None = None

    def connect(self, deadline: float) -> Answer:
        """Reach the recorder, starting it where allowed, and say hello.

        Raises RecorderUnavailable, StreamBusy, and what `start_recorder` raises.
        """
        self.drop()
        busy_until, failed_starts = time.monotonic() + BUSY_S, 0
        while True:
            try:
                return self._hello(deadline)
            except Unreachable as reason:
                cause = str(reason)
            try:
                if self._may_start:
                    self._start(deadline)
                    continue
            except StreamBusy:
                # Somebody writes the stream: a recorder that comes up or ends, or a writer that will never
                # answer.
                if time.monotonic() >= min(busy_until, deadline):
                    raise
                failed_starts = 0  # one that came up elsewhere shows that recorders do
            except RecorderUnavailable:
                # Killed while it came up, or it never will: a few starts tell.
                failed_starts += 1
                if failed_starts >= MAX_STARTS:
                    raise
            if time.monotonic() >= deadline:
                raise RecorderUnavailable(f"no recorder of {self._stream} answers: {cause}")
            time.sleep(_PROBE_S)

    def _hello(self, deadline: float) -> Answer:
        requester = Requester(self._address.requests, deadline)
        try:
            answer = _read(requester.request(pack_hello(self.holder, os.getpid()), deadline))
        except BaseException:
            requester.close()
            raise
        if answer.status is not Status.OK:
            requester.close()
            raise Unreachable(answer.text or "the recorder is ending")
        self._requester = requester
        return answer

    def _start(self, deadline: float) -> None:
        """Start a recorder, unless another process does just that: then wait for it and look again."""
        try:
            lock = Lock(self._address.start, max(0.0, deadline - time.monotonic()))
        except StreamBusy:
            raise RecorderUnavailable(
                f"another process has been starting the recorder of {self._stream} all the time"
            ) from None
        try:
            try:
                Requester(self._address.requests, deadline).close()
            except Unreachable:
                start_recorder(self._store, self._stream, holder_pid=os.getpid(), deadline=deadline)
        finally:
            lock.release()

    def ask(
        self,
        request: bytes,
        deadline: float,
        done: Callable[[], bool] | None = None,
        awake_until: float = 0.0,
    ) -> Answer | None:
        """The answer to `request`, asked again after every lost connection until `deadline` (monotonic).

        Before `awake_until` it is awaited without sleeping. After a loss `done` is asked first: when it says that
        nothing is left to do the result is None. Raises RecorderUnavailable.
        """
        while True:
            try:
                if self._requester is None:
                    self.connect(deadline)
                assert self._requester is not None
                answer = _read(self._requester.request(request, deadline, awake_until))
                if answer.status is not Status.CLOSING:
                    return answer
                cause = "it is ending"
            except Unreachable as reason:
                cause = str(reason)
            self.drop()
            if done is not None and done():
                return None
            if time.monotonic() >= deadline:
                raise RecorderUnavailable(f"the recorder of {self._stream} does not answer: {cause}")

    def post(self, request: bytes, deadline: float) -> int:
        """Send without awaiting the answer; the number for `collect`. Connects where that is needed.

        Raises Unreachable when the connection is lost (then the caller drops it and posts everything again that was
        not collected), and what `connect` raises.
        """
        if self._requester is None:
            self.connect(deadline)
        assert self._requester is not None
        return self._requester.send(request)

    def collect(self, number: int, deadline: float) -> Answer:
        """The answer to what was posted as `number` on this connection. Raises Unreachable."""
        if self._requester is None:
            raise Unreachable("not connected")
        return _read(self._requester.receive(number, deadline))

    def arrived(self, number: int) -> Answer | None:
        """As `collect`, without waiting: None when the answer is not there yet."""
        if self._requester is None:
            raise Unreachable("not connected")
        raw = self._requester.poll(number)
        return None if raw is None else _read(raw)

    @property
    def connected(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._requester is not None

    @property
    def connection(self) -> Requester | None:
        """The connection: another object after each reconnecting."""
        return self._requester

    def finish(self) -> Answer | None:
        """Have the stream marked finished and sealed. None: it was so already when an answer was lost."""
        return self.ask(pack_plain(Kind.FINISH), time.monotonic() + _FINISH_S, done=self._is_finished)

    def _is_finished(self) -> bool:
        mark = anchors.load(self._store.existing_stream(self._stream))
        return mark is not None and mark.state == anchors.FINISHED

    def bye(self) -> None:
        """Tell the recorder that it is not needed any more, if it can be told, and disconnect."""
        if self._requester is not None:
            try:
                self._requester.request(pack_plain(Kind.BYE, self.holder), time.monotonic() + 1.0)
            except Unreachable:
                pass  # it is gone, and with it what it knew of us
            finally:
                self.drop()

    def drop(self) -> None:
        """Disconnect; the next request connects again."""
        if self._requester is not None:
            self._requester.close()
            self._requester = None


def _read(raw: bytes) -> Answer:
    try:
        return unpack_answer(raw)
    except BadRequest as error:
        raise Unreachable(str(error)) from None
