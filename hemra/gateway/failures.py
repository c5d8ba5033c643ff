"""Says in words why an endpoint gave no answer, in the same words every time."""

from __future__ import annotations

import os
import re
import ssl

import aiohttp

from hemra.gateway.upstream import Unreachable

_SCHEME = "(is base_url http or https?)"
#: Parts of a Python message that differ from run to run or say nothing to a user.
_PYTHON = re.compile(r"\[Errno -?\d+\] |<[^<>]*>|\(_?ssl\.c:\d+\)|0x[0-9a-fA-F]+")


def failure(error: BaseException) -> tuple[str, str]:
    """How a call ended that failed with this, in the words of `model.responded`, and what happened."""
    if isinstance(error, aiohttp.SocketTimeoutError):
        return "timeout", "nothing came from the endpoint for too long"
    if isinstance(error, aiohttp.ServerTimeoutError):
        return "unreachable", "no connection to the endpoint stood in time"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "unreachable", _no_connection(error)
    if isinstance(error, aiohttp.InvalidURL):
        return "unreachable", "the endpoint's URL is none"
    if isinstance(error, Unreachable):
        return "unreachable", str(error)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return "junk", f"the proxy let nobody through: HTTP {error.status}"
    if isinstance(error, aiohttp.ClientResponseError):
        said = _plain(error.message.partition("\n")[0])
        return "junk", f"the endpoint does not speak HTTP as it should: {said or 'no HTTP at all'} {_SCHEME}"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "cut", "the connection ended before the answer did"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "cut", "the connection was closed without an answer"
    ended = "cut" if isinstance(error, ConnectionError) else "unreachable"
    return ended, f"the connection to the endpoint failed: {_cause(error)}"


def _no_connection(error: aiohttp.ClientConnectorError) -> str:
    """Why no connection stands; its host is the proxy's where one is used."""
    host = error.host or "the endpoint"
    where = f"[{host}]" if ":" in host else host
    whose = "the proxy " if isinstance(error, aiohttp.ClientProxyConnectionError) else ""
    said = f"cannot connect to {whose}{where}" + (f":{error.port}" if error.port else "")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"{said}: the host's name is not known"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        wrong = error.certificate_error
        why = wrong.verify_message if isinstance(wrong, ssl.SSLCertVerificationError) else ""
        return f"{said}: its certificate is not trusted: {why or 'it cannot be checked'}"
    if isinstance(error.os_error, ssl.SSLError):
        return f"{said}: it does not speak TLS, or not as it should {_SCHEME}"
    return f"{said}: {_cause(error.os_error)} {_SCHEME}"


def _cause(error: BaseException) -> str:
    """What the system says of it; where there are several addresses, of the first."""
    inner: BaseException | None = error
    while inner is not None:
        number = inner.errno if isinstance(inner, OSError) else None
        if number is not None and number > 0:
            return os.strerror(number).lower()
        inner = inner.__cause__ or inner.__context__
    named = re.search(r"\[Errno (\d+)\]", str(error))
    if named is not None:
        return os.strerror(int(named.group(1))).lower()
    return _plain(str(error)) or "the connection broke"


def _plain(text: str) -> str:
    return " ".join(_PYTHON.sub("", text).split()).rstrip(" :,")
