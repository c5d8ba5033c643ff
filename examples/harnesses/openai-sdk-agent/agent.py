"""An agent of a hundred lines on OpenAI's client: a model, a shell, and a loop around the two.

    python agent.py < instruction

It knows nothing of HEMRA: the client finds endpoint and key in OPENAI_BASE_URL and OPENAI_API_KEY.
"""

import json
import os
import subprocess
import sys

import openai

MODEL = os.environ.get("HEMRA_MODEL", "gpt-5.6-terra")
TURNS = int(os.environ.get("HEMRA_TURNS", "30"))
SECONDS = 120
MOST_CHARACTERS = 50_000

BASH = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command with bash in the working directory. Gives stdout and stderr and the exit code.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
}
SYSTEM = (
    "You work on a task in the current directory, with the tool bash. When it is done, answer without a tool."
)


def bash(command):
    """What the command printed, and how it ended."""
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


def result_of(call):
    """The result of one tool call, of whatever the model wrote."""
    try:
        arguments = json.loads(call.function.arguments)
        command = arguments["command"]
    except (ValueError, KeyError, TypeError) as error:
        return f'error: the arguments are not {{"command": …}}: {error}'
    return bash(command) if call.function.name == "bash" else f"error: there is no tool {call.function.name}"


def work(client, instruction):
    """The model's answer to the instruction, or None when its turns are used up."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": instruction}]
    for _ in range(TURNS):
        answer = client.chat.completions.create(model=MODEL, messages=messages, tools=[BASH])
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result_of(call)})
    return None


def main():
    """Read the instruction, print the answer."""
    if "--version" in sys.argv:
        print(f"openai-sdk-agent 1.0, openai {openai.__version__}")
        return
    try:
        answer = work(openai.OpenAI(), sys.stdin.read())
    except openai.OpenAIError as error:
        sys.exit(f"the model did not answer: {error}")
    if answer is None:
        sys.exit(f"no answer after {TURNS} turns")
    print(answer)


if __name__ == "__main__":
    main()
