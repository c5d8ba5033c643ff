"""Flag values with a unit: sizes in bytes and lengths of time in seconds."""

from __future__ import annotations

import math
import re
from typing import Any, get_type_hints

import click

from hemra.cli.lazy import nearest

_SIZE_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_MOST_BYTES = 1 << 50
#: The largest number that readers of JSON who keep them as doubles have exactly.
MOST = (1 << 53) - 1
#: What a seed may be; the planner refuses others (`hemra.engine.check.MOST_SEED`).
SEED = click.IntRange(-MOST, MOST)
_TIME_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


class Size(click.ParamType[int]):
    """`500000`, `512K`, `64M`, `2G`: bytes; the units are powers of 1024."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes, at least 1."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", str(value).strip().lower())
        size = float(found[1]) * _SIZE_UNITS[found[2]] if found else 0.0
        if size < 1:
            self.fail(f"{value!r} is no size; give bytes, or a number with K, M or G (64M)", param, ctx)
        if size > _MOST_BYTES:
            self.fail("a size is from 1 byte to 1024T", param, ctx)
        return int(size)


class Length(click.ParamType[float]):
    """`90`, `90s`, `5m`, `1h`: seconds."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds, more than 0."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", str(value).strip().lower())
        seconds = float(found[1]) * _TIME_UNITS[found[2]] if found else 0.0
        if seconds <= 0:
            self.fail(
                f"{value!r} is no length of time; give seconds, or a number with s, m or h (5m)", param, ctx
            )
        return seconds


class Seconds(click.FloatRange):
    """A number of seconds within bounds; `nan`, which no bound keeps out, is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        seconds: float = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not in the range {self._describe_range()}", param, ctx)
        return seconds


class Share(click.ParamType[float]):
    """`0.8` or `80%`: a share between 0 and 1."""

    name = "SHARE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """A share in [0, 1]."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", str(value).strip())
        share = float(found[1]) / (100 if found[2] else 1) if found else -1.0
        if not 0 <= share <= 1:
            self.fail(f"{value!r} is no share; give a number from 0 to 1, or a percentage (80%)", param, ctx)
        return share


class NamedLimit(click.ParamType[tuple[str, float]]):
    """`NAME=N`: a limit of a trial by its name in the record, with the unit that the name says."""

    name = "LIMIT"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """(name, value), the value a whole number where the limit is a count."""
        import msgspec

        from eventlog.schemas.runs import Limits

        if isinstance(value, tuple):
            return value
        name, _, text = str(value).partition("=")
        names = Limits.__struct_fields__
        if name not in names:
            self.fail(
                f"{name!r} is no limit.{nearest(name, list(names))} There are: {', '.join(names)}", param, ctx
            )
        try:
            return name, getattr(msgspec.convert({name: text}, Limits, strict=False), name)
        except msgspec.ValidationError:
            whole = "a number" if get_type_hints(Limits)[name] == float | None else "a whole number"
            self.fail(f"{value!r}: give {name} {whole}, as in {name}=100", param, ctx)
