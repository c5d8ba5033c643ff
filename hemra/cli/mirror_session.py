"""One invocation of `hemra log pull` or `push`: the server, the token, what was done with each run."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
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
    "longer": "this side has less than the other; nothing was changed",
}


def told(one: Copied) -> None:
    """Say in one line what became of a run."""
    from hemra.reports.numbers import many

    word = _WORDS.get(one.what, one.what)
    note(
        f"{one.stream}: {many(one.events, 'new event')}, {many(one.blobs, 'blob')}, up to event {one.last}; {word}"
    )


class Session:
    """One invocation of pull or push: how to reach the server, and what was done."""

    def __init__(
        self, store: Store, address: str, fingerprint: str | None, token_file: str | None, timeout: float | None,
        follow: bool,
    ) -> None:  # fmt: skip
        from eventlog.mirror.reconnect import DEFAULT_PATIENCE_S, Patience

        self._store = store
        self._dialler = _dialler(address, fingerprint, token_file)
        default = None if follow else DEFAULT_PATIENCE_S
        self._patience: Patience = Patience(
            timeout if timeout is not None else default, insist=timeout is not None
        )
        self._follow = follow
        self._say = teller()
        self._stop = threading.Event()

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

        found = transfers.listed(self._dialler, self._patience, self._say, self._stop)
        self._patience.insist = True  # it is there: what fails from now on is worth another try
        return found

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
        seen: dict[str, tuple[int, bool]] = {}

        def work(stream: str) -> None:
            try:
                done.put((stream, self.pull(stream)))
            except Exception as error:  # noqa: BLE001 - told where the user sees it
                done.put((stream, error))

        try:
            while True:
                for one in listed:
                    if one.live and one.stream not in followed:
                        followed[one.stream] = threading.Thread(target=work, args=(one.stream,))
                        followed[one.stream].start()
                    elif one.stream not in followed and seen.get(one.stream) != (one.last, one.finished):
                        _tell(self._once(one.stream))
                    seen[one.stream] = (one.last, one.finished)
                with contextlib.suppress(queue.Empty):
                    stream, result = done.get(timeout=_LOOK_S)
                    followed.pop(stream).join()
                    _tell(result)
                listed = self.listed()
        finally:
            self._stop.set()
            for thread in followed.values():
                thread.join()

    def _once(self, stream: str) -> Copied | Exception:
        from eventlog.errors import LogError
        from eventlog.mirror import transfers

        try:
            how = self._how() | {"follow": False}
            return transfers.pull(self._store, stream, self._dialler, **how)
        except LogError as error:
            return error


def _tell(result: Copied | Exception) -> None:
    """One of several runs came to its end."""
    if isinstance(result, Exception):
        from hemra.cli.failure import line_of

        say(f"hemra: {line_of(result)}", err=True)
    elif result.what != "same":
        told(result)


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
