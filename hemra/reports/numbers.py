"""How figures are written for people. Unknown is `—`, never 0; rounding happens here and nowhere else."""

from __future__ import annotations

import math
from typing import Any

from hemra.reports import outside

UNKNOWN = outside.UNKNOWN
plain = outside.plain


def percent(value: float | None, digits: int = 1) -> str:
    """A share as a percentage: `45.5 %`."""
    return UNKNOWN if value is None else f"{value * 100:.{digits}f} %"


def points(value: float | None) -> str:
    """A difference of shares in percentage points, always with its sign: `+18.2`."""
    if value is None:
        return UNKNOWN
    text = f"{value * 100:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def interval(low: float | None, high: float | None) -> str:
    """A 95 % interval of a share in percent: `34–58`."""
    return UNKNOWN if low is None or high is None else f"{low * 100:.0f}–{high * 100:.0f}"


def spread(estimate: dict[str, Any]) -> str:
    """What stands behind a mean: ` [34–58]`, or nothing where it has no interval."""
    return "" if estimate["low"] is None else f" [{interval(estimate['low'], estimate['high'])}]"


def points_interval(low: float | None, high: float | None) -> str:
    """A 95 % interval of a difference: `−3.1 to +38.0`."""
    return UNKNOWN if low is None or high is None else f"{points(low)} to {points(high)}"


def p_value(p: float | None) -> str:
    """A p-value: `p = 0.25`, `p < 0.001`."""
    if p is None:
        return f"p {UNKNOWN}"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def duration(ns: float | None) -> str:
    """Nanoseconds as a length of time in its natural unit: `840 ms`, `1.9 s`, `2 m 05 s`, `1 h 02 m`."""
    if ns is None:
        return UNKNOWN
    seconds = ns / 1e9
    if round(abs(seconds) * 1000) < 1000:
        return f"{seconds * 1000:.0f} ms"
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} m"


def count(value: float | None) -> str:
    """A large count with three digits at most: `950`, `12.3k`, `4.57M`."""
    if value is None:
        return UNKNOWN
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit * 0.9995:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.0f}"


def many(number: int, noun: str) -> str:
    """A number of things: `1 task`, `3 tasks`, `2 harnesses`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def total(sum_: float | None, lower_bound: bool) -> str:
    """A sum with `+` where some of it is not known."""
    return UNKNOWN if sum_ is None else count(sum_) + ("+" if lower_bound else "")


def money(usd: float | None, lower_bound: bool = False) -> str:
    """US dollars: `$0.42`, `$0.0031`, `$0.42+` where part is not known; `$0.00` only for a true zero."""
    if usd is None:
        return UNKNOWN
    text = f"{usd:.2f}" if usd == 0 or usd >= 0.095 else f"{usd:.2g}"
    return f"${text}" + ("+" if lower_bound else "")


def moment(time: str | None) -> str:
    """An event's UTC time to the second: `2026-11-30 19:45:12 UTC`."""
    return UNKNOWN if not time else f"{time[:10]} {time[11:19]} UTC"


def short_digest(digest: str | None) -> str:
    """The beginning of a digest, enough to tell two apart: `sha256:b277fd623676`."""
    if not digest:
        return UNKNOWN
    prefix, colon, hexadecimal = digest.rpartition(":")
    return plain(f"{prefix}{colon}{hexadecimal[:12]}")


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters, with an ellipsis where something was left out."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def quantity(value: Any) -> str:
    """A limit's or condition's value: numbers without a useless `.0`, everything else as plain text."""
    if isinstance(value, bool) or value is None or not isinstance(value, float):
        return plain(value)
    return _decimal(value)


def amount(value: float, unit: str) -> str:
    """A limit, or what was measured of it, with its unit: `200 MiB`, `600.4 s`, `2000000 tokens`, `$0.50`, `1 turn`."""
    if unit == "USD" and value < 1e18:
        cents, rest = f"{value:.4f}"[:-2], f"{value:.4f}"[-2:].rstrip("0")
        return f"${cents}{rest}" if value == 0 or value >= 0.0001 else money(value)
    if unit in ("s", "seconds"):
        return f"{_decimal(round(value, 1 if abs(value) >= 10 else 3))} s"
    if unit == "bytes":
        return _bytes(value)
    text = _decimal(value)
    return f"{text} {_ONE.get(unit, unit) if text == '1' else plain(unit)}"


def limit(name: str, value: float) -> str:
    """A limit by its name in the record, which says the unit: `memory_bytes 200 MiB`."""
    return f"{plain(name)} {limit_value(name, value)}"


def limit_value(name: str, value: float) -> str:
    """The value of the limit `name`: `200 MiB`."""
    for ending, unit in (("_bytes", "bytes"), ("_seconds", "seconds"), ("_usd", "USD")):
        if name.endswith(ending):
            return amount(value, unit)
    return _decimal(value)


#: Units of which there is one.
_ONE = {"calls": "call", "turns": "turn", "tokens": "token", "processes": "process"}


def _bytes(value: float) -> str:
    if abs(value) < 1024:
        return f"{_decimal(value)} {'byte' if value == 1 else 'bytes'}"
    power = min(4, (int(abs(value)).bit_length() - 1) // 10)
    if abs(value) >= 1 << 90:
        return f"{value:g} bytes"
    return f"{_decimal(round(value / (1 << 10 * power), 1))} {('KiB', 'MiB', 'GiB', 'TiB')[power - 1]}"


def _decimal(value: float) -> str:
    """A number in six digits or more, without an exponent but where nobody would read its digits."""
    if not math.isfinite(value) or abs(value) >= 1e18:
        return f"{value:g}"
    if value == int(value):
        return str(int(value))
    if abs(value) >= 1000:
        return f"{value:.1f}"
    return f"{value:.10f}".rstrip("0") if abs(value) < 0.001 else f"{value:g}"
