"""The client's side of ACP for one trial, without input and output of its own: bytes in, events and bytes out.

    initialize -> session/new -> set_mode, set_model where wanted -> session/prompt -> updates -> the reply

Requests of the agent are answered as they come: whether it may, from the task; everything else (files, terminals) was
not offered and is refused. Whatever it sends, reading goes on.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from functools import cache
from importlib import metadata
from typing import Any

from acp.meta import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION
from acp.schema import (
    CancelNotification,
    ClientCapabilities,
    EnvVariable,
    FileSystemCapabilities,
    HttpHeader,
    HttpMcpServer,
    Implementation,
    InitializeRequest,
    McpServerStdio,
    NewSessionRequest,
    PromptRequest,
    RequestPermissionRequest,
    SseMcpServer,
    TextContentBlock,
)
from pydantic import ValidationError

from eventlog.schemas.base import EventData
from eventlog.schemas.conversation import NoteRecorded
from harnesses.acp.briefing import HANDSHAKE_SECONDS, Briefing, briefing_of
from harnesses.acp.choices import Choice, NotOffered, choice_of_mode, choice_of_model
from harnesses.acp.conversation import Conversation
from harnesses.acp.permission import answer, is_left
from harnesses.acp.usage import normal_usage
from harnesses.acp.wire import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Notification,
    Reply,
    Request,
    as_json,
    error,
    notification,
    request,
    result,
    understood,
)
from harnesses.base import Conclusion, Launch
from harnesses.failures import outcome_of_failure
from harnesses.jsonl import mapping, text_of
from harnesses.mcp import McpServer

INITIALIZE, NEW, PROMPT = (AGENT_METHODS[name] for name in ("initialize", "session_new", "session_prompt"))
UPDATE, MAY_I = CLIENT_METHODS["session_update"], CLIENT_METHODS["session_request_permission"]
#: What an agent answers whose user has to log in first.
AUTH_REQUIRED = -32000
_STRANGE = (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError)
#: What agents say in an error when their model's answer was cut at the limit of its length, too often for them.
_CUT = re.compile(r"max_output_tokens|exceeded the \d+ output token maximum")
_OTHER_SERVER = "it takes no MCP server over {over}, and {name!r} is one"


class AcpClient(Conversation):
    """Talks to one process, see `harnesses.base.Dialogue`."""

    def __init__(self) -> None:
        super().__init__()
        self.patience = HANDSHAKE_SECONDS
        self._briefing = Briefing(instruction="", workspace="/")
        self._said = bytearray()
        self._asked: dict[int, tuple[str, Callable[[dict[str, Any]], list[EventData]]]] = {}
        self._number = 0
        self._requests = 0
        self._session: str | None = None
        self._choices: list[Choice] = []
        self._cancelled = False

    # -- the dialogue --------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether it has been given its task."""
        return any(method == PROMPT for method, _ in self._asked.values()) or self.ended

    def begin(self, launch: Launch) -> None:
        """Say the first words."""
        self._briefing = briefing_of(launch)
        self.tools, self.patience = self._briefing.tools, self._briefing.patience
        offered = ClientCapabilities(
            fs=FileSystemCapabilities(read_text_file=False, write_text_file=False), terminal=False
        )
        hello = InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=offered,
            client_info=Implementation(name="hemra", title="HEMRA", version=_own_version()),
        )
        self._ask(INITIALIZE, as_json(hello), self._initialized)

    def say(self) -> bytes:
        """What is to be written now."""
        said, self._said = bytes(self._said), bytearray()
        return said

    def cancel(self) -> None:
        """Ask it to stop its turn."""
        if self._session is not None and self.ready and not self.ended:
            self._cancelled = True
            told = CancelNotification(session_id=self._session)
            self._said += notification(AGENT_METHODS["session_cancel"], as_json(told))

    def give_up(self) -> None:
        """It was not ready in time."""
        waiting = next((method for method, _ in self._asked.values()), INITIALIZE)
        self._end("harness_error", f"it did not answer {waiting!r} within {self.patience:g} s")
        if not self.recognised and self.unrecognised:
            self.flag("adapter_mismatch")

    # -- what the agent says -------------------------------------------------------------------

    def _understood(self, told: dict[str, Any]) -> list[EventData] | None:
        message = understood(told)
        events = None
        with contextlib.suppress(*_STRANGE):
            if isinstance(message, Notification):
                events = self._notified(message)
            elif isinstance(message, Request):
                events = self._requested(message)
            elif isinstance(message, Reply):
                events = self._answered(message)
        return self.bounded(events) if events else events

    def _notified(self, message: Notification) -> list[EventData]:
        if message.method != UPDATE:
            return self.unknown(message.method, message.params)
        params = mapping(message.params)
        if self._session is not None and params.get("sessionId") not in (None, self._session):
            return self.unknown("session/update of another session", params)
        return self.updated(mapping(params.get("update")))

    def _requested(self, message: Request) -> list[EventData]:
        if message.method == MAY_I:
            return self._permission(message)
        text = f"it asked for {message.method[:80]}, which is not offered"
        self._said += error(
            message.id, METHOD_NOT_FOUND, f"{message.method[:80]} is not offered by this client"
        )
        return [*self.paused(), *self.noted("acp_refused", text)]

    def _permission(self, message: Request) -> list[EventData]:
        params = mapping(message.params)
        call, events = self.asked_about(mapping(params.get("toolCall")))
        try:
            options = RequestPermissionRequest.model_validate(params).options
        except ValidationError as wrong:
            self._said += error(message.id, INVALID_PARAMS, "this is no request for a permission")
            return [*events, *self.unknown(f"{MAY_I}: {wrong.errors()[0]['msg']}", params)]
        name, tools = call.names(self.tools)
        briefing = self._briefing
        yes = is_left(tools, allowed=briefing.allowed, forbidden=briefing.forbidden)
        answered, chosen = answer(options, yes=yes)
        self._said += result(message.id, as_json(answered))
        if not yes:
            self.flag("permission_denied")
        text = f"it asked whether it may call {name}: {'yes' if yes else 'no'} ({chosen})"
        details = {"call": call.id, "tool": name, "title": call.title, "answer": chosen,
                   "options": [option.kind for option in options]}  # fmt: skip
        return [*events, *self.paused(), *self.noted("permission", text, details)]

    def _answered(self, message: Reply) -> list[EventData] | None:
        known = isinstance(message.id, int) and not isinstance(message.id, bool)
        method, reader = self._asked.pop(message.id, (None, None)) if known else (None, None)
        if method is None or reader is None:
            return None
        if message.error is not None:
            return [*self.spoken(), *self._refused(method, mapping(message.error))]
        # What is still being said goes on: the reply may overtake the end of it.
        return reader(mapping(message.result))

    def _refused(self, method: str, told: dict[str, Any]) -> list[EventData]:
        """It answers with an error: that is the end, whatever it was asked."""
        said = text_of(told.get("message")) or "an error without words"
        data = told.get("data")
        more = "" if data is None else f": {data if isinstance(data, str) else json.dumps(data)[:500]}"
        self.failure = f"{said}{more}" if method == PROMPT else f"it refuses {method!r}: {said}{more}"
        self.ended = True
        if told.get("code") == AUTH_REQUIRED and outcome_of_failure(self.failure) == "harness_error":
            self._end("auth_error", f"it wants a login: {said}")
        warning = self.warned("harness_error", self.failure)
        if method == PROMPT and _CUT.search(self.failure):
            self.ended_by_model("answer_cut_at_length")
        return warning

    # -- what we say ---------------------------------------------------------------------------

    def _ask(
        self, method: str, params: dict[str, Any], reader: Callable[[dict[str, Any]], list[EventData]]
    ) -> None:
        self._requests += 1
        self._asked[self._requests] = (method, reader)
        self._said += request(self._requests, method, params)

    def _initialized(self, told: dict[str, Any]) -> list[EventData]:
        version = told.get("protocolVersion")
        about = mapping(told.get("agentInfo"))
        name = " ".join(filter(None, (text_of(about.get("name")), text_of(about.get("version")))))
        name = name or "an agent that does not say its name"
        hello = NoteRecorded(level="info", code="harness_hello", text=name, details=self.shallow(told))
        if version != PROTOCOL_VERSION or isinstance(version, bool):
            self.flag("other_protocol")
            self.flag("adapter_mismatch")
            self._end(
                "unknown", f"it speaks version {version!r} of ACP, and only {PROTOCOL_VERSION} is known here"
            )
            return [hello]
        taken = mapping(mapping(told.get("agentCapabilities")).get("mcpCapabilities"))
        for server_name, server in self._briefing.servers.items():
            if server.over != "stdio" and taken.get(server.over) is not True:
                self._end("harness_error", _OTHER_SERVER.format(over=server.over, name=server_name))
                return [hello]
        wanted = NewSessionRequest(
            cwd=self._briefing.workspace,
            mcp_servers=[_server(name, server) for name, server in self._briefing.servers.items()],
        )
        if self._briefing.meta:
            wanted.field_meta = dict(self._briefing.meta)
        self._ask(NEW, as_json(wanted), self._opened)
        return [hello]

    def _opened(self, told: dict[str, Any]) -> list[EventData]:
        session = told.get("sessionId")
        if not isinstance(session, str):
            self._end("harness_error", f"it answers {NEW!r} without a sessionId")
            return []
        self._session = session
        briefing = self._briefing
        try:
            if briefing.mode is not None:
                self._choices.append(choice_of_mode(session, told, briefing.mode))
            if briefing.model is not None:
                self._choices.append(choice_of_model(session, told, briefing.model))
        except NotOffered as missing:
            self._end("harness_error", str(missing))
            return []
        return self._go_on({})

    def _go_on(self, told: dict[str, Any]) -> list[EventData]:
        """Make the next choice; after the last one, give it its task."""
        assert self._session is not None
        if self._choices:
            choice = self._choices.pop(0)
            self._ask(choice.method, choice.params, self._go_on)
        else:
            text = TextContentBlock(type="text", text=self._briefing.instruction)
            prompt = PromptRequest(session_id=self._session, prompt=[text])
            self._ask(PROMPT, as_json(prompt), self._finished)
        return []

    # -- the end -------------------------------------------------------------------------------

    def _finished(self, told: dict[str, Any]) -> list[EventData]:
        self.ended = True
        usage = mapping(told.get("usage"))
        if usage and self._briefing.sums:
            normal = normal_usage(usage)
            if normal is None:
                self.flag("bad_usage")
            else:
                self.used_in_all(normal)
        reason = told.get("stopReason")
        if reason == "max_tokens":
            self.flag("answer_cut_at_length")
        elif reason == "refusal":
            self.flag("refusal")
        elif reason == "max_turn_requests":
            self._end("turn_limit", "it ended its turn at its limit of requests")
        elif reason == "cancelled":
            if not self._cancelled:
                self._end("harness_error", "it says that its turn was cancelled, which nobody asked for")
        elif reason != "end_turn":
            said = (
                "without a reason" if reason is None else f"as {reason!r}, which the protocol does not know"
            )
            self._end("harness_error", f"it ended its turn {said}")
        return []

    def _end(self, outcome: str, reason: str) -> None:
        """It is over, and not as it should be."""
        self.ended, self.outcome, self.reason = True, outcome, reason

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], Conclusion]:
        """The last line, what was not told to its end, and what to make of the whole."""
        events = [*self.last_line(), *self.bounded(self.settled())]
        told, conclusion = super().finish(exit_code, exit_signal)
        return [*events, *told, *self.left_out()], conclusion

    def _answer(self) -> list[EventData]:
        """The answer, and whether it is all of it."""
        if self.final and self._cut:
            self.flag("output_truncated")
        return super()._answer()

    def _contradiction(self, exit_code: int | None) -> list[EventData]:
        """Nothing: with what a server exits says nothing of the turn that it served."""
        return []

    def _unexplained(self, exit_code: int | None, exit_signal: int | None) -> tuple[str | None, str | None]:
        """A server that goes away while it is asked something has failed, even where it exits with 0."""
        outcome, reason = super()._unexplained(exit_code, exit_signal)
        if outcome is not None or exit_code is None:
            return outcome, reason
        asked = next((method for method, _ in self._asked.values()), INITIALIZE)
        return "harness_error", f"it exited with {exit_code} and left {asked!r} unanswered"


@cache
def _own_version() -> str:
    """What an agent may print of who talks to it."""
    try:
        return metadata.version("hemra")
    except metadata.PackageNotFoundError:
        return "unknown"


def _server(name: str, server: McpServer) -> HttpMcpServer | SseMcpServer | McpServerStdio:
    if server.url is None:
        env = [EnvVariable(name=key, value=value) for key, value in server.env.items()]
        return McpServerStdio(name=name, command=server.command or "", args=list(server.args), env=env)
    headers = [HttpHeader(name=key, value=value) for key, value in server.headers.items()]
    if server.over == "sse":
        return SseMcpServer(type="sse", name=name, url=server.url, headers=headers)
    return HttpMcpServer(type="http", name=name, url=server.url, headers=headers)
