"""Connecting to a server: TLS, its fingerprint against what is known of it, then the greeting."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from eventlog.mirror.address import Address
from eventlog.mirror.channel import Channel
from eventlog.mirror.errors import Unreachable, Untrusted
from eventlog.mirror.greeting import greet
from eventlog.mirror.identity import fingerprint_of
from eventlog.mirror.known_hosts import KnownHosts
from eventlog.mirror.messages import SILENCE_S, Welcome

#: A connection that is not there by then is tried anew: after a cut, a fresh SYN is faster than an old one's backoff.
CONNECT_S = 3.0


@dataclass
class Dialler:
    """How to reach one server. `fingerprint`: what the user says it has; `confirm` asks the user on first use."""

    address: Address
    token: bytes
    config: Path
    fingerprint: str | None = None
    confirm: Callable[[str, str], bool] = field(default=lambda place, fingerprint: False)

    def connect(self) -> tuple[Channel, Welcome]:
        """A greeted connection. Raises Unreachable, Untrusted, Refused, BadPeer."""
        connection = _wrapped(self.address)
        channel = Channel(connection, self.address.place)
        try:
            fingerprint = fingerprint_of(connection.getpeercert(binary_form=True) or b"")
            first = self._check(fingerprint)
            welcome = greet(channel, self.token, fingerprint)
            if first:
                # Only now: it has proved the token, so it is no passer-by at this address.
                KnownHosts(self.config).remember(self.address, fingerprint)
        except BaseException:
            channel.close()
            raise
        return channel, welcome

    def _check(self, shown: str) -> bool:
        """Whether a trusted certificate is to be remembered anew. Raises Untrusted; nothing was sent by then."""
        place, hosts = self.address.place, KnownHosts(self.config)
        known = hosts.fingerprint_of(self.address)
        if self.fingerprint is not None:
            if shown != self.fingerprint:
                raise Untrusted(f"{place} has the fingerprint {shown}, not the one given with --fingerprint")
            return known != shown
        if known is None:
            if self.confirm(place, shown):
                return True
            raise Untrusted(
                f"{place} is not known here. Its certificate has the fingerprint {shown}: if `hemra log serve` shows "
                "the same there, name it with --fingerprint"
            )
        if known != shown:
            raise Untrusted(
                f"the certificate of {place} is not the one remembered in {hosts.path} ({known}): somebody may stand "
                "in between. If it was made anew there, name the fingerprint that `hemra log serve` shows there with "
                "--fingerprint"
            )
        return False


def _wrapped(address: Address) -> ssl.SSLSocket:
    """A TLS connection; whose certificate it is, the caller checks before anything is sent. Raises Unreachable."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    # No authority signed it. That its key is the server's own, TLS checks in any mode; that it is the one we
    # mean, the fingerprint says.
    context.verify_mode = ssl.CERT_NONE
    raw = None
    try:
        raw = socket.create_connection((address.host, address.port), CONNECT_S)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw.settimeout(SILENCE_S)
        return context.wrap_socket(raw, server_hostname=address.host)
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionResetError, BrokenPipeError) as error:
        _close(raw)
        raise Unreachable(
            f"{address.place} closed the connection before the greeting: it may have too many, try again"
        ) from error
    except ssl.SSLError as error:
        _close(raw)
        raise Unreachable(
            f"{address.place} does not speak TLS: is it `hemra log serve`? ({error.reason})"
        ) from error
    except TimeoutError as error:
        _close(raw)
        raise Unreachable(f"no answer from {address.place}") from error
    except (OSError, ValueError) as error:  # ValueError: a host name that cannot be encoded
        _close(raw)
        raise Unreachable(
            f"cannot reach {address.place}: {getattr(error, 'strerror', None) or error}"
        ) from error
    except BaseException:
        _close(raw)
        raise


def _close(raw: socket.socket | None) -> None:
    if raw is not None:
        raw.close()
