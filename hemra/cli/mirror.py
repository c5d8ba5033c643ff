"""`hemra log serve`, `pull`, `push`, `adopt`: runs on other machines, while they are recorded and after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hemra.cli.context import common_options, json_option, settings
from hemra.cli.lazy import Command
from hemra.cli.mirror_session import Session, config_folder, parsed, teller, told
from hemra.cli.output import note, print_json, say
from hemra.cli.sizes import Seconds
from hemra.cli.stores import open_store, resolve_run

if TYPE_CHECKING:
    from eventlog.mirror.copying import Copied
    from eventlog.mirror.messages import Listed

F = TypeVar("F", bound=Callable[..., Any])
#: Runs that an error names.
_FEW = 5


_token_option = click.option(
    "--token-file",
    metavar="FILE",
    help="The token, mode 0600 (default: mirror/token in the user's config folder).",
)


def _dialling_options(function: F) -> F:
    """What pull and push share: how to reach the server and whom to trust."""
    for option in (
        click.option(
            "--timeout", type=Seconds(0, 7 * 86400, min_open=True), metavar="S",
            help="Give up after so many seconds without the server (default: 60; with -f never).",
        ),
        _token_option,
        click.option(
            "--fingerprint", metavar="SHA256", help="The certificate that the server must have, as `serve` prints it."
        ),
        click.option("-f", "--follow", is_flag=True, help="Go on until the run is finished."),
    ):  # fmt: skip
        function = option(function)
    return function


@click.command(
    cls=Command,
    examples=[
        ("hemra log serve --listen tls+tcp://0.0.0.0", "offer this store on every interface, port 4367"),
        ("hemra log serve --listen tls+tcp://10.0.0.5:7000 --read-only", "nobody can push runs into it"),
    ],
)
@click.option(
    "--listen",
    metavar="ADDR",
    required=True,
    help="tls+tcp://HOST[:PORT] to listen on; port 0: any free one.",
)
@_token_option
@click.option("--read-only", is_flag=True, help="Take no pushes.")
@common_options
def serve(listen: str, token_file: str | None, read_only: bool) -> None:
    """Offer this store's runs to other machines, until Ctrl-C.

    Who has the token may pull every run and push new ones. Certificate and token are made on first use; both are
    needed on the other side: the token's file, and the fingerprint that is printed here.
    """
    from eventlog.mirror import token_file as tokens
    from eventlog.mirror.identity import Identity
    from eventlog.mirror.server import Server

    address = parsed(listen, listening=True)
    store = open_store(create=not read_only)
    config = config_folder()
    place = Path(token_file).expanduser() if token_file else config / tokens.NAME
    token = tokens.load_or_make(place)
    identity = Identity(config)
    server = Server(store, address, identity, token, pushes=not read_only, tell=teller())
    try:
        say(f"serving {store.path} at {server.address}", err=True)
        say(f"fingerprint {identity.fingerprint}", err=True)
        note(f"token in {place}: copy it to the other machine, mode 0600")
        server.run()
    finally:
        server.close()


@click.command(
    cls=Command,
    examples=[
        (
            "hemra log pull tls+tcp://lab latest -f",
            "follow the newest run; `hemra tail latest -f` shows it here",
        ),
        ("hemra log pull tls+tcp://lab", "every run that is not here yet, or not whole"),
        ("hemra log pull tls+tcp://10.0.0.5:7000 20261130 --fingerprint sha256:… --json", "in a script"),
    ],
)
@click.argument("address", metavar="ADDR")
@click.argument("run", metavar="[RUN]", required=False)
@_dialling_options
@json_option
@common_options
def pull(
    address: str, run: str | None, follow: bool, fingerprint: str | None, token_file: str | None,
    timeout: float | None, as_json: bool,
) -> None:  # fmt: skip
    """Copy runs from a machine that serves them; with -f while they are recorded.

    A broken connection is taken up again where it stopped, and so is a pull that was killed. RUN is an id, the
    beginning of one, or `latest`; without RUN all runs are meant.
    """
    # Made only when the server has let us in.
    session = Session(lambda: open_store(create=True), address, fingerprint, token_file, timeout, follow)
    with session.stopping():
        copied: list[Copied] = []
        listed = session.listed()
        if run is not None:
            copied = [session.pull(_meant(listed, run, address))]
        elif follow:
            session.pull_all_that_come(listed)
        else:
            copied = session.each([one.stream for one in listed], session.pull)
    _report(copied, address, "pulled from", as_json)


@click.command(
    cls=Command,
    examples=[
        ("hemra log push tls+tcp://lab latest", "the newest run"),
        ("hemra log push tls+tcp://lab latest -f", "while it is recorded"),
    ],
)
@click.argument("address", metavar="ADDR")
@click.argument("run", metavar="[RUN]", required=False)
@_dialling_options
@json_option
@common_options
def push(
    address: str, run: str | None, follow: bool, fingerprint: str | None, token_file: str | None,
    timeout: float | None, as_json: bool,
) -> None:  # fmt: skip
    """Copy runs to a machine that serves its store; the other way round than `pull`.

    RUN is an id, the beginning of one, a name, or `latest`; without RUN all runs are meant.
    """
    from eventlog.store import CATALOG
    from hemra.errors import UsageError

    store = open_store()
    if run == CATALOG:
        raise UsageError(f"the {CATALOG} belongs to its store and is not carried; name a run")
    if run is None and follow:
        raise UsageError("push -f needs a RUN to follow")
    names = [resolve_run(store, run)] if run is not None else [n for n in store.streams() if n != CATALOG]
    session = Session(lambda: store, address, fingerprint, token_file, timeout, follow)
    with session.stopping():
        copied = session.each(names, session.push)
    _report(copied, address, "pushed to", as_json)


@click.command(
    cls=Command,
    examples=[
        ("hemra log adopt 20261130-194512-k3w7pq", "its machine is gone; `hemra resume` can go on here")
    ],
)
@click.argument("run", metavar="RUN")
@common_options
def adopt(run: str) -> None:
    """Make an unfinished copy this store's own run, to be resumed here.

    If the run goes on at its first machine too, the two copies part and can no longer be pulled over each other.
    """
    from eventlog.mirror.landing import adopt as adopted

    store = open_store()
    name = resolve_run(store, run)
    last = adopted(store, name)
    note(f"{name} is this store's own now, up to event {last}")


def _some(names: list[str]) -> str:
    """The newest few of a server's runs, and how many there are."""
    few = ", ".join(names[-_FEW:]) or "none"
    return f"it has {few}" if len(names) <= _FEW else f"the newest of its {len(names)} are {few}"


def _meant(listed: list[Listed], reference: str, address: str) -> str:
    """The run of the server that `reference` means. Raises NotFound."""
    from hemra.errors import NotFound, UsageError

    names = [one.stream for one in listed]
    if reference == "latest" and names:
        return names[-1]
    if reference in names:
        return reference
    found = [name for name in names if name.startswith(reference)]
    if len(found) > 1:
        raise UsageError(
            f"{reference!r} is the beginning of several runs at {address}: {', '.join(found[:_FEW])}"
        )
    if not found:
        raise NotFound(f"no run {reference!r} at {address}; {_some(names)} (a server tells ids and no names)")
    return found[0]


def _report(copied: list[Copied], address: str, did: str, as_json: bool) -> None:
    import msgspec

    if as_json:
        streams = [msgspec.to_builtins(one) for one in copied]
        print_json({"schema": "hemra.transfer/1", "address": address, "streams": streams})
        return
    for one in copied:
        told(one)
    if not copied and not settings().quiet:
        say(f"there is no run to be {did} {address}", err=True)
