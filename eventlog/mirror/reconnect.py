"""Working over connections that break: try again, with growing pauses, until there is no sense in it.

After a cut the work goes on within RESUME_S seconds of the link being back: a dead connection is noticed
after SILENCE_S at the latest while the link is down, and from then on an attempt begins at least every
MAX_PAUSE_S + CONNECT_S seconds.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from eventlog.mirror.channel import Channel
from eventlog.mirror.dial import CONNECT_S, Dialler
from eventlog.mirror.errors import BadPeer, MirrorError, Refused, Unreachable
from eventlog.mirror.messages import SILENCE_S, Welcome

T = TypeVar("T")

FIRST_PAUSE_S, MAX_PAUSE_S = 0.2, 3.0
#: The stated time: see above. (A link that comes back before the silence was noticed costs the rest of that.)
RESUME_S = SILENCE_S + MAX_PAUSE_S + CONNECT_S
#: How long one-shot work keeps trying to get a lost connection back, if the user says nothing.
DEFAULT_PATIENCE_S = 60.0
#: Damage that comes again after this many fresh tries is the source's, not the way's.
_DAMAGED_TRIES = 2


class Stopped(MirrorError):
    """`stop` was set while there was no connection (internal)."""


@dataclass
class Patience:
    """How long to keep trying. `insist`: also where no connection was ever made. None: for ever."""

    lost_s: float | None = DEFAULT_PATIENCE_S
    insist: bool = False


class Reconnecting:
    """Runs work over one connection after the other. `tell` gets a line when one is lost and when it is back."""

    def __init__(
        self, dialler: Dialler, patience: Patience, tell: Callable[[str], None], stop: threading.Event
    ) -> None:
        self._dialler = dialler
        self._patience = patience
        self._tell = tell
        self._stop = stop
        self._ever = False
        self._lost_at: float | None = None
        self._damaged = 0

    def run(self, work: Callable[[Channel, Welcome], T], progress: Callable[[], int] = lambda: 0) -> T:
        """What `work` returns. Raises what it raises but Unreachable, which is raised when patience ends.

        `progress` grows when something arrives: damage on the way is tried again as long as it does.
        """
        pause = FIRST_PAUSE_S
        reached = progress()
        while True:
            try:
                channel, welcome = self._dialler.connect()
                with channel:
                    pause = FIRST_PAUSE_S
                    self._is_back()
                    return work(channel, welcome)
            except Unreachable as error:
                self._lost(error)
            except BadPeer as error:
                self._damaged = 1 if progress() > reached else self._damaged + 1
                if self._damaged > _DAMAGED_TRIES:
                    raise
                self._lost(error)
            except Refused as error:
                if error.code != "busy" or not self._ever or self._lost_at is None:
                    raise
                self._lost(error)  # our own former connection still has it
            reached = progress()
            if self._stop.wait(pause * random.uniform(0.7, 1.0)):
                raise Stopped("stopped")
            pause = min(2 * pause, MAX_PAUSE_S)

    def _is_back(self) -> None:
        if self._lost_at is not None:
            self._tell(f"{self._dialler.address.place} is back")
        self._ever, self._lost_at = True, None

    def _lost(self, error: MirrorError) -> None:
        """Note when it was lost; raises it again when there is no sense in another try."""
        now = time.monotonic()
        if not self._ever and not self._patience.insist:
            raise error
        if self._lost_at is None:
            self._lost_at = now
            self._tell(f"{error}; trying again")
        limit = self._patience.lost_s
        if limit is not None and now - self._lost_at >= limit:
            raise Unreachable(
                f"{error} (given up after {limit:g} s; the same command goes on where it stopped)"
            )
