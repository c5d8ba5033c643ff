"""One invocation of `hemra log pull` or `push`: the server, the token, what was done with each run."""

from __future__ import annotations

import contextlib
import functools
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hemra.cli.context import end_with, settings
from hemra.cli.output import note, say

if TYPE_CHECKING:
    from eventlog.mirror.address import Address
    from eventlog.mirror.copying import Copied
    from eventlog.mirror.dial import Dialler
    from eventlog.mirror.messages import Listed
    from eventlog.mirror.reconnect import Patience
    from eventlog.store import Store

#: How often a pull of all runs looks for runs that began since. Seconds.
_LOOK_S = 2.0
#: The longest pause between two tries of a run that cannot be pulled. Seconds.
_MAX_PAUSE_S = 60.0


def teller() -> Callable[[str], None]:
    """`note` for threads, which do not know the invocation that they work for."""
    if settings().quiet:
        return lambda text: None
    return lambda text: say(text, err=True)


def config_folder() -> Path:
    """Where certificate, token and known hosts lie."""
    import platformdirs

    return Path(platformdirs.user_config_path("hemra", appauthor=False)) / "mirror"


_WORDS = {
    "whole": "whole and identical",
    "finished": "finished, but not sealed there yet (`hemra log seal` there, then once more)",
    "copied": "not finished there",
    "same": "nothing was lacking",
    "own": "it is recorded where it would have been copied to; nothing was changed",
    "longer": "this side has less than the other; nothing was changed",
}


def told(one: Copied) -> None:
    """Say in one line what became of a run."""
    from hemra.reports.numbers import many

    word = _WORDS.get(one.what, one.what)
    note(
        f"{one.stream}: {many(one.events, 'new event')}, {many(one.blobs, 'blob')}, up to event {one.last}; {word}"
    )


class Attempts:
    """When a run that `pull -f` follows is tried again: at once when it grew, after growing pauses when it failed."""

    def __init__(self) -> None:
        self._stands: dict[str, tuple[int, bool]] = {}
        self._failed: dict[str, int] = {}
        self._next: dict[str, float] = {}
        self._told: dict[str, str] = {}

    def is_due(self, one: Listed, now: float) -> bool:
        """Whether there is sense in a try now. The next is due when the run has changed, or failed and waited."""
        if one.stream in self._failed:
            return now >= self._next[one.stream]
        stands = one.last, one.finished
        due = self._stands.get(one.stream) != stands
        self._stands[one.stream] = stands
        return due

    def failed(self, stream: str, error: Exception, now: float) -> bool:
        """Note that a try failed; whether that is news to the user."""
        times = self._failed[stream] = self._failed.get(stream, 0) + 1
        self._next[stream] = now + min(_LOOK_S * 2 ** min(times, 10), _MAX_PAUSE_S)
        # By its kind: sizes and seqs in the text may differ each time.
        kind = f"{type(error).__name__} {getattr(error, 'code', '')}"
        news = self._told.get(stream) != kind
        self._told[stream] = kind
        return news

    def worked(self, stream: str) -> None:
        """Note that a try went through: what goes wrong next is news."""
        for known in (self._failed, self._next, self._told):
            known.pop(stream, None)


class Session:
    """One invocation of pull or push: how to reach the server, and what was done."""

    def __init__(
        self, opening: Callable[[], Store], address: str, fingerprint: str | None, token_file: str | None,
        timeout: float | None, follow: bool,
    ) -> None:  # fmt: skip
        from eventlog.mirror.reconnect import DEFAULT_PATIENCE_S, Patience

        self._opening = opening
        self._dialler = _dialler(address, fingerprint, token_file)
        default = None if follow else DEFAULT_PATIENCE_S
        self._patience: Patience = Patience(
            timeout if timeout is not None else default, insist=timeout is not None
        )
        self._follow = follow
        self._say = teller()
        self._stop = threading.Event()
        self._attempts = Attempts()

    @functools.cached_property
    def _store(self) -> Store:
        return self._opening()

    @contextlib.contextmanager
    def stopping(self) -> Iterator[None]:
        """Whatever ends the command ends its threads too."""
        try:
            yield
        finally:
            self._stop.set()

    def listed(self) -> list[Listed]:
        """The runs that the server has."""
        from eventlog.mirror import transfers

        found = transfers.listed(self._dialler, self._patience, self._say, self._stop, lambda: self._store)
        self._patience.insist = True  # it is there: what fails from now on is worth another try
        return found

    def lacking(self, listed: list[Listed]) -> list[Listed]:
        """Those that are not recorded here, of which the server has but copies."""
        from eventlog.mirror.note import is_copy

        store = self._store

        def is_own(one: Listed) -> bool:
            path = store.stream_path(one.stream)
            return one.origin == store.id and path.is_dir() and not is_copy(path)

        return [one for one in listed if not is_own(one)]

    def pull(self, stream: str) -> Copied:
        """One run."""
        from eventlog.mirror import transfers

        return transfers.pull(self._store, stream, self._dialler, **self._how())

    def push(self, stream: str) -> Copied:
        """One run, the other way."""
        from eventlog.mirror import transfers

        return transfers.push(self._store, stream, self._dialler, **self._how())

    def _how(self) -> dict[str, Any]:
        return {"follow": self._follow, "patience": self._patience, "tell": self._say, "stop": self._stop}

    def each(self, names: list[str], move: Callable[[str], Copied]) -> list[Copied]:
        """Several runs, one after the other. What goes wrong with one is told and does not end the others."""
        from eventlog.errors import LogError
        from eventlog.mirror.errors import Unreachable, Untrusted

        if len(names) == 1:
            return [move(names[0])]
        copied = []
        for name in names:
            try:
                copied.append(move(name))
            except (Unreachable, Untrusted):
                raise
            except LogError as error:
                say(f"hemra: {error}", err=True)
                end_with(1)
        return copied

    def pull_all_that_come(self, listed: list[Listed]) -> None:
        """Every run that is there or begins there, until Ctrl-C: live ones in a thread each, the rest when it grew."""
        done: queue.SimpleQueue[tuple[str, Copied | Exception]] = queue.SimpleQueue()
        followed: dict[str, threading.Thread] = {}

        def work(stream: str) -> None:
            try:
                done.put((stream, self.pull(stream)))
            except Exception as error:  # noqa: BLE001 - told where the user sees it
                done.put((stream, error))

        try:
            while True:
                for one in self.lacking(listed):
                    if one.stream in followed or not self._attempts.is_due(one, time.monotonic()):
                        continue
                    if one.live:
                        followed[one.stream] = threading.Thread(target=work, args=(one.stream,))
                        followed[one.stream].start()
                    else:
                        self._end_of(one.stream, self._once(one.stream))
                with contextlib.suppress(queue.Empty):
                    stream, result = done.get(timeout=_LOOK_S)
                    followed.pop(stream).join()
                    self._end_of(stream, result)
                listed = self.listed()
        finally:
            self._stop.set()
            for thread in followed.values():
                thread.join()

    def _end_of(self, stream: str, result: Copied | Exception) -> None:
        """One of several runs came to its end, or failed: that is told once, and tried again after a while."""
        from hemra.cli.failure import line_of

        if not isinstance(result, Exception):
            self._attempts.worked(stream)
            if result.what not in ("same", "own"):
                told(result)
        elif self._attempts.failed(stream, result, time.monotonic()):
            say(f"hemra: {line_of(result)} (said once; tried again now and then)", err=True)

    def _once(self, stream: str) -> Copied | Exception:
        from eventlog.errors import LogError
        from eventlog.mirror import transfers

        try:
            how = self._how() | {"follow": False}
            return transfers.pull(self._store, stream, self._dialler, **how)
        except LogError as error:
            return error


def parsed(text: str, *, listening: bool = False) -> Address:
    """The address that the user wrote. Raises UsageError."""
    from eventlog.mirror.address import BadAddress, parse
    from hemra.errors import UsageError

    try:
        return parse(text, listening=listening)
    except BadAddress as error:
        raise UsageError(str(error)) from None


def _dialler(address: str, fingerprint: str | None, token_file: str | None) -> Dialler:
    from eventlog.mirror import token_file as tokens
    from eventlog.mirror.dial import Dialler
    from eventlog.mirror.identity import BadIdentity, parse_fingerprint
    from hemra.errors import UsageError

    config = config_folder()
    place = Path(token_file).expanduser() if token_file else config / tokens.NAME
    where = parsed(address)
    try:
        token = tokens.load(place)
        shown = parse_fingerprint(fingerprint) if fingerprint is not None else None
    except FileNotFoundError:
        raise UsageError(
            f"no token at {place}: copy the file that `hemra log serve` names there, mode 0600, or name another with "
            "--token-file"
        ) from None
    except BadIdentity as error:
        raise UsageError(str(error)) from None
    return Dialler(where, token, config, shown, _confirm)


def _confirm(place: str, fingerprint: str) -> bool:
    """Ask the user, where there is one to ask."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    say(f"{place} is not known here. Its certificate has the fingerprint", err=True)
    say(f"  {fingerprint}", err=True)
    return click.confirm("Does `hemra log serve` show the same there?", default=False, err=True)
