"""An agent of a few lines on the OpenAI Agents SDK: its loop, its model, and a shell as the one tool.

    python agent.py < instruction

It knows nothing of HEMRA: the SDK finds endpoint and key in OPENAI_BASE_URL and OPENAI_API_KEY.
"""

import importlib.metadata
import os
import subprocess
import sys

import openai
from agents import Agent, Runner, function_tool
from agents.exceptions import AgentsException, MaxTurnsExceeded

MODEL = os.environ.get("HEMRA_MODEL", "gpt-5.6-terra")
TURNS = int(os.environ.get("HEMRA_TURNS", "30"))
SECONDS = 120
MOST_CHARACTERS = 50_000


@function_tool
def bash(command: str) -> str:
    """Run a command with bash in the working directory. Gives stdout and stderr and the exit code."""
    try:
        done = subprocess.run(
            ["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        printed, code = late.stdout or b"", f"none: ended after {SECONDS} s"
    else:
        printed, code = done.stdout, str(done.returncode)
    text = printed.decode("utf-8", "replace")
    if len(text) > MOST_CHARACTERS:
        text = text[: MOST_CHARACTERS // 2] + "\n[…]\n" + text[-MOST_CHARACTERS // 2 :]
    return f"{text}\n[exit code {code}]"


AGENT = Agent(
    name="openai-agents-sdk",
    model=MODEL,
    tools=[bash],
    instructions="You work on a task in the current directory, with the tool bash. "
    "When it is done, answer without a tool.",
)


def main():
    """Read the instruction, print the answer."""
    if "--version" in sys.argv:
        print(f"openai-agents-sdk 1.0, openai-agents {importlib.metadata.version('openai-agents')}")
        return
    try:
        result = Runner.run_sync(AGENT, sys.stdin.read(), max_turns=TURNS)
    except MaxTurnsExceeded:
        sys.exit(f"no answer after {TURNS} turns")
    except (openai.OpenAIError, AgentsException) as error:
        sys.exit(f"the model did not answer: {error}")
    print(result.final_output)


if __name__ == "__main__":
    main()
