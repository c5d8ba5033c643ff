"""The script file: what the server says, turn by turn, and what goes wrong. YAML, strictly typed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

#: Scripts that can be named without a path.
BUNDLED = Path(__file__).parent / "scripts"

FaultKind = Literal[
    "status", "hang", "drop", "junk", "empty", "length", "malformed_arguments", "cut", "stall", "error_event"
]


class ScriptError(ValueError):
    """The script file cannot be used; the text names the place and what is wrong there."""


class UsageGiven(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tokens to tell. What is left out is counted from the texts; `input` includes the cached ones."""

    input: int | None = None
    output: int | None = None
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int | None = None


class CallGiven(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call: an `action` that is translated for the harness, or the `name` of an offered tool, or the
    first of `any` that is offered. `input` is the text of a freeform tool; `raw` goes out unchecked."""

    action: str | None = None
    name: str | None = None
    arguments: dict[str, Any] = {}
    input: str | None = None
    raw: str | None = None
    any: tuple[CallGiven, ...] = ()


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What goes wrong. `turn`: at this turn only (from 1). `times`: only the first so many tries of a turn."""

    kind: FaultKind
    turn: int | None = None
    times: int | None = None
    status: int = 500
    message: str | None = None
    code: str | None = None
    retry_after: int | float | None = None
    after_tokens: int = 3
    seconds: float | None = None


class Pace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds before the headers and before the first token, and the tokens a second after that."""

    headers_s: float = 0.0
    first_token_s: float = 0.0
    tokens_per_second: float | None = None


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said in one turn. `usage` null tells the client none; left out, it is counted."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[CallGiven, ...] = ()
    usage: UsageGiven | msgspec.UnsetType | None = msgspec.UNSET
    fault: Fault | None = None
    pace: Pace | None = None


class Auxiliary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How side calls (titles, suggestions) are told and answered. A request is one when its model is listed,
    or it offers no tools though the script calls some (`without_tools`)."""

    models: tuple[str, ...] = ()
    without_tools: bool = True
    text: str = "A short title"


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole script file. `mode` `turns` plays the turns; `solver` and `saboteur` read the task and use
    its recipe."""

    mode: Literal["turns", "solver", "saboteur"] = "turns"
    turns: tuple[Turn, ...] = ()
    after_last: Literal["repeat", "restart", "refuse"] = "repeat"
    faults: tuple[Fault, ...] = ()
    pace: Pace = Pace()
    usage: UsageGiven | None = UsageGiven()
    token_ids: bool = False
    logprobs: bool = False
    auxiliary: Auxiliary = Auxiliary()
    models: tuple[str, ...] = ("test-model",)
    accept_key: str | None = None
    session_header: str | None = None
    record_bodies: bool = False


def load(reference: str | Path) -> Script:
    """The script of a file, or of a name in `scripts/`. Raises ScriptError."""
    path = Path(reference)
    if not path.is_file():
        path = BUNDLED / f"{reference}.yaml"
    if not path.is_file():
        names = ", ".join(sorted(p.stem for p in BUNDLED.glob("*.yaml")))
        raise ScriptError(f"{reference}: no such file, and none of the bundled scripts ({names})")
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (ScriptError, UnicodeDecodeError) as error:
        raise ScriptError(f"{path}: {error}") from error


def parse(text: str) -> Script:
    """The script in a YAML text. Raises ScriptError."""
    import yaml

    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ScriptError(f"this is not YAML: {' '.join(str(error).split())}") from error
    return checked(_converted(loaded or {}, Script))


def fault(text: str) -> Fault:
    """One fault as YAML, `{kind: status, status: 429}`, or only its kind. Raises ScriptError."""
    import yaml

    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ScriptError(f"this is not YAML: {' '.join(str(error).split())}") from error
    given: Fault = _converted({"kind": loaded} if isinstance(loaded, str) else loaded, Fault)
    return given


def _converted(value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ScriptError(str(error)) from error


def checked(script: Script) -> Script:
    """The same script, when its parts fit together. Raises ScriptError."""
    if script.mode == "turns" and not script.turns:
        raise ScriptError("turns: a script of mode 'turns' needs one at least")
    if script.mode != "turns" and script.turns:
        raise ScriptError(f"turns: mode {script.mode!r} makes its own; leave them out")
    for number, turn in enumerate(script.turns, 1):
        for call in turn.calls:
            _check_call(call, f"turns[{number}].calls")
    _check_faults((*script.faults, *(turn.fault for turn in script.turns if turn.fault)))
    return script


def _check_call(call: CallGiven, place: str) -> None:
    from .actions import ACTIONS

    ways = sum((call.action is not None, call.name is not None, bool(call.any)))
    if ways != 1:
        raise ScriptError(f"{place}: a call has exactly one of 'action', 'name' and 'any'")
    if call.action is not None and call.action not in ACTIONS:
        raise ScriptError(f"{place}: no action {call.action!r}; there are {', '.join(sorted(ACTIONS))}")
    for alternative in call.any:
        _check_call(alternative, f"{place}.any")


def _check_faults(faults: Sequence[Fault]) -> None:
    for given in faults:
        if given.kind == "status" and not 400 <= given.status <= 599:
            raise ScriptError(f"faults: status {given.status} is none of a failure (400 to 599)")
        if given.after_tokens < 0 or (given.times is not None and given.times < 1):
            raise ScriptError("faults: 'after_tokens' must be 0 or more and 'times' 1 or more")
