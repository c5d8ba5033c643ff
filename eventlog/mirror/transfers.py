"""Pulling and pushing over connections that break: what the command line calls."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable

from eventlog.errors import StreamBusy
from eventlog.mirror import messages
from eventlog.mirror.channel import Channel
from eventlog.mirror.copying import Copied, Copying
from eventlog.mirror.dial import Dialler
from eventlog.mirror.errors import BadPeer, Refused, one_line
from eventlog.mirror.messages import SILENCE_S, Listed, Welcome
from eventlog.mirror.owners import same_store
from eventlog.mirror.reconnect import Patience, Reconnecting
from eventlog.mirror.remote import RemoteSource, answer
from eventlog.mirror.source import StoreSource
from eventlog.store import Store

Tell = Callable[[str], None]


def listed(
    dialler: Dialler,
    patience: Patience,
    tell: Tell,
    stop: threading.Event,
    own: Callable[[], Store] | None = None,
) -> list[Listed]:
    """The runs that a server has for the store that `own` gives, which is asked for when we are let in.

    Raises MirrorError, also where the server has that store itself.
    """

    def work(channel: Channel, welcome: Welcome) -> list[Listed]:
        found = RemoteSource(channel, str(dialler.address), welcome.store).streams()
        if own is not None and welcome.store == (store := own()).id:
            raise same_store(str(dialler.address), store)
        return found

    return Reconnecting(dialler, patience, tell, stop).run(work)


def pull(
    store: Store,
    stream: str,
    dialler: Dialler,
    *,
    follow: bool,
    patience: Patience,
    tell: Tell,
    stop: threading.Event,
) -> Copied:
    """Bring one run here; with `follow` until it is finished there or `stop` is set.

    Raises StreamBusy when somebody else writes the copy here, Parted, Refused, Untrusted, Unreachable after
    `patience`, BadPeer, DamageError, Unwritable.
    """
    copying = Copying(store, stream, stop=stop)

    def work(channel: Channel, welcome: Welcome) -> Copied:
        source = RemoteSource(channel, str(dialler.address), welcome.store)
        return copying.round(source, follow=follow, tick=channel.keepalive)

    try:
        return Reconnecting(dialler, patience, tell, stop).run(work, lambda: copying.progress)
    finally:
        copying.close()


def push(
    store: Store,
    stream: str,
    dialler: Dialler,
    *,
    follow: bool,
    patience: Patience,
    tell: Tell,
    stop: threading.Event,
) -> Copied:
    """Bring one run there; with `follow` until it is finished here. Raises as `pull`, and StreamNotFound."""
    store.existing_stream(stream)
    session = secrets.token_hex(16)
    sent = 0

    def work(channel: Channel, welcome: Welcome) -> Copied:
        if not welcome.pushes:
            raise Refused(
                f"{dialler.address.place} takes no pushes (it was started with --read-only)", "readonly"
            )
        channel.ask(messages.Push(stream=stream, session=session, store=store.id, follow=follow))
        source = StoreSource(store, channel.keepalive)
        try:
            return serve(channel, source)
        finally:
            source.close()

    def serve(channel: Channel, source: StoreSource) -> Copied:
        nonlocal sent
        while not stop.is_set():
            question = channel.asked(SILENCE_S)
            sent += 1
            if isinstance(question, messages.Done):
                return Copied(
                    stream=stream, events=question.events, last=question.last, blobs=question.blobs,
                    bytes=question.bytes, what=one_line(question.what),
                )  # fmt: skip
            if not _concerns(question, stream):
                raise BadPeer(f"{channel.peer} asked for what was not offered to it")
            if not answer(channel, source, question):
                raise BadPeer(f"{channel.peer} asked what only a pusher asks")
        raise StreamBusy("stopped")

    return Reconnecting(dialler, patience, tell, stop).run(work, lambda: sent)


def _concerns(question: messages.Asked, stream: str) -> bool:
    """Whether a server asks about the run that is pushed to it, or for a blob (which nobody can ask for who does
    not know its digest)."""
    if isinstance(question, messages.GetBlob):
        return True
    return getattr(question, "stream", None) == stream
