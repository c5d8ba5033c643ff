"""What an admitted connection may do: ask, which is a pull, or hand over a run, which is a push.

In a push the roles turn: the server asks and copies as a puller does, and the pusher answers. A pusher that
lost its connection comes back with the same session; the connection that it lost is ended then, so that the
stream's lock is free for it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass

from eventlog.errors import LogError
from eventlog.mirror import messages
from eventlog.mirror.channel import Channel
from eventlog.mirror.copying import Copied, Copying
from eventlog.mirror.errors import BadPeer, Refused, Unreachable
from eventlog.mirror.landing import PUSH_ELSEWHERE
from eventlog.mirror.remote import RemoteSource, answer, failed
from eventlog.mirror.source import StoreSource
from eventlog.store import Store

#: Whoever asks nothing for this long is sent away: it may be checking a large file meanwhile.
_IDLE_S = 300.0
#: A pusher that comes back waits this long for its own former connection to let go of the stream.
_HANDOVER_S = 5.0


@dataclass(eq=False)
class _Pushing:
    """A push under way: its connection, and the event that is set when it has ended."""

    channel: Channel
    ended: threading.Event


class Sessions:
    """All admitted connections of one server."""

    def __init__(
        self, store: Store, *, pushes: bool, tell: Callable[[str], None], stop: threading.Event
    ) -> None:
        self._store = store
        self._pushes = pushes
        self._tell = tell
        self._stop = stop
        self._pushing: dict[tuple[str, str], _Pushing] = {}
        self._lock = threading.Lock()

    def serve(self, channel: Channel) -> None:
        """Answer one connection until it is closed. Raises BadPeer after telling the other side."""
        source = StoreSource(self._store, channel.keepalive)
        told: set[str] = set()
        try:
            while not self._stop.is_set():
                question = channel.asked(_IDLE_S)
                if isinstance(question, messages.GetHead) and question.stream not in told:
                    told.add(question.stream)
                    self._tell(f"{channel.peer} pulls {question.stream}")
                if isinstance(question, messages.Push):
                    self._take(channel, question)
                    return
                if not answer(channel, source, question):
                    raise BadPeer(f"{channel.peer} asked what only a server asks")
        except Unreachable:
            return  # it has what it wanted, or comes again
        except BadPeer as error:
            channel.refuse("protocol", "what you sent is not of this protocol")
            raise error
        finally:
            source.close()

    def _take(self, channel: Channel, push: messages.Push) -> None:
        """Copy a run from the pusher at the other end."""
        if not self._pushes:
            channel.refuse("readonly", "this server takes no pushes (it was started with --read-only)")
            self._tell(f"refused {channel.peer}: it wants to push {push.stream}, and pushes are off")
            return
        key = (push.stream, push.session)
        mine = _Pushing(channel, threading.Event())
        with self._lock:
            former = self._pushing.get(key)
            self._pushing[key] = mine
        if former is not None:
            former.channel.shut()
            former.ended.wait(_HANDOVER_S)
        self._tell(f"{channel.peer} pushes {push.stream}")
        try:
            self._copy(channel, push)
        finally:
            with self._lock:
                if self._pushing.get(key) is mine:
                    del self._pushing[key]
            mine.ended.set()

    def _copy(self, channel: Channel, push: messages.Push) -> None:
        copying = Copying(self._store, push.stream, stop=self._stop, elsewhere=PUSH_ELSEWHERE)
        source = RemoteSource(channel, f"push from {channel.peer.rpartition(':')[0]}", push.store)
        try:
            copied = copying.round(source, follow=push.follow, tick=channel.keepalive)
        except Unreachable as error:
            self._tell(f"{channel.peer}: push of {push.stream} broke off at event {copying.last}: {error}")
            return
        except (LogError, OSError) as error:
            code, text = _told(error)
            self._tell(f"refused {push.stream} of {channel.peer}: {text}")
            channel.refuse(code, text)
            return
        finally:
            copying.close()
        self._tell(f"{channel.peer} pushed {push.stream} up to event {copied.last} ({copied.what})")
        with contextlib.suppress(Unreachable):
            channel.ask(_done(copied))


def _told(error: LogError | OSError) -> tuple[str, str]:
    """Code and text of what went wrong, for the other side."""
    if isinstance(error, Refused):
        return error.code, str(error)
    if isinstance(error, OSError):
        return "other", f"it cannot be written here: {error.strerror or error}"
    word = failed(error)
    return word.code, word.text


def _done(copied: Copied) -> messages.Done:
    return messages.Done(
        events=copied.events, last=copied.last, blobs=copied.blobs, bytes=copied.bytes, what=copied.what
    )
