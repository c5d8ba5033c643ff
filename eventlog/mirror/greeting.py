"""The first four frames of a connection: both sides speak the same protocol and have the same token.

The client proves first: the server gives no proof to whoever merely connects, because with one it could be
tried offline which token fits.
"""

from __future__ import annotations

import secrets
import time

from eventlog.mirror import token_file as tokens
from eventlog.mirror.channel import Channel
from eventlog.mirror.errors import BadPeer, Refused, Untrusted
from eventlog.mirror.messages import PROTOCOL, Challenge, Hello, Kind, Proof, Welcome

#: Whoever has not proved the token by then is shut out.
GREETING_S = 5.0


def greet(channel: Channel, token: bytes, fingerprint: str) -> Welcome:
    """The client's part, on a connection whose certificate has `fingerprint`. Raises Refused, BadPeer, Untrusted."""
    # A server far away may be slow; it hangs up itself when it does not want us.
    deadline = time.monotonic() + 2 * GREETING_S
    hello = Hello(protocol=PROTOCOL, nonce=secrets.token_hex(32))
    channel.say(Kind.HELLO, hello)
    challenge = channel.hear(Kind.CHALLENGE, Challenge, deadline)
    if challenge.protocol != PROTOCOL:
        raise Refused(_other_version(channel.peer, challenge.protocol), "version")
    proof = tokens.proof(token, "client", hello.nonce, challenge.nonce, fingerprint)
    channel.say(Kind.PROOF, Proof(proof=proof))
    welcome = channel.hear(Kind.WELCOME, Welcome, deadline)
    expected = tokens.proof(token, "server", hello.nonce, challenge.nonce, fingerprint)
    if not tokens.same(welcome.proof, expected):
        raise Untrusted(
            f"{channel.peer} cannot prove that it has the token: it is not the server that you mean"
        )
    return welcome


def admit(channel: Channel, token: bytes, fingerprint: str, welcome: Welcome) -> None:
    """The server's part; `welcome` is sent with the proof filled in. Raises Refused after telling the client why."""
    deadline = time.monotonic() + GREETING_S
    try:
        hello = channel.hear(Kind.HELLO, Hello, deadline)
    except BadPeer as error:
        channel.refuse("protocol", "this is no greeting of `hemra log pull` or `push`")
        raise Refused(f"it sent no greeting ({error})", "protocol") from None
    if hello.protocol != PROTOCOL:
        channel.refuse("version", f"it speaks {PROTOCOL} and not {hello.protocol}: upgrade the older hemra")
        raise Refused(f"it speaks {hello.protocol!r} and not {PROTOCOL}", "version")
    challenge = Challenge(protocol=PROTOCOL, nonce=secrets.token_hex(32))
    channel.say(Kind.CHALLENGE, challenge)
    try:
        shown = channel.hear(Kind.PROOF, Proof, deadline).proof
    except BadPeer as error:
        channel.refuse("protocol", "this is no proof of a token")
        raise Refused(f"it sent no proof ({error})", "protocol") from None
    if not tokens.same(shown, tokens.proof(token, "client", hello.nonce, challenge.nonce, fingerprint)):
        channel.refuse(
            "token", "the token is not this server's: copy its token file (`hemra log serve` names it)"
        )
        raise Refused("wrong token", "token")
    proof = tokens.proof(token, "server", hello.nonce, challenge.nonce, fingerprint)
    channel.say(Kind.WELCOME, Welcome(proof=proof, store=welcome.store, pushes=welcome.pushes))


def _other_version(peer: str, protocol: str) -> str:
    return f"{peer} speaks {protocol}, this hemra {PROTOCOL}: upgrade the older of the two"
