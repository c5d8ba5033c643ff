"""`hemra harness check` on harness files: what it sees, and what it makes of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from hemra.cli import main as program

pytestmark = pytest.mark.needs("bwrap")

#: A harness of a page: calls its model, carries out what it asks for, tells the answer. Standard library only.
AGENT = """
import json, os, subprocess, sys, urllib.request
base, token = os.environ["MODEL_URL"], os.environ["MODEL_KEY"]
tool = {"type": "function", "function": {"name": "bash", "parameters": {
    "type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}}
def ask(messages, tools):
    body = json.dumps({"model": "m", "messages": messages, **({"tools": tools} if tools else {})}).encode()
    request = urllib.request.Request(base + "/chat/completions", body, {"Authorization": "Bearer " + token})
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]
if "title" in sys.argv: ask([{"role": "user", "content": "a title"}], [])
messages = [{"role": "user", "content": sys.stdin.read()}]
while True:
    message = ask(messages, [tool])
    messages.append(message)
    if not message.get("tool_calls"): break
    for call in message["tool_calls"]:
        command = json.loads(call["function"]["arguments"])["command"]
        said = subprocess.run(command, shell=True, capture_output=True, text=True).stdout
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "" if "deaf" in sys.argv else said})
open(os.path.expanduser("~/session"), "w").write("12345")
if "outside" in sys.argv:
    import socket
    for place in (("telemetry.example", 443), ("10.1.2.3", 8080)):
        try: socket.create_connection(place, 5)
        except OSError: pass
print(message["content"])
"""

Check = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    """Checks the agent above; (exit code, the JSON document, stderr)."""

    def run(*words: str, **more: Any) -> tuple[int, dict[str, Any], str]:
        (tmp_path / "agent.py").write_text(AGENT, "utf-8")
        file = {
            "name": "page", "kind": "command", "command": ["{python}", "agent.py", *words],
            "env": {"MODEL_URL": "{gateway_v1}", "MODEL_KEY": "{gateway_token}"},
            "upstream": {"base_url": "http://127.0.0.1:9/v1"},
        }  # fmt: skip
        (tmp_path / "page.yaml").write_text(yaml.safe_dump(file | more), "utf-8")
        code = program.main(["harness", "check", str(tmp_path / "page.yaml"), "--json"])
        out, err = capsys.readouterr()
        return code, json.loads(out) if out else {}, err

    return run


def test_what_a_harness_did_is_seen(check: Check) -> None:
    """The page that a user trusts before the first run would not say what the harness does."""
    code, told, _ = check("title", "outside")
    seen = told["seen"]
    assert (code, told["fine"], told["wrong"]) == (0, True, [])
    assert [(call["dialect"], call["answered"]) for call in seen["calls"]] == [
        ("chat", "text"), ("chat", "a call of bash"), ("chat", "text"),
    ]  # fmt: skip
    assert seen["main"] == 2, "the call without tools is auxiliary"
    assert (seen["carried_out"], seen["final"].strip()) == (True, "The command printed: hemra-check")
    assert seen["home"] == {"session": 5}
    outside = {(each["name"] or each["address"], each["port"], each["protocol"]) for each in seen["outside"]}
    assert outside == {("telemetry.example", 443, "tcp"), ("10.1.2.3", 8080, "tcp")}
    assert any("telemetry.example:443" in remark for remark in told["remarks"])
    assert 0 < seen["first_request_ns"] < seen["duration_ns"]


def test_a_harness_that_is_silent_outside_is_told_so(check: Check) -> None:
    """Our own traffic with the script would be told as the harness's to the outside."""
    code, told, _ = check()
    assert (code, told["seen"]["outside"], told["seen"]["packets_lost"]) == (0, [], 0)


@pytest.mark.parametrize(
    ("words", "more", "wrong"),
    [
        (["deaf"], {}, "the command was not carried out, or not told"),
        ([], {"env": {"MODEL_URL": "{gateway_v1}", "MODEL_KEY": "other"}}, "without the token"),
        ([], {"command": ["{python}", "-c", "print('done')"]}, "asked no model"),
        ([], {"command": ["{python}", "-c", "raise SystemExit(3)"]}, "it gave no answer"),
    ],
)
def test_what_is_wrong_is_named_and_ends_with_1(
    check: Check, words: list[str], more: dict[str, Any], wrong: str
) -> None:
    """A harness that cannot be measured would pass the check, and its first run would show it."""
    code, told, _ = check(*words, **more)
    assert (code, told["fine"]) == (1, False)
    assert any(wrong in line for line in told["wrong"]), told["wrong"]


def test_what_keeps_it_from_running_is_told_without_running_it(check: Check) -> None:
    """The user would see a failed run in place of the one line that says what is missing."""
    code, told, _ = check(command=["no-such-program-here"])
    assert (code, told["seen"]["calls"]) == (1, [])
    assert "no-such-program-here" in told["wrong"][0]


@pytest.mark.parametrize(("ref", "code"), [("no-such-harness", 5), ("oracle", 2)])
def test_what_cannot_be_checked_is_a_usage_error(
    ref: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script could not tell a harness that is broken from a name that is misspelt."""
    assert program.main(["harness", "check", ref]) == code
    assert ref in capsys.readouterr().err


def test_without_a_watch_it_says_so(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without bubblewrap would take silence for a harness that reaches nothing."""
    monkeypatch.setattr("hemra.checking.watched.why_not", lambda: "no bubblewrap here")
    code, told, _ = check()
    assert (code, told["seen"]["sandbox"], told["seen"]["outside"]) == (0, "host", None)
    assert told["seen"]["not_watched"] == "no bubblewrap here"
    assert told["seen"]["carried_out"]


def test_nothing_that_was_passed_through_is_printed(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is copied into bug reports, with the user's key in it."""
    monkeypatch.setenv("MY_OWN_KEY", "not-for-anybody-4711")
    say = "import os; print(os.environ['KEY'])"
    code, told, _ = check(command=["{python}", "-c", say], env={"KEY": "$MY_OWN_KEY"})
    assert code == 1
    assert told["seen"]["environment"] == ["KEY"]
    assert "[redacted" in told["seen"]["stdout"]
    assert "not-for-anybody-4711" not in json.dumps(told)


def test_the_page_names_what_a_person_looks_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The text for people would lack what only the JSON has."""
    (tmp_path / "agent.py").write_text(AGENT, "utf-8")
    (tmp_path / "p.yaml").write_text(
        "name: page\nkind: command\ncommand: ['{python}', agent.py]\nversion_command: [echo, page 9.8]\n"
        "env: {MODEL_URL: '{gateway_v1}', MODEL_KEY: '{gateway_token}'}\nupstream: {base_url: 'http://127.0.0.1:9/v1'}\n",
        "utf-8",
    )
    assert program.main(["harness", "check", str(tmp_path / "p.yaml")]) == 0
    out = capsys.readouterr().out
    for words in ("page 9.8", "agent.py", "2 main, 0 auxiliary", "tools offered", "bash (", "240 input",
                  "session: 5 bytes", "nothing was looked up", "verdict: page is fine"):  # fmt: skip
        assert words in out.replace(sys.executable, "python"), words
