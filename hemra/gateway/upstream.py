"""The way to a model's endpoint: its URL, the headers that go there and come back, and the client."""

from __future__ import annotations

import io
import re
import ssl
import urllib.request
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from hemra.gateway.decoding import offered

if TYPE_CHECKING:
    from hemra.gateway.channel import ResolvedUpstream

#: Headers that are about one connection and not about what it carries (RFC 9110, section 7.6.1).
_HOP = frozenset(
    ("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te",
     "trailer", "transfer-encoding", "upgrade")
)  # fmt: skip
#: Where clients put their key. The harness's own stays here.
KEY_HEADERS = ("authorization", "x-api-key", "api-key")
_NOT_SENT = _HOP | {"host", "content-length", "expect", *KEY_HEADERS}
_VERSION = re.compile(r"/(v\d+[a-z0-9]*)/?$")
_AUTO = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
#: Some clients put whole JSON objects into a header.
HEADER_BYTES = 64 << 10
#: Bytes that a connection may take in, twice over, before anybody reads them: there may be thousands of connections.
READ_AHEAD = 64 << 10
#: More than this and the client would rather be given a file.
_LARGE = 1 << 20
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Unreachable(Exception):
    """The endpoint cannot be asked; the text says why."""


def target(base_url: str, tail: str) -> str:
    """The URL for `tail`, the path and query that the harness asked for.

    Where the base ends with a version (`https://host/api/v1`), the `/v1` of the tail is that version; a tail that does
    not begin with `/v1` belongs beside it. Everything else is put together as it is.
    """
    scheme, host, path, query, _ = urlsplit(base_url)
    asked, _, asked_query = tail.partition("?")
    path = path.rstrip("/")
    if _VERSION.search(path):
        if asked == "/v1" or asked.startswith("/v1/"):
            asked = asked.removeprefix("/v1")
        else:
            path = _VERSION.sub("", path)
    queries = "&".join(part for part in (query, asked_query) if part)
    return urlunsplit((scheme, host, path + asked, queries, ""))


def _named(headers: Iterable[tuple[str, str]]) -> set[str]:
    """The headers that a message says are about its connection alone, in small letters."""
    lists = [value.split(",") for name, value in headers if name.lower() == "connection"]
    return {name.strip().lower() for names in lists for name in names}


def request_headers(
    came: Iterable[tuple[str, str]], upstream: ResolvedUpstream, dialect: str | None, *, rewritten: bool
) -> CIMultiDict[str]:
    """The headers for the endpoint: those that came, without what is about the connection, with the real key.

    `dialect`: of the path. Where it has none, the key stands where the harness put its own.
    """
    came = list(came)
    named = _named(came)
    headers: CIMultiDict[str] = CIMultiDict()
    for name, value in came:
        low = name.lower()
        if low in _NOT_SENT or low in named or (rewritten and low == "content-encoding"):
            continue
        headers.add(name, offered(value) if low == "accept-encoding" else value)
    if upstream.key is not None:
        style = dialect or upstream.dialect
        beside = style is None and any(name.lower() in ("x-api-key", "api-key") for name, _ in came)
        if style == "messages" or beside:
            headers["x-api-key"] = upstream.key
        else:
            headers["Authorization"] = f"Bearer {upstream.key}"
    for name, value in upstream.headers.items():
        headers[name] = value
    return headers


def response_headers(came: Iterable[tuple[bytes, bytes]]) -> CIMultiDict[str]:
    """The headers of an answer for the harness: all that came but those about the connection."""
    pairs = [(name.decode("latin-1"), value.decode("utf-8", "replace")) for name, value in came]
    named = _named(pairs)
    headers: CIMultiDict[str] = CIMultiDict()
    for name, value in pairs:
        if name.lower() not in _HOP and name.lower() not in named:
            headers.add(name, value)
    return headers


def proxy_for(url: str) -> str | None:
    """The proxy that the user's environment names for a URL; none for this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in _LOOPBACK or urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy is None:
        return None
    if not proxy.startswith(("http://", "https://")):
        kind = proxy.partition("://")[0]
        raise Unreachable(f"a {kind} proxy cannot be used for {host}; set an http:// one, or NO_PROXY={host}")
    return proxy


class ModelClient:
    """Asks endpoints. It follows no redirect, keeps no cookie, and reads no answer."""

    def __init__(self) -> None:
        self._trusted: ssl.SSLContext | None = None
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=_AUTO,
            max_line_size=HEADER_BYTES,
            max_field_size=HEADER_BYTES,
            read_bufsize=READ_AHEAD,
        )

    async def ask(
        self,
        upstream: ResolvedUpstream,
        method: str,
        tail: str,
        headers: CIMultiDict[str],
        body: bytes,
    ) -> aiohttp.ClientResponse:
        """Send a request. Returns when the head of the answer is there. Raises what `failures.failure` knows."""
        url = target(upstream.base_url, tail)
        timeout = aiohttp.ClientTimeout(
            total=None, connect=upstream.connect_s, sock_connect=upstream.connect_s, sock_read=upstream.idle_s
        )
        data = None if not body else body if len(body) <= _LARGE else io.BytesIO(body)
        return await self._session.request(
            method, URL(url, encoded=True), headers=headers, data=data,
            allow_redirects=False, timeout=timeout, proxy=proxy_for(url),
            ssl=self._authorities() if url.startswith("https:") else True,
        )  # fmt: skip

    def _authorities(self) -> ssl.SSLContext:
        """Whom the system trusts, or who SSL_CERT_FILE names; read once, when they are needed."""
        if self._trusted is None:
            self._trusted = ssl.create_default_context()
            self._trusted.set_alpn_protocols(["http/1.1"])
        return self._trusted

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
