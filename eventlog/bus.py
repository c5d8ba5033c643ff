"""The bus between producers, recorder and followers: where its sockets lie, and what both ends must agree on.

It is nng's: SP (scalability protocols) over IPC, REQ/REP for requests and PUB/SUB for "there is more".
`bus_server` is the recorder's end, `bus_peer` the other one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import stat
import struct
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from eventlog.disk import fsync_dir
from eventlog.errors import LogError

#: A larger request is refused: nng then closes the connection, so producers check before they send.
MAX_REQUEST = 1024 * 1024
#: `sun_path` of the platform without its final NUL.
MAX_PATH = 107 if sys.platform.startswith("linux") else 103
#: Lock files for starting recorders: a fixed number, for a lock file cannot be removed without a race.
START_LOCKS = 64
#: What each side says first: these four bytes, its protocol, zero. Big-endian, as everything of SP.
GREETING = struct.Struct(">4sHH")
SP = b"\0SP\0"
REQ, REP, PUB, SUB = 0x30, 0x31, 0x20, 0x21


class BusError(LogError):
    """The bus cannot be set up: the message names the folder or socket and the remedy."""


class Address(NamedTuple):
    """The sockets of one stream's recorder, and the file that those who want to start it lock."""

    requests: Path
    wakes: Path
    start: Path


def address_of(store: Path, stream: str) -> Address:
    """Where the recorder of `stream` listens: the same for every process of this user. Raises BusError.

    A store that was removed and made anew at the same place is another one: the recorder of the first may still be
    there, and would take what belongs to the second into files that have no name any more.
    """
    place = f"{os.path.realpath(store)}\0{stream}\0".encode("utf-8", "surrogateescape")
    try:
        identity = (Path(store) / "store.json").read_bytes()
    except OSError:
        identity = b""
    name = hashlib.sha256(place + identity).hexdigest()[:32]
    directory = _runtime_dir(len(name) + len("/.req"))
    start = directory / f"start-{int(name[:8], 16) % START_LOCKS:02d}"
    return Address(directory / f"{name}.req", directory / f"{name}.pub", start)


def _runtime_dir(room: int) -> Path:
    """A folder that only this user can enter, short enough for a socket's path. Made when it is missing."""
    uid = os.getuid()
    candidates = [
        Path(base) / "hemra"
        for base in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{uid}")
        if base and os.path.isdir(base) and os.stat(base).st_uid == uid
    ]
    # The last one is the same in every environment, whatever TMPDIR says.
    candidates += [Path(tempfile.gettempdir()) / f"hemra-{uid}", Path(f"/tmp/hemra-{uid}")]
    problem = "no candidate"
    for directory in candidates:
        if len(os.fsencode(directory)) + room > MAX_PATH:
            problem = f"{directory} is too long for a socket's path"
            continue
        try:
            _make_private(directory, uid)
        except OSError as error:
            problem = f"{directory}: {error.strerror or error}"
            continue
        return directory
    raise BusError(
        f"no folder for the recorder's sockets ({problem}): set XDG_RUNTIME_DIR to a short path of your own"
    )


def _make_private(directory: Path, uid: int) -> None:
    """Make `directory` with mode 0700, or check that it is a real folder of ours and closed to others."""
    with contextlib.suppress(FileExistsError):
        directory.mkdir(mode=0o700)
        fsync_dir(directory.parent)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != uid:
        raise BusError(f"{directory} is not a folder of yours: remove it, or set XDG_RUNTIME_DIR")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise BusError(f"{directory} can be entered by others: `chmod 700 {shlex.quote(str(directory))}`")
