"""One request as it came, as it is read, and as it is sent on.

Its bytes go on as they came, unless the task wants something of it: then it is written anew, and what was changed is
said.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec
import orjson

from hemra.gateway.conversation import COUNT_TOKENS, PROBE
from hemra.gateway.decoding import Overlong, Undecodable, decoded
from hemra.gateway.dialects import by_name, of_path
from hemra.gateway.memory import HEAVIEST, weigh
from hemra.gateway.normal import Dialect, Request, SamplingWish

_COUNTING = "/count_tokens"
#: Paths that count tokens and cost nothing, as they must be written.
_FREE = frozenset(("/v1/messages/count_tokens", "/messages/count_tokens"))
#: Methods that ask no model for anything at any other path than a model's.
_READING = frozenset(("GET", "HEAD", "OPTIONS", "DELETE"))
#: Where servers do not agree on which part of a path these end.
_AMBIGUOUS = frozenset("#?;\\")
_TWICE = re.compile("%25[0-9a-fA-F]{2}")


@dataclass(kw_only=True)
class Asked:
    """A request. `tail` is its path and query without the trial's prefix.

    `dialect`: null where the path is none of theirs; then `aside` is what it is (`probe`, `count_tokens`). `request`:
    what was read of it, `problem`: why that was not possible. `sent` is the body that is sent on, `plain` the same,
    not compressed; `rewritten`: it is another than came, and not compressed. `weight`: bytes that reading it takes.
    `sampling` and `removed` say what was changed.
    """

    method: str
    tail: str
    dialect: Dialect | None = None
    aside: str | None = None
    request: Request | None = None
    problem: str | None = None
    sent: bytes = field(repr=False, default=b"")
    plain: bytes = field(repr=False, default=b"")
    rewritten: bool = False
    weight: int = 0
    sampling: dict[str, Any] | None = None
    removed: list[str] = field(default_factory=list)

    @cached_property
    def digest(self) -> str:
        """`sha256:<hex>` of what is sent on."""
        return "sha256:" + hashlib.sha256(self.sent).hexdigest()

    @property
    def path(self) -> str:
        """The path without its query."""
        return self.tail.partition("?")[0]

    @property
    def asks_model(self) -> bool:
        """Whether a model is asked for something: that counts and may cost."""
        return self.dialect is not None or (self.method == "POST" and self.aside != COUNT_TOKENS)


def ambiguous(tail: str) -> bool:
    """Whether a target may be one path here and another at the endpoint: a fragment, parameters of a path, NULs, what
    is encoded twice."""
    written = tail.partition("?")[0]
    path = unquote(written)
    if "#" in tail or _TWICE.search(written):
        return True
    return any(sign in _AMBIGUOUS or not sign.isprintable() for sign in path)


def asks_in(method: str, path: str, body: bytes) -> Dialect | None:
    """The dialect in which a request asks a model, however its path is written; null where it asks none."""
    if method in _READING and not body:
        return None
    # Endpoints decode, join slashes, and some do not tell large letters from small ones.
    steps = [step for step in unquote(path).lower().split("/") if step]
    return of_path("/" + "/".join(steps))


def form_of(path: str, otherwise: str | None) -> Dialect:
    """The dialect in which errors are told to whoever asked at a path."""
    return of_path(path.removesuffix(_COUNTING)) or by_name(otherwise or "chat")


def read(
    method: str,
    tail: str,
    body: bytes,
    *,
    encoding: str | None,
    sampling: SamplingWish,
    unwanted: Callable[[str], bool] | None,
    url: str | None = None,
    most: int = HEAVIEST,
) -> Asked:
    """A request for what it is. `unwanted`: which tools are to be taken out, null for none. `url`: to which it is
    sent, null where that is not known. `most`: what would take more bytes is not read. Never raises for what a harness
    sends."""
    asked = Asked(method=method, tail=tail, sent=body, plain=body)
    dialect = asks_in(method, asked.path, body)
    if dialect is None and url is not None:
        dialect = asks_in(method, urlsplit(url).path, body)
    if dialect is None:
        asked.aside = COUNT_TOKENS if method == "POST" and asked.path in _FREE else PROBE
        return asked
    asked.dialect = dialect
    try:
        asked.plain = decoded(body, encoding, most=most)
        asked.weight = weigh(asked.plain)
        if asked.weight > most:
            raise ValueError("it holds more values than any conversation")
        asked.request = dialect.read(_object(asked.plain))
        _change(asked, dialect, asked.request, sampling, unwanted)
    except (Undecodable, ValueError, RecursionError, MemoryError) as error:
        asked.weight = most + 1 if isinstance(error, Overlong) else asked.weight
        asked.problem = f"the request could not be read: {error}"
    except Exception as error:  # noqa: BLE001 - a fault in reading it is no reason not to pass it on
        asked.problem = f"the request could not be read: {error!r}"
    return asked


def _object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body. Raises ValueError and RecursionError."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        found = json.loads(body)  # takes lone surrogates and NaN, which some clients write
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    return found


def _change(
    asked: Asked,
    dialect: Dialect,
    request: Request,
    sampling: SamplingWish,
    unwanted: Callable[[str], bool] | None,
) -> None:
    """Put what the task wants into the body, where it wants anything. Raises ValueError."""
    wish = {name: value for name, value in msgspec.to_builtins(sampling).items() if value is not None}
    offends = unwanted is not None and any(unwanted(tool.name) for tool in request.tools)
    if not wish and not offends:
        return
    # Python's own reader, for it keeps numbers of any size.
    changed = json.loads(asked.plain)
    if wish:
        sent, ignored = dialect.put_sampling(changed, sampling)
        asked.sampling = {"asked": wish, "sent": sent, "ignored": ignored}
    if unwanted is not None and offends:
        asked.removed = dialect.take_tools_out(changed, unwanted)
    if changed != json.loads(asked.plain):
        asked.sent = asked.plain = json.dumps(changed, separators=(",", ":")).encode()
        asked.rewritten = True
        asked.request = dialect.read(changed)
