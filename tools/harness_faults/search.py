"""Looks for a secret in every byte below a folder: plain, base64 at any alignment, percent-encoded, in zstd frames."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import zstandard

MAGIC = (b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18")


def spellings(secret: str) -> set[bytes]:
    """Every form of the secret that is looked for."""
    raw = secret.encode()
    found = {raw, quote(secret, safe="").encode(), json.dumps(secret)[1:-1].encode(), raw.hex().encode()}
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + raw).rstrip(b"=")
        found.add(whole[-(-shift * 8 // 6) : (shift + len(raw)) * 8 // 6])
    return found


def holding(folder: Path, secret: str) -> Iterator[Path]:
    """Files below `folder` that hold it."""
    forms = spellings(secret)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            if any(form in text for text in (content, *_unpacked(path, content)) for form in forms):
                yield path


def _unpacked(path: Path, content: bytes) -> Iterator[bytes]:
    if path.suffix == ".zst" or content.startswith(MAGIC):
        reader = zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True)
        yield reader.read()
