"""Harness files: what they accept, what they say about what they do not, and their digest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harnesses.base import HarnessFile, HarnessTraits
from harnesses.command import CommandHarness
from harnesses.errors import HarnessFileError, HarnessNotFound, LaunchError
from harnesses.file import check, command_words, read_harness_file
from harnesses.protocol import ProtocolHarness
from harnesses.registry import BUILTIN, load_harness
from tests.harnesses.trial_inputs import trial_input


def written(tmp_path: Path, text: str) -> Path:
    """A harness file with that text."""
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def harness(tmp_path: Path, user: dict[str, str] | None = None, **fields: Any) -> CommandHarness:
    """A command harness with these fields, its file in `tmp_path`."""
    plain: dict[str, Any] = {"name": "mine", "kind": "command", "command": ["sh", "-c", "cat"]}
    environment = {"PATH": "/usr/bin:/bin"} if user is None else user
    return CommandHarness(HarnessFile(**(plain | fields)), tmp_path, environment)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: x\nkind: command\ncomand: ls", "unknown field 'comand': did you mean 'command'?"),
        ("name: x\nkind: command\nzzz: ls", "unknown field 'zzz': there are: name, kind, command"),
        ("kind: command\ncommand: ls", "field 'name' is missing"),
        ("name: a b\nkind: command\ncommand: ls", "name 'a b': use at most 64 letters"),
        ("name: a:b\nkind: command\ncommand: ls", "name 'a:b'"),
        ("name: 7\nkind: command\ncommand: ls", "name: expected text, got int; put it in quotes"),
        ("name: x\nkind: command\ncommand: ls\nenv: {PORT: 80}", "env: expected text, got int; put it in"),
        ("name: x\nkind: command\ncommand: ls\nenv: {A-B: x}", "env: 'A-B' cannot be the name of a variable"),
        (
            "name: x\nkind: command\ncommand: ls\nenv: {A: $B/c}",
            "env.A: only a whole value is passed through",
        ),
        ("name: x\nkind: command\ncommand: ls\nprompt: mail", "prompt: 'mail' is none; there are: "),
        ("name: x\nkind: command\ncommand: ls\nname: y", "line 4: 'name' is given twice"),
        ("name: x\nkind: comand\ncommand: ls", "there is no kind 'comand': did you mean 'command'?"),
        ("name: x\nkind: command", "kind 'command' needs a 'command'"),
        ("name: x\nkind: command\ncommand: []", "command is empty: name a program"),
        ('name: x\nkind: command\ncommand: "sh -c \'ls"', "no closing quotation"),
        ("name: x\nkind: command\ncommand: cat\nprompt: file", "needs {instruction_file} in the command"),
        ("name: x\nkind: nop\ncommand: ls", "kind 'nop' takes no 'command'"),
        ("name: x\nkind: command\ncommand: ls\nsettings: {a: .nan}", "settings.a: nan is no number"),
        ("name: x\nkind: command\ncommand: ls\nsettings: {1: a}", "settings: key 1 is no text"),
        ("name: x\nkind: command\ncommand: ls\nenv: {1: a}", "env: key 1 is no text"),
        ("- name: x", "a harness file is a mapping"),
        ("name: [", "not valid YAML"),
    ],
)
def test_a_bad_file_is_refused_in_one_line_that_names_it(tmp_path: Path, text: str, said: str) -> None:
    """Without this a typo in a harness file runs another harness than the user meant."""
    path = written(tmp_path, text)
    with pytest.raises(HarnessFileError) as caught:
        load_harness(str(path))
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """A binary file given by mistake must not end in a traceback."""
    path = tmp_path / "x.yaml"
    path.write_bytes(b"name: \xff")
    with pytest.raises(HarnessFileError, match="not UTF-8 at byte 6"):
        load_harness(str(path))


def test_a_whole_file_is_read_as_written(tmp_path: Path) -> None:
    """Every field reaches the harness; a date-like text stays text."""
    path = written(
        tmp_path,
        "name: mine\nkind: command\ncommand: sh -c 'echo \"$HOME\"' x\nversion_command: [sh, --version]\n"
        "model: 2025-11-25\nenv: {A: $HOME, B: '1', C: $$x}\nsettings: {deep: [1, {a: null}]}\n"
        "prompt: stdin\nterminal: pty\n",
    )
    file = read_harness_file(path)
    assert command_words(file.command, "command") == ["sh", "-c", 'echo "$HOME"', "x"]
    assert file.model == "2025-11-25"
    assert file.settings == {"deep": [1, {"a": None}]}
    loaded = load_harness(str(path))
    assert (loaded.name, loaded.kind, loaded.terminal) == ("mine", "command", "pty")
    assert loaded.version_argv == ["sh", "--version"]


def test_names_that_are_no_file_get_a_hint() -> None:
    """A misspelt built-in must say what was meant, and a path that it is a path."""
    with pytest.raises(HarnessNotFound, match="did you mean 'oracle'"):
        load_harness("oracel")
    with pytest.raises(HarnessNotFound, match=r"no harness file no/such\.yaml"):
        load_harness("no/such.yaml")


def test_a_folder_stands_for_its_harness_file(tmp_path: Path) -> None:
    """An agent is a folder; its harness.yaml need not be spelt out."""
    (tmp_path / "harness.yaml").write_text("name: x\nkind: command\ncommand: cat\n", encoding="utf-8")
    assert load_harness(str(tmp_path)).name == "x"


def test_the_digest_is_over_content_not_over_values(tmp_path: Path) -> None:
    """Two files that differ are two harnesses; a changed key in the environment is the same one."""
    first = harness(tmp_path, {"KEY": "value-one", "PATH": "/bin"}, env={"KEY": "$KEY", "MODE": "very-fast"})
    again = harness(tmp_path, {"KEY": "two", "PATH": "/bin"}, env={"KEY": "$KEY", "MODE": "slow"})
    assert first.digest == again.digest
    assert first.digest.startswith("sha256:")
    assert first.definition["env"] == {"KEY": "$KEY", "MODE": "set"}
    assert "value-one" not in repr(first.definition)
    assert "very-fast" not in repr(first.definition)
    for changed in ({"model": "other"}, {"settings": {"a": 1}}, {"env": {"KEY": "$KEY"}}, {"name": "x"}):
        assert harness(tmp_path, **changed).digest != first.digest
    assert check({"name": "x", "kind": "nop"}).env == {}


def test_an_edited_script_is_another_harness(tmp_path: Path) -> None:
    """Runs before and after an edit of the agent would otherwise be compared as the same harness."""
    script = tmp_path / "agent.sh"
    script.write_text("echo one", encoding="utf-8")
    before = harness(tmp_path, command=["sh", "agent.sh"])
    script.write_text("echo two", encoding="utf-8")
    after = harness(tmp_path, command=["sh", "agent.sh"])
    assert before.digest != after.digest
    assert list(before.definition["files"]) == ["agent.sh"]
    assert before.launch(trial_input()).argv == ["sh", str(script)]


def test_the_digest_does_not_depend_on_where_the_folder_is(tmp_path: Path) -> None:
    """The same agent in two checkouts is the same harness."""
    digests = set()
    for name in ("here", "there"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "agent.sh").write_text("echo", encoding="utf-8")
        digests.add(harness(folder, command=["sh", "agent.sh"]).digest)
    assert len(digests) == 1


def test_problems_name_what_is_missing(tmp_path: Path) -> None:
    """Whatever keeps a harness from running is told before the first trial, not in each of them."""
    (tmp_path / "plain.sh").write_text("echo", encoding="utf-8")
    assert harness(tmp_path).problems() == []
    found = harness(tmp_path, command=["no-such-program-here"], env={"K": "$NOT_SET_HERE"}).problems()
    assert any("'no-such-program-here' is not on PATH" in line for line in found)
    assert any("K takes $NOT_SET_HERE from your environment, where it is not set" in line for line in found)
    assert "chmod +x" in harness(tmp_path, command=["./plain.sh"]).problems()[0]
    assert "./gone.sh is not there" in harness(tmp_path, command=["./gone.sh"]).problems()[0]
    assert "version_command" in harness(tmp_path, version_command="no-such-program-here -V").problems()[0]
    misspelt = harness(tmp_path, command=["echo", "{instructions}", "${home}", '{"a": 1}', "{x}"]).problems()
    assert misspelt == ["there is no placeholder {instructions}; did you mean {instruction}?"]


def test_a_credential_in_the_file_is_told(tmp_path: Path) -> None:
    """The definition is recorded by value, so a key in it would be in every log and bundle."""
    key = "sk-" + "a1b2c3d4" * 4
    found = harness(tmp_path, command=["echo", key], settings={"a": {"b": [key]}}).problems()
    assert [line.split(" looks like")[0] for line in found] == ["command[1]", "settings.a.b[0]"]
    assert key not in " ".join(found)


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"settings": {"api_key": "abc123"}}, "settings.api_key (by its name)"),
        ({"settings": {"a": [{"clientSecret": "x"}]}}, "settings.a[0].clientSecret (by its name)"),
        ({"settings": {"password": 12345}}, "settings.password (by its name)"),
        ({"settings": {"proxy": "http://me:hunter2@proxy:80"}}, "settings.proxy"),
        ({"settings": {"headers": {"Authorization": "Bearer abcdefgh"}}}, "settings.headers.Authorization"),
        ({"settings": {"keys": {"ghp_" + "a1b2c3" * 6: True}}}, "settings.keys.(a key)"),
        ({"settings": {"extra": ["--token", "abc"]}}, "settings.extra[1] (by its name)"),
        ({"command": ["echo", "--api-key", "abc"]}, "command[2] (by its name)"),
        ({"command": ["echo", "--api-key=abc"]}, "command[1] (by its name)"),
        ({"command": ["sh", "-c", "API_KEY=abc echo x"]}, "command[2] (by its name)"),
        ({"command": ["sh", "-c", "echo --password hunter2"]}, "command[2] (by its name)"),
        ({"command": ["echo", "AKIAIOSFODNN7EXAMPLE"]}, "command[1]"),
        ({"version_command": ["echo", "--token=abc"]}, "version_command[1] (by its name)"),
    ],
)
def test_what_is_named_or_looks_like_a_credential_is_told(
    tmp_path: Path, fields: dict[str, Any], where: str
) -> None:
    """A password in a setting or a flag is recorded by value, in every run of that harness."""
    found = harness(tmp_path, **fields).problems()
    assert found == [f"{where} looks like a credential and would be recorded; pass it by env as $NAME"]


@pytest.mark.parametrize(
    "fields",
    [
        {"settings": {"max_tokens": 4096, "tokenizer": "cl100k", "eos_token": "x", "stop-token": "y"}},
        {
            "settings": {
                "token_file": "/run/x",
                "api_key": "OPENAI_API_KEY",
                "api_key_env": "X",
                "key": "value",
            }
        },
        {"settings": {"password": None, "secret": True, "token": "", "apiKey": "$NAME", "monkey": "banana"}},
        {"command": ["echo", "--max-tokens", "9", "--token", "{home}/x", "--password", "--verbose"]},
        {"command": ["sh", "-c", 'API_KEY=$X curl -H "api-key: $X" --token "$T" https://u:$PW@h']},
        {"command": ["sh", "-c", "git -c sk-learn da39a3ee5e6b4b0d3255bfef95601890afd80709"]},
    ],
)
def test_what_only_tells_where_a_credential_is_does_no_harm(tmp_path: Path, fields: dict[str, Any]) -> None:
    """A harness that passes its key as it should could not be run."""
    assert harness(tmp_path, **fields).problems() == []


def test_secrets_are_what_is_passed_through_and_what_is_named_so(tmp_path: Path) -> None:
    """The engine takes these values out of everything that it records."""
    user = {"REAL_KEY": "value-of-the-key", "LANG": "C.UTF-8", "PATH": "/bin"}
    env = {"OPENAI_API_KEY": "${REAL_KEY}", "LANG": "$LANG", "MY_TOKEN": "$$literal", "MODE": "production"}
    assert harness(tmp_path, user, env=env).secrets() == {
        "REAL_KEY": "value-of-the-key",
        "MY_TOKEN": "$literal",
    }


def test_only_the_named_variables_are_passed_through(tmp_path: Path) -> None:
    """A stale key that happens to be exported must not decide how a trial goes."""
    user = {"GOOD": "yes", "OTHER_KEY": "stale", "PATH": "/bin"}
    made = harness(tmp_path, user, env={"A": "$GOOD", "B": "{workspace}/x", "C": "$$GOOD"})
    assert made.launch(trial_input()).env == {"A": "yes", "B": "/scratch/workspace/x", "C": "$GOOD"}
    with pytest.raises(LaunchError, match=r"\$GONE is not set"):
        harness(tmp_path, user, env={"A": "$GONE"}).launch(trial_input())


def test_the_examples_are_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    """An example that does not load is worse than none."""
    folder = Path(__file__).parents[2] / "examples" / "harnesses"
    files = sorted(folder.rglob("*.yaml"))
    assert len(files) >= 4
    for file in files:
        problems = load_harness(str(file)).problems()
        expected = 3 if file.name == "one-shot-cli.yaml" else 0
        assert len(problems) == expected, problems


def test_built_in_harnesses_need_nothing() -> None:
    """oracle and nop must run on every machine, from any folder, with the same digest."""
    for name in BUILTIN:
        loaded = load_harness(name)
        assert (loaded.name, loaded.kind, loaded.problems()) == (name, name, [])
        assert loaded.digest == load_harness(name).digest
    assert load_harness("oracle").needs_solution
    assert not load_harness("nop").needs_solution
    launch = load_harness("oracle").launch(trial_input(solution_dir="/tasks/x/solution"))
    assert launch.argv[1] == "/tasks/x/solution/solve.py"
    assert launch.stdin is not None
    assert b'"solution_dir": "/tasks/x/solution"' in launch.stdin
    with pytest.raises(LaunchError, match="task t01/echo has no reference solution"):
        load_harness("oracle").launch(trial_input())
    assert load_harness("nop").launch(trial_input()).stdin is None


def test_every_harness_tells_the_same_things(tmp_path: Path) -> None:
    """The engine asks all of these of every harness, whatever its kind."""
    protocol = ProtocolHarness(HarnessFile(name="p", kind="protocol", command="cat"), tmp_path)
    for one in (load_harness("nop"), load_harness("oracle"), protocol, harness(tmp_path)):
        assert isinstance(one.secrets(), dict)
        assert one.enforces == frozenset()
        assert isinstance(one.records_tools, bool)
        assert one.interpreter().ended is False
        assert isinstance(one.traits, HarnessTraits)


def test_a_key_file_is_looked_for_beside_the_harness_file(tmp_path: Path) -> None:
    """A harness folder that is moved, or used from elsewhere, would lose its key."""
    upstream = {"base_url": "http://x", "key": {"file": "./key"}}
    made = CommandHarness(
        check({"name": "a", "kind": "command", "command": "sh", "upstream": upstream}), tmp_path
    )
    upstream_said = made.traits.upstream
    assert upstream_said is not None
    assert upstream_said.key is not None
    assert upstream_said.key.file == str(tmp_path / "key")
    assert made.definition["upstream"]["key"]["file"] == "./key"


@pytest.mark.parametrize(
    ("upstream", "said"),
    [
        ("http://x", "base_url"),
        ({"base_uri": "x"}, "did you mean 'base_url'"),
        ({"base_url": "http://x", "dialect": "openai"}, "chat, responses, messages"),
        ({"base_url": "http://x", "key": "sk-dummy"}, "{env: NAME}"),
        ({"base_url": "http://x", "key": {"envs": "X"}}, "did you mean 'env'"),
        ({"base_url": "http://x/v1/chat/completions"}, "http://x/v1"),
        ({"base_url": "http://x", "key": {"env": "$X"}}, "without $: X"),
    ],
)
def test_the_mistakes_of_an_upstream_are_told_with_what_to_write(upstream: Any, said: str) -> None:
    """A person who is not told what to write tries it with the key in the file."""
    with pytest.raises(HarnessFileError) as error:
        check({"name": "a", "kind": "command", "command": "x", "upstream": upstream})
    assert said in str(error.value)
    assert "sk-dummy" not in str(error.value)
