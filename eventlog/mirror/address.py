"""Where a server listens: `tls+tcp://HOST[:PORT]`, IPv6 in brackets."""

from __future__ import annotations

import re
from typing import NamedTuple

from eventlog.mirror.errors import MirrorError

SCHEME = "tls+tcp://"
#: Where nothing else is said. (HEMR on a telephone's keys.)
DEFAULT_PORT = 4367
_HOST_PORT = re.compile(r"(?:\[([0-9A-Fa-f:.%\w]+)\]|([^\s:/\[\]@]+))(?::(\d{1,5}))?")


class BadAddress(MirrorError):
    """An address that cannot be one."""


class Address(NamedTuple):
    """A host name or number, and a port; port 0 only to listen on (the system chooses)."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{SCHEME}{self.place}"

    @property
    def place(self) -> str:
        """`HOST:PORT`, the form in which known hosts are remembered."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse(text: str, *, listening: bool = False) -> Address:
    """The address meant by `text`. Raises BadAddress, naming what to write instead."""
    if text.startswith("tcp://"):
        raise BadAddress(f"{text!r} would send everything in the clear: write {SCHEME}{text[6:]}")
    if not text.startswith(SCHEME):
        raise BadAddress(f"{text!r} is no address: write {SCHEME}HOST or {SCHEME}HOST:PORT")
    match = _HOST_PORT.fullmatch(text.removeprefix(SCHEME).rstrip("/"))
    port = int(match.group(3) or DEFAULT_PORT) if match else -1
    if match is None or port > 65535 or (port == 0 and not listening):
        raise BadAddress(
            f"{text!r} is no address: write {SCHEME}HOST or {SCHEME}HOST:PORT (IPv6: {SCHEME}[::1])"
        )
    return Address((match.group(1) or match.group(2)).lower(), port)
