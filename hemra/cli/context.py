"""What all commands share: the settings of one invocation, and the options that all take."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

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


def end_with(code: int) -> None:
    """Settle the exit code. Said before anything is printed, it holds even when the reader goes away."""
    settings().exit_code = code
