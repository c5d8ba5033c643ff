"""What can stand in a field that has a few choices, for errors about files: msgspec's own do not name them."""

from __future__ import annotations

import re
from typing import Any

from msgspec import inspect

_STEP = re.compile(r"\.(\w+)|\[[^\]]*\]")
_REFUSED = re.compile(r"[Ii]nvalid enum value (.+)", re.DOTALL)


def with_choices(complaint: str, schema: type, place: str) -> str:
    """msgspec's complaint about what stands at `place` of a `schema`; of a wrong choice, with those that there are."""
    refused = _REFUSED.fullmatch(complaint)
    choices = values_at(schema, place) if refused else ()
    if not refused or not choices:
        return complaint
    return f"{refused[1]} is none; there are: {', '.join(map(str, choices))}"


def values_at(schema: type, place: str) -> tuple[Any, ...]:
    """The choices at a place as msgspec names it (`$.servers[...].transport`); empty where it has none."""
    found: list[inspect.Type] = [inspect.type_info(schema)]
    for step in _STEP.finditer(place):
        found = [below for each in found for below in _below(each, step[1])]
    return next((each.values for each in _single(found) if isinstance(each, inspect.LiteralType)), ())


def _single(types: list[inspect.Type]) -> list[inspect.Type]:
    """The types themselves: neither unions of them nor what is noted about them."""
    found: list[inspect.Type] = []
    for each in types:
        if isinstance(each, inspect.UnionType):
            found += _single(list(each.types))
        elif isinstance(each, inspect.Metadata):
            found += _single([each.type])
        else:
            found.append(each)
    return found


def _below(whole: inspect.Type, field: str | None) -> list[inspect.Type]:
    """What stands in a field, or (None) in every entry."""
    found: list[inspect.Type] = []
    for each in _single([whole]):
        if field is not None and isinstance(each, inspect.StructType):
            found += [part.type for part in each.fields if part.encode_name == field]
        elif field is None and isinstance(each, inspect.DictType):
            found.append(each.value_type)
        elif field is None and isinstance(each, inspect.ListType | inspect.VarTupleType):
            found.append(each.item_type)
    return found
