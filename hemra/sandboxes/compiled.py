"""Programs that Python runs by path, compiled once for as long as this process lives; and files in memory for that.

A trial starts some, and Python would compile them anew each time, which takes it longer than carrying them out.
"""

from __future__ import annotations

import errno
import fcntl
import importlib.util
import marshal
import os
import sys
from functools import cache
from pathlib import Path

#: What stands before the code in a compiled file, by PEP 552: magic number, flags, two words about the source.
HEAD_BYTES = 16
#: The file may never be executed. Linux has it since 6.3, and may be told to make no others; Python does not name it.
_MFD_NOEXEC_SEAL = 8


def empty_in_memory(name: str) -> int:
    """The descriptor of a new file in memory, empty. OSError."""
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        return os.memfd_create(name, flags | _MFD_NOEXEC_SEAL)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return os.memfd_create(name, flags)


def file_in_memory(name: str, content: bytes) -> int:
    """The descriptor of a file in memory with this content, which nobody can change, not even this process. OSError."""
    fd = empty_in_memory(name)
    with open(fd, "wb", closefd=False) as file:
        file.write(content)
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


def compiled(program: Path) -> bytes:
    """A program as Python keeps compiled ones in files. OSError when it cannot be read."""
    code = compile(program.read_bytes(), str(program), "exec", dont_inherit=True)
    return importlib.util.MAGIC_NUMBER.ljust(HEAD_BYTES, b"\0") + marshal.dumps(code)


@cache
def in_memory(program: Path) -> int | None:
    """The descriptor of a file in memory that holds the compiled program; None where there are no such files.

    Whoever is started with it runs `/proc/self/fd/<number>` or reads it; it is open until this process ends.
    """
    if sys.platform != "linux" or not os.path.exists("/proc/self/fd"):
        return None
    return file_in_memory(f"hemra-{program.stem}", compiled(program))
