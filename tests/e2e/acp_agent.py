"""An agent for tests that speaks ACP by the library's own agent side. It does what its name says: `acp_agent.py NAME`.

`works` sources `marker.sh` in its session's folder, after asking whether it may, and answers what that printed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from typing import Any

from acp import Agent, RequestError, run_agent
from acp.helpers import start_tool_call, text_block, tool_content, update_agent_message_text, update_tool_call
from acp.schema import (
    AgentCapabilities,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    SessionMode,
    SessionModeState,
    SetSessionModeResponse,
    ToolCallUpdate,
    Usage,
)

COMMAND = ["bash", "-c", 'source ./marker.sh && echo "$MARKER"']
OPTIONS = [
    PermissionOption(option_id=kind, name=kind, kind=kind)
    for kind in ("allow_always", "allow_once", "reject_once")
]


class Scripted(Agent):
    """One session, one prompt."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cwd = ""
        self.mode = "ask"
        self.cancelled = asyncio.Event()
        self.client: Any = None

    def on_connect(self, conn: Any) -> None:
        """Who is talked to."""
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        """Of version 1, unless it is from the future."""
        version = 2 if self.name == "future" else protocol_version
        return InitializeResponse(
            protocol_version=version, agent_capabilities=AgentCapabilities(),
            agent_info=Implementation(name="scripted", version="7"),
        )  # fmt: skip

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        """The session `s`."""
        if self.name == "locked":
            raise RequestError.auth_required()
        self.cwd = cwd
        modes = [SessionMode(id=each, name=each) for each in ("ask", "free")]
        return NewSessionResponse(
            session_id="s", modes=SessionModeState(current_mode_id="ask", available_modes=modes)
        )

    async def set_session_mode(self, mode_id: str, session_id: str, **_: Any) -> SetSessionModeResponse:
        """Remember it."""
        self.mode = mode_id
        return SetSessionModeResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:
        """The turn is over."""
        self.cancelled.set()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        """Do what its name says."""
        if self.name == "dies":
            await self.say("I shall ")
            os._exit(0)
        if self.name == "waits":
            await self.say("Let me think.")
            await self.cancelled.wait()
            return PromptResponse(stop_reason="cancelled")
        if self.name == "reads":
            await self.read()
        if self.name == "edits":
            await self.say(await self.asked("e", "edit", "write a file"))
            return PromptResponse(stop_reason="end_turn")
        marker = await self.sourced()
        if self.name == "floods":
            for number in range(10_500):
                await self.client.session_update("s", start_tool_call(f"f{number}", "ls", kind="execute"))
        if self.name == "late":
            await self.say(marker[:5])
            asyncio.get_running_loop().call_later(0.2, lambda: asyncio.ensure_future(self.say(marker[5:])))
        else:
            await self.say(marker)
        usage = Usage(total_tokens=30, input_tokens=20, output_tokens=10)
        return PromptResponse(stop_reason="end_turn", usage=usage)

    async def say(self, text: str) -> None:
        """A piece of an answer."""
        await self.client.session_update("s", update_agent_message_text(text))

    async def sourced(self) -> str:
        """What the marker is; empty where that was not allowed."""
        await self.client.session_update(
            "s", start_tool_call("c1", "source ./marker.sh", kind="execute", status="pending", raw_input={})
        )
        if self.mode != "free" and await self.asked("c1", "execute", "source ./marker.sh") != "allow_once":
            return ""
        done = subprocess.run(COMMAND, cwd=self.cwd, capture_output=True, text=True, check=False)
        shown = [tool_content(text_block(done.stdout))]
        await self.client.session_update(
            "s", update_tool_call("c1", status="completed", content=shown, raw_input={"command": COMMAND[-1]})
        )
        return done.stdout.strip()

    async def asked(self, call: str, kind: Any, title: str) -> str:
        """What was chosen."""
        about = ToolCallUpdate(tool_call_id=call, kind=kind, title=title)
        answer = await self.client.request_permission("s", about, OPTIONS)
        return str(getattr(answer.outcome, "option_id", answer.outcome.outcome))

    async def read(self) -> None:
        """Ask for a file of the client, which must not be had."""
        try:
            await self.client.read_text_file("s", "/etc/passwd")
        except RequestError as error:
            assert error.code == -32601  # noqa: PT017
        else:
            await self.say("it was read")


def main(name: str) -> None:
    """Be the agent of a name."""
    if name == "silent":
        time.sleep(600)
    if name == "babbles":
        print("Welcome!\n" * 50, flush=True)
        time.sleep(600)
    if name == "logs":
        print("2026-12-01 INFO starting", flush=True)
    asyncio.run(run_agent(Scripted(name)))
    if name == "stays":
        signal.pause()


if __name__ == "__main__":
    main(sys.argv[1])
