"""JSON-RPC as ACP speaks it: one message a line. What is read is taken apart here, what is said is put together."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from pydantic import BaseModel

METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602


class Request(NamedTuple):
    """The agent asks for something. `id` is whatever it numbers its requests with."""

    id: Any
    method: str
    params: Any


class Notification(NamedTuple):
    """The agent tells something."""

    method: str
    params: Any


class Reply(NamedTuple):
    """The agent answers request `id` of ours: with a result, or with an error where that is not null."""

    id: Any
    result: Any
    error: Any


def understood(told: dict[str, Any]) -> Request | Notification | Reply | None:
    """The message that a line of JSON is; None where it is none. Whether it says `jsonrpc` is not looked at."""
    method = told.get("method")
    if isinstance(method, str):
        return (
            Request(told["id"], method, told.get("params"))
            if "id" in told
            else Notification(method, told.get("params"))
        )
    if "id" in told and ("result" in told or "error" in told):
        return Reply(told["id"], told.get("result"), told.get("error"))
    return None


def as_json(model: BaseModel) -> dict[str, Any]:
    """A message of the schema as it is sent: what was not set is left out."""
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


def request(number: int, method: str, params: dict[str, Any]) -> bytes:
    """A request of ours."""
    return _line({"id": number, "method": method, "params": params})


def notification(method: str, params: dict[str, Any]) -> bytes:
    """A notification of ours."""
    return _line({"method": method, "params": params})


def result(number: Any, answer: dict[str, Any]) -> bytes:
    """The answer to a request of the agent."""
    return _line({"id": number, "result": answer})


def error(number: Any, code: int, message: str) -> bytes:
    """What is answered to a request that is not carried out."""
    return _line({"id": number, "error": {"code": code, "message": message}})


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode("ascii") + b"\n"
