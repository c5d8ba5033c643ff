"""What is put beside a verifier that asks for it: the package `hemra_verifier`, as it is in this installation."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

NAME = "hemra_verifier"
#: The folder to have on the path where a verifier is run by other means than scoring.
FOLDER = Path(__file__).with_name("kit")


@functools.cache
def kit() -> dict[str, bytes]:
    """Content by path (`hemra_verifier/…`) of the package's files, read once: a run scores with one of them."""
    return {
        path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in sorted(FOLDER.glob(f"{NAME}/*.py"))
    }


def beside(verifier: bytes) -> dict[str, bytes]:
    """What a verifier with this source is given; nothing where its source does not name the package."""
    return kit() if NAME.encode() in verifier else {}


def kit_digest() -> str:
    """SHA-256 over a line "<SHA-256>  <path>\\n" for every file of the package, by path."""
    total = hashlib.sha256()
    for path, content in kit().items():
        total.update(f"{hashlib.sha256(content).hexdigest()}  {path}\n".encode())
    return total.hexdigest()
