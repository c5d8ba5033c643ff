"""An agent of a few lines on the Claude Agent SDK, which brings its own loop and tools: those of Claude Code.

    python agent.py < instruction

It knows nothing of HEMRA: the SDK's program finds endpoint and key in ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY.
"""

import asyncio
import importlib.metadata
import os
import sys

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKError, ResultMessage, query

OPTIONS = ClaudeAgentOptions(
    model=os.environ.get("HEMRA_MODEL", "claude-sonnet-5-5"),
    max_turns=int(os.environ.get("HEMRA_TURNS", "30")),
    tools=["Bash", "Read", "Write", "Edit"],
    permission_mode="bypassPermissions",
    setting_sources=[],
)


async def work(instruction):
    """The SDK's last word on the instruction, a ResultMessage; None when there was none."""
    last = None
    async for message in query(prompt=instruction, options=OPTIONS):
        if isinstance(message, ResultMessage):
            last = message
    return last


def main():
    """Read the instruction, print the answer."""
    if "--version" in sys.argv:
        print(f"claude-agent-sdk 1.0, claude-agent-sdk {importlib.metadata.version('claude-agent-sdk')}")
        return
    try:
        said = asyncio.run(work(sys.stdin.read()))
    except ClaudeSDKError as error:
        sys.exit(f"the model did not answer: {error}")
    if said is None or said.is_error:
        sys.exit(f"the model did not answer: {said and (said.result or said.subtype)}")
    print(said.result or "")


if __name__ == "__main__":
    main()
