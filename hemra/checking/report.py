"""What a check comes to: the lines that a person reads, and the verdict."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from eventlog.schemas.trials import Usage
from hemra.checking.attempt import Seen
from hemra.checking.endpoint import WORD

#: Outcomes that say that the harness did its work, or nothing.
_FINE = (None, "completed")
_MOST_NAMED = 12


@dataclass(frozen=True)
class Verdict:
    """`wrong`: why it is not fine; `remarks`: what is to be known although it is."""

    wrong: list[str]
    remarks: list[str]

    @property
    def fine(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong


def verdict(seen: Seen) -> Verdict:
    """Judge what was seen."""
    if seen.problems:
        return Verdict(list(seen.problems), [])
    wrong, remarks = [], []
    if seen.limit is not None:
        wrong.append(f"it was stopped at its limit of {seen.limit}")
    if seen.outcome not in _FINE:
        wrong.append(f"its own events say {seen.outcome}: {seen.reason or 'no reason given'}")
    wrong += _of_calls(seen) if seen.has_model else []
    if "hang_after_result" in seen.flags:
        wrong.append("it said that it was done and did not exit")
    if "adapter_mismatch" in seen.flags:
        wrong.append(f"none of its {seen.unrecognised} lines is an event that the adapter knows")
    if "no_output" in seen.flags:
        wrong.append("it gave no answer")
    if seen.exit_code or seen.exit_signal:
        remarks.append(
            "its exit code is not 0" if seen.exit_code else f"a signal ended it: {seen.exit_signal}"
        )
    if seen.leftover_processes:
        remarks.append(f"it left {seen.leftover_processes} processes running, which were ended")
    if seen.unrecognised and "adapter_mismatch" not in seen.flags:
        remarks.append(f"{seen.unrecognised} of its lines are no events that the adapter knows")
    if seen.version_problem:
        remarks.append(f"its version is not known: {seen.version_problem}")
    if seen.outside:
        remarks.append(f"besides its model it tries to reach {', '.join(_places(seen.outside)[:3])}")
    if seen.packets_lost:
        remarks.append(f"{seen.packets_lost} packets could not be looked at")
    return Verdict(wrong, remarks)


def _of_calls(seen: Seen) -> Iterator[str]:
    asked = [call for call in seen.calls if call["dialect"] is not None]
    if not asked:
        yield "it has an upstream and asked no model: it does not use the address that it was given"
        return
    if any(not call["token"] for call in asked):
        yield "a call came without the token that it was given in the place of a key"
    refused = [call for call in asked if call["status"] != 200]
    if refused:
        yield f"{len(refused)} of its calls could not be answered: {refused[0]['answered']}"
    if any(call["tools"] for call in asked) and not seen.carried_out:
        yield f"it offers tools, and no result of one said {WORD!r}: the command was not carried out, or not told"
    if seen.told is not None and not _same(seen.told, seen.served, seen.served_all):
        yield f"it tells {_usage(seen.told)} where {_usage(seen.served)} were served"
    if seen.recognised and not seen.final:
        yield "its final answer was not found in what it printed"


def _same(told: Usage, *served: Usage | None) -> bool:
    """Whether what it tells of is what was served, with or without auxiliary calls; what it leaves out is no lie."""
    names = ("input_tokens", "output_tokens", "cache_read_tokens")
    return any(
        all(getattr(told, name) in (None, getattr(each, name)) for name in names)
        for each in served
        if each is not None
    )


def _usage(usage: Usage | None) -> str:
    if usage is None:
        return "—"
    parts = [
        (usage.input_tokens, "input"), (usage.cache_read_tokens, "of them cached"), (usage.output_tokens, "output"),
    ]  # fmt: skip
    return ", ".join(f"{'—' if count is None else count} {name}" for count, name in parts)


def _places(outside: list[dict[str, Any]]) -> list[str]:
    return [
        f"{each['name'] or each['address']}" + (f":{each['port']}" if each["port"] is not None else "")
        for each in outside
    ]


def _milliseconds(nanoseconds: int | None) -> str | None:
    return None if nanoseconds is None else f"{nanoseconds / 1e6:.0f} ms"


def facts(seen: Seen) -> list[tuple[str, str | None]]:
    """(label, value) for a person, in order; a label that is empty goes on with the one before."""
    told: list[tuple[str, str | None]] = [
        ("harness", f"{seen.harness} ({seen.kind})"),
    ]
    if not seen.argv:
        return told
    told += [("version", seen.version), ("sandbox", seen.sandbox)]
    told.append(("started with", shlex.join(seen.argv)))
    told.append(("environment", ", ".join(seen.environment) or "nothing of its own"))
    told += _calls(seen)
    told += [
        ("usage told", _usage(seen.told)),
        ("usage served", _usage(seen.served) if seen.calls else None),
        ("answer", seen.final),
        ("exit", _exit(seen)),
        ("first request", _milliseconds(seen.first_request_ns)),
        ("whole", _milliseconds(seen.duration_ns)),
    ]
    for label, files in (("HOME", seen.home), ("/tmp", seen.temporary), ("workspace", seen.workspace)):
        told += _files(label, files, seen.given if label == "HOME" else [])
    return told + _outside(seen)


def _exit(seen: Seen) -> str:
    how = f"signal {seen.exit_signal}" if seen.exit_signal else f"code {seen.exit_code}"
    return f"{how}, outcome {seen.outcome or 'by its end'}" + (
        f" ({', '.join(seen.flags)})" if seen.flags else ""
    )


def _calls(seen: Seen) -> list[tuple[str, str | None]]:
    asked = [call for call in seen.calls if call["dialect"] is not None]
    probes = len(seen.calls) - len(asked)
    told: list[tuple[str, str | None]] = [
        ("calls", f"{seen.main} main, {len(asked) - seen.main} auxiliary, {probes} others")
    ]
    for call in seen.calls:
        what = f"{call['dialect']}{', streamed' if call['stream'] else ''}, model {call['model']}" if call[
            "dialect"] else f"{call['status']}"  # fmt: skip
        told.append(
            ("", f"{call['method']} {call['path']}: {what}, {call['bytes']} bytes; got {call['answered']}")
        )
    first: dict[str, int] = next((call["tools"] for call in asked if call["tools"]), {})
    if first:
        tools = ", ".join(f"{name} ({size})" for name, size in first.items())
        told.append(("tools offered", f"{len(first)}, {sum(first.values())} bytes: {tools}"))
    elif asked:
        told.append(("tools offered", "none"))
    return told


def _files(label: str, files: dict[str, int], given: list[str]) -> list[tuple[str, str | None]]:
    if not files and not given:
        return []
    told: list[tuple[str, str | None]] = []
    if given:
        told.append((label, f"put there for it: {', '.join(given)}"))
    if files:
        size = sum(files.values())
        told.append(("" if given else label, f"{len(files)} files written, {size} bytes"))
        told += [("", f"{path}: {count} bytes") for path, count in list(files.items())[:_MOST_NAMED]]
        if len(files) > _MOST_NAMED:
            told.append(("", f"and {len(files) - _MOST_NAMED} more"))
    return told


def _outside(seen: Seen) -> list[tuple[str, str | None]]:
    if seen.outside is None:
        why = f" ({seen.not_watched})" if seen.not_watched else ""
        return [("outside", f"not watched{why}: it had this machine's network")]
    if not seen.outside:
        return [("outside", "nothing was looked up or connected to")]
    lines = [
        f"{place} by {each['protocol']}" + (f", {each['count']} times" if each["count"] > 1 else "")
        for place, each in zip(_places(seen.outside), seen.outside, strict=True)
    ]
    return [("outside", lines[0]), *(("", line) for line in lines[1:])]
