"""What of this machine a trial is shown: enough for the harness to run, and nothing that it is not for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from harnesses.base import Needs
from hemra.engine.network import network_of
from hemra.engine.place import shown
from hemra.sandboxes import needs
from hemra.sandboxes.mounts import View
from tests.hemra.engine_driver import make_task


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home as people have it: keys, tools of all kinds, and what nobody is to see."""
    place = tmp_path / "home"
    for name in (
        ".ssh/id",
        ".local/share/keyrings/login",
        "notes.txt",
        ".cargo/credentials",
        ".cargo/bin/tool",
    ):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("x", encoding="utf-8")
    (place / ".cargo/bin/tool").chmod(0o755)
    monkeypatch.setenv("HOME", str(place))
    needs.of_program.cache_clear()
    return place


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    """An executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def test_a_tool_in_its_own_environment_brings_it_along(home: Path) -> None:
    """uv and pipx put a link into ~/.local/bin: the tool needs its environment, and none of the others."""
    python = program(home / ".local/share/uv/python/cpython-3.12/bin/python3.12", "")
    program(python.parents[1] / "lib/python3.12/os.py")
    tool = home / ".local/share/uv/tools/agent"
    (tool / "bin").mkdir(parents=True)
    (tool / "pyvenv.cfg").write_text("home = …", encoding="utf-8")
    (tool / "bin/python").symlink_to(python)
    program(tool / "bin/agent", f"#!{tool}/bin/python\n")
    (home / ".local/bin").mkdir()
    (home / ".local/bin/agent").symlink_to(tool / "bin/agent")
    found = needs.of_program("agent", f"{home}/.local/bin:/usr/bin")
    assert {home / ".local/bin/agent", tool, python.parents[1]} <= set(found)
    assert not [path for path in found if home.is_relative_to(path) or path == home / ".local"]
    assert not [path for path in found if "keyrings" in str(path) or path.name in ("share", "uv", "tools")]


def test_an_environment_behind_a_link_is_shown_too(home: Path) -> None:
    """A link such as `current` would lead nowhere inside, and no program of the environment start."""
    python = program(home / ".local/python/bin/python3.12", "")
    environment = home / "environments/v3"
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text("home = …", encoding="utf-8")
    (environment / "bin/python").symlink_to(python)
    (home / "environments/current").symlink_to("v3")
    found = needs.of_program(str(home / "environments/current/bin/python"), "/usr/bin")
    assert {home / "environments/current", environment, python} <= set(found)


def test_a_shim_brings_what_it_starts_along(home: Path) -> None:
    """A Python of pyenv would be found inside and lead to nothing; what lies in its folder is no secret."""
    shim = program(home / ".pyenv/shims/python3", "#!/usr/bin/env bash\n")
    found = needs.of_program("python3", f"{shim.parent}:/usr/bin")
    assert {shim, home / ".pyenv"} <= set(found)
    assert home not in found


def test_a_node_program_brings_its_packages_along(home: Path) -> None:
    """A global npm package is a link into node_modules, and its first line asks for node."""
    prefix = home / ".nvm/versions/node/v22"
    program(prefix / "bin/node", "")
    (prefix / "include/node").mkdir(parents=True)
    script = program(prefix / "lib/node_modules/@org/agent/cli.js", "#!/usr/bin/env node\n")
    (prefix / "bin/agent").symlink_to("../lib/node_modules/@org/agent/cli.js")
    found = needs.of_program("agent", f"{prefix}/bin:/usr/bin")
    assert {prefix, prefix / "lib/node_modules", script} <= set(found)
    own = needs.of_program(
        str(program(home / "app/node_modules/x/bin/x.js", "#!/usr/bin/env node\n")), f"{prefix}/bin"
    )
    assert home / "app/node_modules" in own
    assert home / "app" not in own


@pytest.mark.parametrize("name", [".cargo/bin/tool", "bin/tool", ".local/bin/tool"])
def test_a_plain_program_at_home_is_shown_alone(home: Path, name: str) -> None:
    """~/.cargo has credentials, and ~/.local everything: a program there is no reason to show them."""
    path = program(home / name)
    assert needs.of_program(str(path), "/usr/bin") == (path,)


@pytest.mark.parametrize("name", ["/bin/sh", "sh", "env", "/usr/bin/env", "no-such-program", ""])
def test_the_systems_programs_need_nothing_more(name: str) -> None:
    """/bin is a link in / beside lib/python3: taken for an installation, it would show the whole machine."""
    assert needs.of_program(name, "/usr/bin:/bin") == ()


def test_programs_that_name_each_other_come_to_an_end(home: Path) -> None:
    """A loop of links or of first lines would hang every run."""
    one, two = home / "bin/one", home / "bin/two"
    program(one, f"#!{two}\n")
    program(two, f"#!{one}\n")
    (home / "bin/three").symlink_to(home / "bin/three")
    assert set(needs.of_program(str(one), "")) == {one, two}
    assert needs.of_program(str(home / "bin/three"), "") == ()


def test_what_lies_beside_a_script_is_shown_but_for_hidden_names(home: Path, tmp_path: Path) -> None:
    """An agent imports the module beside it; the .env beside it is where people keep keys."""
    folder = tmp_path / "agent"
    script = program(folder / "agent.py")
    for name in (".env", ".git/config", "module.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x", encoding="utf-8")
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/pyvenv.cfg").touch()
    (folder / ".venv/bin/python").symlink_to(sys.executable)
    wanted, masked = shown(Needs(programs=(str(folder / ".venv/bin/python"),), own_files=(script,)), [])
    assert folder in wanted
    assert set(masked) == {folder / ".env", folder / ".git"}


@pytest.mark.parametrize("closed", ["home", "store"])
def test_a_script_beside_something_closed_is_shown_alone(home: Path, tmp_path: Path, closed: str) -> None:
    """~/agent.py is no reason to show the home, nor one in the folder of the store the store."""
    place = home if closed == "home" else tmp_path / "project"
    store = place / "store"
    store.mkdir(parents=True)
    script = program(place / "agent.py")
    wanted, masked = shown(Needs(own_files=(script,)), [store])
    assert wanted == (script,)
    assert masked == ()


def test_the_tasks_in_an_installed_package_are_masked(tmp_path: Path) -> None:
    """The bundled verifiers lie where Python itself does, and that folder is shown to every trial."""
    site = tmp_path / "venv/lib/python3/site-packages"
    (site / "hemra/bundled/tasks/a/solution").mkdir(parents=True)
    tasks = site / "hemra/bundled/tasks"
    view = View()
    view.show([tmp_path / "venv"], [tasks], [tasks / "a/solution"])
    words = view.arguments
    assert words[: words.index("--perms")] == ["--ro-bind", str(tmp_path / "venv"), str(tmp_path / "venv")]
    assert words[words.index("--tmpfs") + 1] == str(tasks)
    assert words[-3:] == ["--ro-bind", str(tasks / "a/solution"), str(tasks / "a/solution")]
    view.close()
    assert view.arguments[-6:-4] == ["--remount-ro", str(tasks)]


def test_a_link_to_something_hidden_does_not_show_it(tmp_path: Path) -> None:
    """The store may be named by a link, and the folder around either of its names be shown."""
    real = tmp_path / "project/data"
    real.mkdir(parents=True)
    (tmp_path / "link").symlink_to(real)
    view = View()
    view.show([tmp_path / "project"], [tmp_path / "link"])
    assert view.arguments[view.arguments.index("--tmpfs") + 1] == str(real)


def test_the_network_follows_from_what_is_needed(tmp_path: Path) -> None:
    """A harness that cannot reach its model fails every trial; one that needs none must not have any."""
    from hemra.datasets.load import load_folder

    make_task(tmp_path / "set", "closed")
    folder = make_task(tmp_path / "set", "open")
    spec = (folder / "task.yaml").read_text(encoding="utf-8")
    (folder / "task.yaml").write_text(spec + "network: full\n", encoding="utf-8")
    closed, open_ = sorted(load_folder(tmp_path / "set").tasks, key=lambda task: task.id)
    calls_a_model, calls_none = Needs(model=True), Needs(model=False)
    assert network_of(calls_none, closed, gateway=False) == "gateway"
    assert network_of(calls_a_model, closed, gateway=True) == "gateway"
    assert network_of(calls_a_model, closed, gateway=False) == "full"
    assert network_of(calls_none, open_, gateway=True) == "full"
    assert network_of(Needs(network="none"), open_, gateway=True) == "none"


def test_the_real_python_is_found() -> None:
    """In the namespaces the process that starts programs must find its own library."""
    assert os.path.isfile(needs.interpreter())
    paths = needs.of_interpreter()
    real = Path(needs.interpreter())
    assert needs.in_system(real) or any(real.is_relative_to(path) for path in paths)
