"""The servers that this user has met: `known_hosts`, a line each, `HOST:PORT sha256:<64 hex>`."""

from __future__ import annotations

from pathlib import Path

from eventlog.disk import make_dir, replacing
from eventlog.lock import Lock
from eventlog.mirror.address import Address
from eventlog.mirror.errors import MirrorError
from eventlog.mirror.identity import BadIdentity, parse_fingerprint

NAME = "known_hosts"
_WAIT_S = 10.0


class KnownHosts:
    """The file in the configuration folder `directory`."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / NAME

    def fingerprint_of(self, address: Address) -> str | None:
        """What was remembered of a server; None for one never met. Raises MirrorError for a line that is none."""
        return self._lines().get(address.place)

    def remember(self, address: Address, fingerprint: str) -> None:
        """Write a server down, over what was remembered of it."""
        make_dir(self.path.parent.parent)
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        lock = Lock(self.path.with_name(f"{NAME}.lock"), _WAIT_S)
        try:
            lines = {**self._lines(), address.place: fingerprint}
            with replacing(self.path) as file:
                file.write("".join(f"{place} {known}\n" for place, known in sorted(lines.items())).encode())
        finally:
            lock.release()

    def _lines(self) -> dict[str, str]:
        try:
            text = self.path.read_text("utf-8")
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as error:
            raise MirrorError(f"{self.path} cannot be read: {error}") from error
        known = {}
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            place, _, fingerprint = line.strip().partition(" ")
            try:
                known[place] = parse_fingerprint(fingerprint)
            except BadIdentity:
                raise MirrorError(f"{self.path}: line {number} is no `HOST:PORT sha256:…`") from None
        return known
