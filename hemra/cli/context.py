"""What all commands share: the settings of one invocation, the options that all take, the store."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from eventlog.store import Store

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Settings:
    """Settings of one invocation. `exit_code` is what it will end with if nothing goes wrong from here."""

    store: str | None = None
    quiet: bool = False
    verbose: int = 0
    debug: bool = field(default_factory=lambda: bool(os.environ.get("HEMRA_DEBUG")))
    exit_code: int = 0

    def store_path(self) -> Path:
        """--store, else HEMRA_STORE, else the platform's user data folder."""
        given = self.store or os.environ.get("HEMRA_STORE")
        if given:
            _check_store(given)
            return Path(given).expanduser().absolute()
        import platformdirs

        return Path(platformdirs.user_data_path("hemra", appauthor=False))


def settings() -> Settings:
    """The settings of the running command."""
    return click.get_current_context().find_object(Settings) or Settings()


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Store an option that may stand before or after the command's name; the last one given wins."""
    kept = ctx.ensure_object(Settings)
    if param.name == "store" and value is not None:
        _check_store(value)
    if value not in (None, False, 0) and param.name is not None:
        setattr(kept, param.name, value)


def _check_store(given: str) -> None:
    """Refuse (UsageError) at once what can be no store: nothing later has to guess what was meant."""
    from hemra.errors import UsageError

    if not given:
        raise UsageError("--store is empty: name a folder, or leave --store out")
    path = Path(given).expanduser()
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file; a store is a folder: --store or HEMRA_STORE names one")


def _no_colour(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """NO_COLOR is the one switch that every part of the program looks at."""
    if value:
        os.environ["NO_COLOR"] = "1"


def _options(*, hidden: bool) -> list[Callable[[F], F]]:
    """The options that every command takes; below the root all but --store are left out of the help."""
    shared: dict[str, Any] = {"expose_value": False, "callback": _keep}
    flag: dict[str, Any] = {"is_flag": True, "hidden": hidden}
    store = "The store (default: HEMRA_STORE, else the user data folder)."
    return [
        click.option("--store", metavar="DIR", help=store, **shared),
        click.option("-q", "--quiet", help="Say only what went wrong.", **flag, **shared),
        click.option("-v", "--verbose", count=True, hidden=hidden, help="Say more.", **shared),
        click.option("--debug", help="Show where an error came from (HEMRA_DEBUG=1).", **flag, **shared),
        click.option("--no-color", help="No colour (NO_COLOR).", **flag, **shared | {"callback": _no_colour}),
    ]  # fmt: skip


def _apply(function: F, *, hidden: bool) -> F:
    for option in reversed(_options(hidden=hidden)):
        function = option(function)
    return function


def global_options(function: F) -> F:
    """Decorator of the root group: --store, -q, -v, --debug, --no-color."""
    return _apply(function, hidden=False)


def common_options(function: F) -> F:
    """Decorator of every command: the same options after the command's name."""
    return _apply(function, hidden=True)


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document with a `schema`.")


def open_store(*, create: bool = False) -> Store:
    """The store of this invocation. Raises NotFound where there is none (and none is to be made)."""
    from eventlog.store import Store
    from hemra.errors import NotFound

    path = settings().store_path()
    if not create and not there_is_a_store():
        raise NotFound(f"no store at {path}; `hemra run` makes one, and --store names another")
    return Store.open(path, create=create)


def there_is_a_store() -> bool:
    """Whether anything lies where the store should be; whether it is a store, opening it tells."""
    path = settings().store_path()
    return (path / "store.json").exists() or (path.is_dir() and any(path.iterdir()))


def store_if_any() -> Store | None:
    """The store, or None (with a note on stderr) where there is none: a list of nothing is no error."""
    if there_is_a_store():
        return open_store()
    note(f"no store at {settings().store_path()} yet; `hemra run` makes one, and --store names another")
    return None


def note(text: str) -> None:
    """One line for a person, on stderr; --quiet keeps it back."""
    if not settings().quiet:
        from hemra.cli.output import say

        say(text, err=True)


def resolve_run(store: Store, reference: str) -> str:
    """The run meant by an id, the beginning of one, a name, or `latest`. Raises NotFound, RunNotFound."""
    from eventlog.store import CATALOG
    from hemra.errors import NotFound
    from projections.query import resolve_run as resolve

    runs = [name for name in store.streams() if name != CATALOG]
    if reference in runs:
        return reference
    if reference == "latest":
        if not runs:
            raise NotFound(f"no run in {store.path} yet; `hemra run` makes one")
        return runs[-1]
    return resolve(store, reference)


def resolve_stream(store: Store, reference: str) -> str:
    """As `resolve_run`, and `catalog`."""
    return reference if reference in store.streams() else resolve_run(store, reference)


def check_trials(store: Store, stream: str, trials: tuple[str, ...]) -> None:
    """Refuse (NotFound) trials that the run's plan does not have; a stream without a plan has any."""
    from eventlog.reader import read
    from hemra.errors import NotFound

    planned = (
        next(read(store, stream, types=("run.planned",), on_damage=lambda _: None), None) if trials else None
    )
    if planned is None:
        return
    count = planned.data.get("trials")
    for trial in trials:
        position = int(trial) if trial.isdecimal() and len(trial) < 10 else 0
        if isinstance(count, int) and not (1 <= position <= count and trial == f"{position:04d}"):
            raise NotFound(f"no trial {trial!r} in {stream}; it has 0001 to {count:04d}")


def end_with(code: int) -> None:
    """Settle the exit code. Said before anything is printed, it holds even when the reader goes away."""
    settings().exit_code = code
