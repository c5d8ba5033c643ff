"""What models cost: a dated table that the user can edit. A model that is not in it has no price, never 0.

The bundled table is `prices.yaml` beside this file; the user's own, in the folder for settings or given with
`--prices`, takes its place, or stands before it with `extends: bundled`. docs/prices.md describes the fields.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from eventlog.schemas.trials import Usage
from hemra.errors import NotFound, UsageError

BUNDLED = Path(__file__).with_name("prices.yaml")
#: A price above this (US dollars per million tokens) is a mistake of whoever wrote it.
MOST = 1e6
_MOST_TOKENS = 1 << 53
_PRICES = ("input", "cached_input", "cache_write", "output")
_MILLION = 1_000_000


class LongPrompts(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Prices of a call whose whole input is more than `above` tokens; of all its tokens, the output's too."""

    above: int
    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None


class Entry(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Prices of some models, in US dollars per million tokens.

    `models` are names; `*` in one stands for any characters. What is read from a cache or written into one costs as
    much as other input where it has no price of its own. `source` says where the prices come from.
    """

    models: list[str]
    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None
    long: LongPrompts | None = None
    source: str | None = None

    def rates(self, input_tokens: int) -> Entry | LongPrompts:
        """The prices of a call with so much input."""
        return self.long if self.long is not None and input_tokens > self.long.above else self

    @property
    def free(self) -> bool:
        """Whether nothing costs anything, however much it is."""
        parts = [self] if self.long is None else [self, self.long]
        return not any(getattr(part, name) for part in parts for name in _PRICES)


class _File(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A table as it stands in its file."""

    name: str
    date: datetime.date
    prices: list[Entry]
    currency: Literal["USD"] = "USD"
    extends: Literal["bundled"] | None = None


@dataclass(frozen=True)
class PriceTable:
    """Entries, the first first. `date` is YYYY-MM-DD, `digest` is `sha256:<hex>` over name, date and entries."""

    name: str
    date: str
    entries: tuple[Entry, ...]

    @property
    def label(self) -> str:
        """Name and date, as they are recorded with every cost."""
        return f"{self.name} ({self.date})"

    @property
    def digest(self) -> str:
        """What two tables share only if every price in them is the same."""
        text = json.dumps(self._content(), sort_keys=True, allow_nan=False)
        return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def _content(self) -> dict[str, Any]:
        return {"name": self.name, "date": self.date, "prices": msgspec.to_builtins(self.entries)}

    def recorded(self) -> dict[str, Any]:
        """The whole table as it is written into a plan: a resumed run goes on with the same prices."""
        return {**self._content(), "digest": self.digest}

    @classmethod
    def of_record(cls, recorded: Mapping[str, Any]) -> PriceTable:
        """The table that `recorded()` gave. Raises UsageError for anything else."""
        try:
            entries = msgspec.convert(recorded["prices"], tuple[Entry, ...])
            return cls(str(recorded["name"]), str(recorded["date"]), entries)
        except (KeyError, TypeError, msgspec.ValidationError) as error:
            raise UsageError(f"the recorded price table cannot be read: {error}") from error

    def entry(self, model: str | None) -> Entry | None:
        """The entry for a model: the exact name, else the pattern with the most characters that are no `*`, and of
        equals the first. None where the table does not have it."""
        if model is None:
            return None
        best: tuple[int, Entry] | None = None
        for entry in self.entries:
            for pattern in entry.models:
                if pattern == model:
                    return entry
                if _matches(pattern, model) and (best is None or _literal(pattern) > best[0]):
                    best = (_literal(pattern), entry)
        return best[1] if best else None

    def cost(self, model: str | None, usage: Usage | None) -> float | None:
        """What a call cost in US dollars; None where the model has no price or the tokens are not known.

        Input includes what was read from a cache and written into one; of these, what is not told is taken as none.
        """
        entry = self.entry(model)
        if entry is None:
            return None
        if entry.free:
            return 0.0
        if usage is None or usage.input_tokens is None or usage.output_tokens is None:
            return None
        read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
        plain = usage.input_tokens - read - written
        if plain < 0:
            return None  # what was told contradicts itself
        at = entry.rates(usage.input_tokens)
        return (
            plain * at.input
            + read * (at.input if at.cached_input is None else at.cached_input)
            + written * (at.input if at.cache_write is None else at.cache_write)
            + usage.output_tokens * at.output
        ) / _MILLION


def _literal(pattern: str) -> int:
    return len(pattern) - pattern.count("*")


def _matches(pattern: str, model: str) -> bool:
    """Whether `*` stands for what is missing. Anything else is itself: names hold brackets and dots."""
    if "*" not in pattern:
        return False
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), model, re.DOTALL) is not None


def user_file() -> Path:
    """Where the user's own table is looked for."""
    import platformdirs

    return Path(platformdirs.user_config_path("hemra", appauthor=False)) / "prices.yaml"


def chosen_file(given: str | None = None) -> Path:
    """The file in use: the one given, else the user's own where there is one, else the bundled one."""
    if given is not None:
        return Path(given).expanduser().absolute()
    own = user_file()
    return own if own.is_file() else BUNDLED


def load_prices(given: str | None = None) -> PriceTable:
    """The table in use (see `chosen_file`). Raises NotFound; UsageError that names file and field."""
    path = chosen_file(given)
    if not path.is_file():
        raise NotFound(f"no price table {path}; `hemra prices` shows the one in use")
    return read_prices(path)


def read_prices(path: Path) -> PriceTable:
    """The table in a file. Raises UsageError that names file, entry, field and what is wrong."""
    from hemra.datasets.yamlfile import read_yaml

    file = read_yaml(path, _File)
    problems = list(_problems(file))
    if problems:
        raise UsageError("; ".join(f"{path}: {problem}" for problem in problems))
    entries, name = tuple(file.prices), file.name
    if file.extends is not None:
        below = read_prices(BUNDLED)
        entries, name = (*entries, *below.entries), f"{name} + {below.label}"
    return PriceTable(name, file.date.isoformat(), entries)


def _problems(file: _File) -> Iterator[str]:
    if not file.name.strip() or not file.name.isprintable():
        yield "name: give the table a name of one line: it is recorded with every cost"
    seen: dict[str, int] = {}
    for number, entry in enumerate(file.prices, 1):
        where = f"prices, entry {number}"
        if not entry.models:
            yield f"{where}: models: name at least one model"
        for model in entry.models:
            if not model.strip():
                yield f"{where}: models: a name is empty"
            elif model in seen:
                yield f"{where}: {model!r} has a price already, in entry {seen[model]}"
            seen.setdefault(model, number)
        yield from _bad_prices(entry, where)
        if entry.long is not None:
            yield from _bad_prices(entry.long, f"{where}, long")
            if not 1 <= entry.long.above <= _MOST_TOKENS:
                yield f"{where}, long: above: a number of tokens is wanted, from 1 to {_MOST_TOKENS}"


def _bad_prices(part: Entry | LongPrompts, where: str) -> Iterator[str]:
    for name in _PRICES:
        price = getattr(part, name)
        if price is not None and not (math.isfinite(price) and 0 <= price <= MOST):
            yield (
                f"{where}: {name} is {price:g}: US dollars per million tokens are wanted, from 0 to {MOST:g}"
            )
