"""What an installer's output says about why it failed, as one line with the remedy."""

from __future__ import annotations

import re

_NO_SPACE = re.compile(r"No space left on device|ENOSPC", re.IGNORECASE)
_NO_QUOTA = re.compile(r"Disk quota exceeded|EDQUOT", re.IGNORECASE)
_UNREACHED = re.compile(
    r"name resolution|Name or service not known|Failed to establish a new connection|Network is unreachable"
    r"|Max retries exceeded|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|ECONNRESET|ENETUNREACH|Read timed out"
    r"|nodename nor servname|network request .* failed",
    re.IGNORECASE,
)
_NOT_CACHED = re.compile(r"ENOTCACHED|cache mode is 'only-if-cached'", re.IGNORECASE)
_REFUSED = re.compile(r"\b(401 (?:Client )?Error|403 (?:Client )?Error|E401|E403)\b")
_PIP_MISSING = re.compile(r"No matching distribution found for ([^\s(]+)")
_PIP_CONFLICT = re.compile(r"ERROR: Cannot install (.+?) because these package versions have conflicting")
_PIP_PYTHON = re.compile(r"requires a different Python: (\S+) not in '([^']+)'")
_PIP_HASH = re.compile(r"DO NOT MATCH THE HASHES|Hashes are required|in --require-hashes mode", re.IGNORECASE)
_PIP_BROKEN = re.compile(
    r"Wheel '[^']*' located at (\S+) is invalid|(\S+\.whl)'? is not a (?:valid|supported) wheel"
)
_NPM_MISSING = re.compile(
    r"No matching version found for (\S+?)\.?(?:\s|$)|'(?P<other>[^']+)' is not in this registry"
)
_ERROR_LINE = re.compile(r"^(?:ERROR: |npm (?:error|ERR!) )(.+)$", re.MULTILINE)

_OFFLINE_REMEDY = "connect to the network, or give a folder that holds the packages with --from"


def _missing(said: str) -> str | None:
    """The package that no index and no folder has."""
    if found := _PIP_MISSING.search(said):
        return found[1]
    found = _NPM_MISSING.search(said)
    return found[1] or found["other"] if found else None


def cause(said: str, *, offline: bool) -> str:
    """The cause in one line; what the installer said last where nothing is recognised."""
    if _NO_SPACE.search(said) or _NO_QUOTA.search(said):
        return "the disk is full: make room, or name another place with HEMRA_HARNESSES"
    if found := _PIP_PYTHON.search(said):
        return f"it needs Python {found[2]}, and this is {found[1]}: run hemra with a Python that fits"
    if _PIP_HASH.search(said):
        return "a package has not the digest that the requirements give for it, or gives none for all of them"
    if found := _PIP_CONFLICT.search(said):
        return f"these do not go together: {found[1]}"
    if found := _PIP_BROKEN.search(said):
        return f"{found[1] or found[2]} is damaged: remove it and try again"
    missing = _missing(said)
    unreached = _UNREACHED.search(said) is not None
    if missing and offline:
        return f"{missing} is in no local folder: {_OFFLINE_REMEDY}"
    if missing and unreached:
        return f"{missing} was not found, and an index could not be reached: {_OFFLINE_REMEDY}"
    if missing:
        return f"the index has no {missing} that runs here"
    if unreached:
        return f"the index could not be reached: {_OFFLINE_REMEDY}"
    if _NOT_CACHED.search(said):
        return f"a package is not in npm's cache: {_OFFLINE_REMEDY}"
    if _REFUSED.search(said):
        return "the index refused to serve: sign in to it as its owner says (pip.conf, .npmrc)"
    lines = _ERROR_LINE.findall(said) or [line for line in said.splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "the installer said nothing"
