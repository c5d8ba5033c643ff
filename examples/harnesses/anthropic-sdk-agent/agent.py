"""An agent of a hundred lines on Anthropic's client: a model, a shell, and a loop around the two.

    python agent.py < instruction

It knows nothing of HEMRA: the client finds endpoint and key in ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY.
"""

import os
import subprocess
import sys

import anthropic

MODEL = os.environ.get("HEMRA_MODEL", "claude-sonnet-5-5")
TURNS = int(os.environ.get("HEMRA_TURNS", "30"))
SECONDS = 120
MOST_CHARACTERS = 50_000
MOST_TOKENS = 8192

BASH = {
    "name": "bash",
    "description": "Run a command with bash in the working directory. Gives stdout and stderr and the exit code.",
    "input_schema": {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    },
}
SYSTEM = (
    "You work on a task in the current directory, with the tool bash. When it is done, answer without a tool."
)


def bash(command):
    """(what the command printed and how it ended, whether it failed)."""
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
    return f"{text}\n[exit code {code}]", code != "0"


def result_of(block):
    """The result of one tool call, of whatever the model wrote."""
    command = block.input.get("command") if isinstance(block.input, dict) else None
    if block.name != "bash" or not isinstance(command, str):
        text, failed = f"error: call bash with a command, not {block.name} with {block.input}", True
    else:
        text, failed = bash(command)
    return {"type": "tool_result", "tool_use_id": block.id, "content": text, "is_error": failed}


def work(client, instruction):
    """The model's answer to the instruction, or None when its turns are used up."""
    messages = [{"role": "user", "content": instruction}]
    for _ in range(TURNS):
        answer = client.messages.create(
            model=MODEL, max_tokens=MOST_TOKENS, system=SYSTEM, messages=messages, tools=[BASH]
        )
        messages.append({"role": "assistant", "content": [block.model_dump() for block in answer.content]})
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in answer.content if block.type == "text")
        messages.append({"role": "user", "content": [result_of(block) for block in calls]})
    return None


def main():
    """Read the instruction, print the answer."""
    if "--version" in sys.argv:
        print(f"anthropic-sdk-agent 1.0, anthropic {anthropic.__version__}")
        return
    try:
        answer = work(anthropic.Anthropic(), sys.stdin.read())
    except anthropic.AnthropicError as error:
        sys.exit(f"the model did not answer: {error}")
    if answer is None:
        sys.exit(f"no answer after {TURNS} turns")
    print(answer)


if __name__ == "__main__":
    main()
