"""MCP servers that a task declares: checked, made ready for a trial, told apart by name, and never a silent failure."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas.conversation import ToolCalled
from eventlog.schemas.runs import Limits
from harnesses.base import HarnessFile, HarnessTraits
from harnesses.registry import KINDS, load_harness
from hemra.datasets.load import load_task
from hemra.datasets.toolnames import ToolNames
from hemra.engine import mcp as of_run
from hemra.engine.conduct import Conduct
from hemra.engine.network import conflicts
from hemra.engine.unheld import unheld
from hemra.errors import HemraError, UsageError
from hemra.gates.stage import Stage
from hemra.gates.validate import validate
from tests.e2e.conftest import command_in
from tests.hemra.mcp_tasks import EXAMPLES, HEAD, listening, outcomes, two_tasks
from tests.hemra.task_folders import make_task

SERVER = "import sys\n"


def task_with(root: Path, servers: str, more: str = "", **files: str) -> Path:
    """A task folder whose `mcp_servers` are the YAML given; it has mcp/server.py."""
    yaml = f"{HEAD}mcp_servers: {servers}\n{more}"
    return make_task(root, yaml=yaml, **{"mcp/server.py": SERVER, **files})


@pytest.mark.parametrize(
    ("servers", "more", "told"),
    [
        ("{a: {}}", "", "a: give either a command or a url"),
        ("{a: {command: x, url: 'http://127.0.0.1:9'}}", "", "a: give either a command or a url"),
        ("{a: {command: x, headers: {k: v}}}", "", "args and env belong to a command"),
        ("{a: {command: x, transport: sse}}", "", "args and env belong to a command"),
        ("{a: {url: 'http://127.0.0.1:9', env: {K: v}}}", "network: mock", "args and env belong to a command"),
        ("{a: {command: x, env: {KEY: $SECRET}}}", "", "takes nothing from the environment of who runs it"),
        ("{a: {url: 'http://127.0.0.1:9/', headers: {K: '${S}'}}}", "network: mock", "takes nothing from the env"),
        ("{a: {command: x, env: {API_KEY: ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5}}}", "", "credential"),
        ("{a: {command: python3, args: [mcp/gone.py]}}", "", "there is no file mcp/gone.py"),
        ("{a: {command: x, files: tools}}", "", "there is no file in tools/"),
        ("{a: {command: x, files: solution}}", "", "solution/solve.py must not be seen"),
        ("{a: {url: 'ftp://127.0.0.1/'}}", "network: mock", "must be http://HOST"),
        ("{a: {url: 'http://me:pw@127.0.0.1/'}}", "network: mock", "holds a user's name"),
        ("{a: {url: 'http://127.0.0.1:99999/'}}", "network: mock", "url: 'http://127.0.0.1:99999/'"),
        ("{a: {url: 'http://127.0.0.1:9/mcp'}}", "", "needs network mock"),
        ("{a: {url: 'https://example.com/mcp'}}", "network: mock", "not this machine: that needs network full"),
        ("{a-b: {command: x}, a_b: {command: x}}", "", "would be called as those of a-b"),
        ("{a: {command: x}}", "allowed_tools: [terminal]", "allowed_tools names none of its tools"),
        ("{a: {command: x, args: ['{{none}}']}}", "", "placeholder {{none}}"),
        ("{'a b': {command: x}}", "", "mcp_servers: a name in it is none: must be letters and digits, parted by"),
        ("{a: {command: x, files: ../..}}", "", "files: must be a path below the task's folder, such as"),
        ("{a: {command: x, cwd: /}}", "", "cwd"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_named(servers: str, more: str, told: str, tmp_path: Path) -> None:
    """A task would be run with other tools than its author meant, or show what nobody may see."""
    task_with(tmp_path, servers, more)
    found = [finding.text for finding in validate(tmp_path) if finding.level == "error"]
    assert any(told in text for text in found), found


def test_a_run_refuses_what_validation_refuses(tmp_path: Path) -> None:
    """What contradicts would only be found by who validates."""
    folder = task_with(tmp_path, "{a: {}, b: {command: x, headers: {k: v}}}")
    with pytest.raises(UsageError, match=r"mcp_servers.a: give either.*\n.*mcp_servers.b: args"):
        load_task(folder, tmp_path)


def test_its_files_are_part_of_the_task(tmp_path: Path) -> None:
    """Two trials would be compared although their tools were others."""
    folder = task_with(tmp_path, "{a: {command: python3, args: [mcp/server.py]}}")
    before = load_task(folder, tmp_path).digest
    (folder / "mcp/server.py").write_text("import os\n", "utf-8")
    assert load_task(folder, tmp_path).digest != before


async def prepared(folder: Path, root: Path) -> tuple[Any, dict[str, Any]]:
    """The servers of a trial of the task, and its files with their modes, relative to the harness's folder."""
    async with Stage(load_task(folder, root), 1) as stage:
        place = stage._sandbox.harness_dir
        files = {
            path.relative_to(place).as_posix(): path.stat().st_mode & 0o777
            for path in place.rglob("*") if path.is_file()
        }  # fmt: skip
        servers = stage._attendants.mcp_servers
        shown = {
            name: [word.replace(str(place), "HARNESS") for word in each.words]
            for name, each in servers.items()
        }
        return servers, {"files": files, "words": shown}


def test_a_trial_has_them_with_its_own_values(tmp_path: Path) -> None:
    """The server would start without its files, or with the placeholders of another trial."""
    folder = task_with(
        tmp_path,
        "{a: {command: python3, args: [mcp/server.py, --code, 'x{{code}}'], env: {CODE: '{{code}}'}}, "
        "b: {command: mcp/run, args: [mcp]}, c: {url: 'http://127.0.0.1:{{code}}/', headers: {K: 'v{{code}}'}}}",
        prepare="def prepare(workspace, seed):\n    return {'code': 4711}\n",
        **{"mcp/run": "#!/bin/sh\n"},
    )
    os.chmod(folder / "mcp/run", 0o755)
    servers, seen = asyncio.run(prepared(folder, tmp_path))
    assert seen["files"] == {"task/mcp/server.py": 0o444, "task/mcp/run": 0o555}
    assert seen["words"] == {
        "a": [sys.executable, "HARNESS/task/mcp/server.py", "--code", "x4711"],
        "b": ["HARNESS/task/mcp/run", "mcp"],
        "c": [],
    }
    assert servers["a"].env == {"CODE": "4711"}
    assert (servers["c"].url, servers["c"].headers) == ("http://127.0.0.1:4711/", {"K": "v4711"})


def test_a_server_that_is_not_there_is_our_failure(tmp_path: Path) -> None:
    """The harness would go on without its tools, and its model be measured."""
    folder = task_with(tmp_path, "{a: {url: 'http://127.0.0.1:1/mcp'}}", "network: mock")
    with pytest.raises(HemraError, match=r"MCP server a: nothing answers at 127.0.0.1:1; start it"):
        asyncio.run(prepared(folder, tmp_path))
    hemra = command_in(tmp_path / "run")
    run = hemra.run("--dataset", folder, "--harness", "oracle", "--retries", "0", "--sandbox", "host", code=3)
    (trial,) = hemra.json("show", run)["trials"]
    assert trial["outcome"] == "setup_error"


def harness(kind: str, **fields: Any) -> Any:
    """A harness of a kind, without its program."""
    return KINDS[kind](HarnessFile(name=kind, kind=kind, command=["/bin/true"], **fields), Path("/tmp"))


def test_a_harness_that_takes_none_is_refused_at_the_plan(tmp_path: Path) -> None:
    """Its trials would fail whatever its model is worth, and cost money."""
    task = load_task(task_with(tmp_path, "{a: {command: x}}"), tmp_path)
    agents = [harness("aider"), harness("claude-code"), load_harness("oracle")]
    (line,) = of_run.problems(agents, [task], elsewhere=True)
    assert line.startswith(
        "harness aider takes no MCP server over stdio, and these tasks bring one: demo/one; "
    )
    assert (
        of_run.problems([harness("codex"), harness("protocol"), load_harness("nop")], [task], elsewhere=True)
        == []
    )


def test_names_and_programs_are_checked_at_the_plan(tmp_path: Path) -> None:
    """Every trial of a long run would end in the same failure."""
    task = load_task(task_with(tmp_path, "{a: {command: no-such-program}}"), tmp_path)
    own = harness("codex", settings={"mcp_servers": {"a": {"command": "y"}}})
    missing, name = sorted(of_run.problems([own], [task]), reverse=True)
    assert "program 'no-such-program' is not on PATH" in missing
    assert name.startswith(
        "harness codex: settings.mcp_servers.a: task demo/one brings a server of this name"
    )


def test_a_kind_that_does_not_say_is_recorded(tmp_path: Path) -> None:
    """A failure for want of tools would look like any other."""
    task = load_task(task_with(tmp_path, "{a: {command: x}}"), tmp_path)

    class Foreign:
        enforces: frozenset[str] = frozenset()
        records_tools = False
        traits = HarnessTraits()

    found = unheld(task, Foreign(), Limits(), {})  # type: ignore[arg-type]
    assert found["mcp_servers.a"] == "this kind of harness does not say whether it takes MCP servers"
    assert "mcp_servers.a" not in unheld(task, harness("codex"), Limits(), {})


def test_tools_of_servers_are_not_held_by_a_list_of_tools(tmp_path: Path) -> None:
    """A harness that offers all tools of a server would be said to hold the task's list."""
    folder = task_with(tmp_path, "{a: {command: x}}", "allowed_tools: [terminal, mcp__a__look]")
    found = unheld(load_task(folder, tmp_path), harness("claude-code"), Limits(), {})
    assert "MCP servers" in found["allowed_tools"]


@pytest.mark.parametrize(
    ("name", "told"), [("protocol", "as the harness tells them"), ("acp", "nobody says that it tells all")]
)
def test_an_agent_that_may_tell_its_calls_is_not_said_to_tell_none(
    tmp_path: Path, name: str, told: str
) -> None:
    """A report would deny the tool calls that it counts two tables further up."""
    folder = task_with(tmp_path, "{a: {command: x}}", "forbidden_tools: [terminal]")
    found = unheld(load_task(folder, tmp_path), harness(name), Limits(), {})
    assert told in found["forbidden_tools"]


def test_no_network_and_a_server_outside_exclude_each_other(tmp_path: Path) -> None:
    """The plan would be carried out with a server that cannot be reached."""
    task = load_task(task_with(tmp_path, "{a: {url: 'http://localhost:9'}}", "network: mock"), tmp_path)
    assert "services outside" in conflicts("none", [], [task])[0]
    assert conflicts("gateway", [], [task]) == []


@pytest.mark.parametrize(
    ("spelt", "name"),
    [
        ("mcp__my-ledger__look-up", "mcp__my_ledger__look_up"),
        ("mcp__my_ledger__look_up", "mcp__my_ledger__look_up"),
        ("mcp_my_ledger_look_up", "mcp__my_ledger__look_up"),
        ("my-ledger_look-up", "mcp__my_ledger__look_up"),
        ("my-ledger__look-up", "mcp__my_ledger__look_up"),
        ("my-ledger.look-up", "mcp__my_ledger__look_up"),
        ("git_hub_search", "mcp__git_hub__search"),
        ("git_log", "mcp__git__log"),
        ("mcp__other__tool", "mcp__other__tool"),
        ("web_search", "web_search"),
        ("read_file", "read_file"),
        ("Bash", "terminal"),
        ("look_up", "look_up"),
    ],
)  # fmt: skip
def test_a_tool_has_one_name_whatever_the_harness(spelt: str, name: str) -> None:
    """A verifier would see a call of one harness and not the same of another."""
    assert ToolNames(["my-ledger", "git", "git_hub", "web", "read"]).canonical(spelt) == name


def test_lists_of_tools_mean_servers_tools_too(tmp_path: Path) -> None:
    """A call that the task forbids would go unseen under the name that this harness gives it."""
    folder = task_with(tmp_path, "{my-led: {command: x}}", "forbidden_tools: [mcp__my-led__drop]")
    task = load_task(folder, tmp_path)
    conduct = Conduct(task, Limits(), of_run.names_of(task, harness("opencode")))
    conduct.take(ToolCalled(call="1", name="my-led_look", arguments={}))
    assert conduct.flags == []
    conduct.take(ToolCalled(call="2", name="my-led_drop", arguments={}))
    assert conduct.flags == ["forbidden_tool_called"]


@pytest.mark.parametrize(
    ("sandbox", "undeclared"),
    [("host", "open"), pytest.param("bwrap", "closed", marks=pytest.mark.needs("bwrap"))],
)
def test_a_server_of_this_machine_is_reached_where_it_is_declared(
    sandbox: str, undeclared: str, tmp_path: Path
) -> None:
    """Either the declared server is out of reach, or everything on loopback is within it."""
    with listening() as port:
        ended = outcomes(command_in(tmp_path), two_tasks(tmp_path / "tasks", port), sandbox)
    assert ended == {"demo/one": ("completed", "A-1: 77"), "demo/two": ("completed", undeclared)}


@pytest.mark.needs("bwrap")
def test_its_files_cannot_be_changed_in_a_sandbox(tmp_path: Path) -> None:
    """An agent would put words into the mouth of the server that its work is judged by."""
    solve = """
        import os
        from hemra_protocol import Trial

        trial = Trial("solution", "1")
        path = trial.task["mcp_servers"]["a"]["args"][0]
        def tries(work):
            try:
                work()
            except OSError as error:
                return error.strerror
            return "done"
        print_ = [open(path).read(), tries(lambda: os.chmod(path, 0o644)), tries(lambda: open(path, "w")),
                  tries(lambda: open(os.path.dirname(path) + "/more.py", "w"))]
        trial.final(" | ".join(print_))
    """
    verify = "def verify(workspace, trace):\n    return {'status': 'PASS', 'reason': trace['final']}\n"
    servers = "{a: {command: python3, args: [mcp/server.py]}}"
    task_with(tmp_path / "tasks", servers, verifier=verify, **{"solution/solve.py": solve})
    ((_, said),) = outcomes(command_in(tmp_path), tmp_path / "tasks", "bwrap").values()
    assert said == " | ".join([SERVER, *["Read-only file system"] * 3])


def test_the_examples_pass_every_gate() -> None:
    """People copy them, and a task with servers could not be checked as others are."""
    from hemra.gates.suite import check_folder

    results = check_folder(EXAMPLES, [], seeds=range(1, 2), jobs=2, tell=lambda _: None)
    assert {result.task: result.ok for result in results} == {"mcp/ledger": True, "mcp/ledger-http": True}


def test_show_names_the_servers(tmp_path: Path) -> None:
    """Who looks at a task would not see that it brings tools."""
    hemra = command_in(tmp_path)
    assert (
        "ledger (stdio: python3 mcp/server.py)"
        in hemra("task", "show", "mcp/ledger", "--dataset", EXAMPLES).stdout
    )
    shown = hemra.json("task", "show", "mcp/ledger-http", "--dataset", EXAMPLES)
    assert shown["mcp_servers"]["ledger"]["url"] == "{{ledger_url}}"
