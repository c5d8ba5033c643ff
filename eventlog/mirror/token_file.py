"""The token that a server and those who use it share: without it nothing is served.

It never crosses the wire. Each side proves that it has it with an HMAC over both nonces and the certificate's
fingerprint *as that side sees it*: what a man in the middle can overhear, or ask for with a certificate of
his own, is worth nothing at the real server.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from pathlib import Path

from eventlog.mirror.errors import MirrorError
from eventlog.mirror.secret_files import read_private, write_private

NAME = "token"
#: A proof can be guessed at offline by whoever got one, so a token is nothing that a person makes up.
_FORM = re.compile(r"[!-~]{32,200}")


class BadToken(MirrorError):
    """No token, or one that cannot be used."""


def load(path: Path) -> bytes:
    """The token in a file of mode 0600. Raises BadToken, Exposed; FileNotFoundError passes through."""
    try:
        token = read_private(path).decode("ascii").strip()
    except UnicodeDecodeError:
        token = ""
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BadToken(f"{path} cannot be read: {error.strerror}") from error
    if not _FORM.fullmatch(token):
        raise BadToken(f"{path} holds no token: 32 to 200 printable characters without spaces, on one line")
    return token.encode()


def load_or_make(path: Path) -> bytes:
    """The token in `path`, made now if there is no such file. Raises as `load`."""
    if not path.exists():
        write_private(path, secrets.token_urlsafe(32).encode() + b"\n")
    return load(path)


def proof(token: bytes, role: str, client_nonce: str, server_nonce: str, fingerprint: str) -> str:
    """What `role` (client or server) shows instead of the token, 64 hex digits."""
    text = "\n".join(("hemra-mirror", role, client_nonce, server_nonce, fingerprint))
    return hmac.new(token, text.encode(), hashlib.sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two proofs are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())
