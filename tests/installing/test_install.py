"""Installing by pip: from local wheels, whole or not at all."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harnesses.recipe import MANIFEST, installed, place_of
from hemra.errors import UsageError
from hemra.installing import content, record, venv
from hemra.installing.errors import InstallError
from hemra.installing.install import _INSTALLERS, Outcome, at_version, install, uninstall
from hemra.installing.options import Options
from hemra.installing.venv import wheel_cache
from tests.installing.made_packages import make_wheel, toy_recipe, toy_wheels

ROOT = Path(__file__).resolve().parents[2]
#: Long enough for a slow machine; nothing here waits for it but what has failed.
PATIENCE = 60.0


def _install(folder: Path | None = None, **more: object) -> Outcome:
    return install(toy_recipe(), Options(folder=folder, offline=True, **more))  # type: ignore[arg-type]


def _builds() -> list[Path]:
    return sorted((place_of("toy", "1.2.3").parent / ".builds").iterdir())


def test_an_agent_is_installed_from_a_folder_and_again_from_the_cache(tmp_path: Path) -> None:
    """A user without a network could not install, or only once; an installation could not be told from another."""
    first = _install(toy_wheels(tmp_path / "wheels"))
    assert first.fresh
    assert (first.manifest.told, first.manifest.packages) == (
        "toy-agent 1.2.3",
        ["toy-agent==1.2.3", "toy-library==2.0"],
    )
    place = installed("toy", "1.2.3")
    assert place is not None
    said = subprocess.run([place / "bin" / "toy"], capture_output=True, text=True, check=True)
    assert said.stdout == "hello\n"
    assert sorted(path.name for path in wheel_cache().glob("*.whl")) == [
        "toy_agent-1.2.3-py3-none-any.whl", "toy_library-2.0-py3-none-any.whl",
    ]  # fmt: skip
    assert not _install().fresh
    again = _install(again=True)
    assert again.fresh
    assert again.manifest.digest == first.manifest.digest, "the same packages, another digest"
    assert len(_builds()) == 1, "the build that was replaced stays for ever"


def test_what_was_changed_is_told_and_made_anew(tmp_path: Path) -> None:
    """A run would be recorded with the digest of an agent that is not the one that ran."""
    done = _install(toy_wheels(tmp_path / "wheels"))
    fine = record.state("toy", "1.2.3")
    assert fine is not None
    assert (fine.changed, fine.digest) == ((), done.manifest.digest)
    module = next(fine.place.glob("lib/python3*/site-packages/toy_agent.py"))
    times = module.stat()
    text = module.read_text("utf-8")
    module.write_text(text.replace("hello", "h3llo"), "utf-8")
    os.utime(module, ns=(times.st_atime_ns, times.st_mtime_ns))
    changed = record.state("toy", "1.2.3")
    assert changed is not None
    assert [Path(path).name for path in changed.changed] == ["toy_agent.py"]
    recorded = record.record("toy", "1.2.3")
    assert recorded is not None
    assert recorded["digest"] == changed.digest != done.manifest.digest
    module.write_text(text, "utf-8")
    restored = record.state("toy", "1.2.3")
    assert restored is not None
    assert restored.changed == ()
    module.unlink()
    assert _install().fresh, "what was changed is taken for what was installed"


def test_a_program_that_tells_another_version_is_not_installed(tmp_path: Path) -> None:
    """Results would be told of a version that never ran."""
    code = "def main():\n    print('toy-agent 1.2.30')\n"
    with pytest.raises(InstallError, match=r"says that it is 'toy-agent 1\.2\.30', not 1\.2\.3"):
        _install(toy_wheels(tmp_path / "wheels", code=code))
    assert installed("toy", "1.2.3") is None
    assert _builds() == []


def test_a_package_that_is_nowhere_is_named_with_the_remedy(tmp_path: Path) -> None:
    """The user would see a page of pip's output; a half of the agent would stay behind."""
    make_wheel(tmp_path / "wheels", "toy-agent", "1.2.3", script="toy", requires=["toy-library>=2"])
    with pytest.raises(InstallError, match=r"toy-library>=2 is in no local folder: .*--from"):
        _install(tmp_path / "wheels")
    assert record.all_installed() == []
    assert _builds() == []


def test_what_is_missing_is_fetched_into_the_cache(tmp_path: Path) -> None:
    """A second installation would need the network again, or the first would not find the index at all."""
    for name, version in (("toy-agent", "1.2.3"), ("toy-library", "2.0")):
        folder = tmp_path / "index" / name
        toy_wheels(tmp_path / "made")
        folder.mkdir(parents=True)
        wheel = next((tmp_path / "made").glob(f"{name.replace('-', '_')}-{version}*"))
        (folder / wheel.name).write_bytes(wheel.read_bytes())
        (folder / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>', "utf-8")
    assert install(toy_recipe(), Options()).fresh
    assert len(list(wheel_cache().iterdir())) == 2
    assert uninstall("toy") == ["1.2.3"]
    assert installed("toy", "1.2.3") is None
    assert _install().fresh


def test_own_requirements_are_installed_as_they_are_and_conflicts_recorded(tmp_path: Path) -> None:
    """Results of an agent with other libraries than it asks for would look like those of the agent as released."""
    toy_wheels(tmp_path / "wheels")
    make_wheel(tmp_path / "wheels", "toy-library", "1.0")
    own = tmp_path / "own.txt"
    own.write_text("toy-agent==1.2.3\ntoy-library==1.0\n", "utf-8")
    done = _install(tmp_path / "wheels", requirements=own)
    assert done.manifest.packages == ["toy-agent==1.2.3", "toy-library==1.0"]
    assert len(done.manifest.conflicts) == 1
    assert "toy-library" in done.manifest.conflicts[0]


#: Installs the toy, as the command does.
_INSTALLING = """
import sys
from pathlib import Path
from hemra.installing.install import install
from hemra.installing.options import Options
from tests.installing.made_packages import toy_recipe
done = install(toy_recipe(), Options(folder=Path(sys.argv[1]), offline=True, tell=lambda text: print(text, flush=True)))
print("fresh" if done.fresh else "there", done.manifest.digest, flush=True)
"""


def _start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _INSTALLING, str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def test_an_installation_that_is_killed_leaves_nothing_that_is_seen(tmp_path: Path) -> None:
    """A half of an agent would be run, and its failures counted as the agent's."""
    gate = tmp_path / "gate"
    code = (
        "import pathlib, time\n\ndef main():\n"
        f"    while not pathlib.Path({str(gate)!r}).exists():\n        time.sleep(0.05)\n"
        "    print('toy-agent 1.2.3')\n"
    )
    folder = toy_wheels(tmp_path / "wheels", code=code)
    first = _start(folder)
    assert first.stdout is not None
    try:
        while "asking it for its version" not in first.stdout.readline():
            assert first.poll() is None
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
        gate.touch()
        first.stdout.close()
    assert (installed("toy", "1.2.3"), record.all_installed()) == (None, [])
    assert len(_builds()) == 1, "the test killed it too early or too late"
    assert _install(folder).fresh
    assert len(_builds()) == 1, "what the killed one left is never removed"


def test_two_installations_of_the_same_agent_take_turns(tmp_path: Path) -> None:
    """Both would write into the same place, or one would remove what the other is making."""
    folder = toy_wheels(tmp_path / "wheels")
    both = [_start(folder) for _ in range(2)]
    told = [child.communicate(timeout=PATIENCE)[0].splitlines() for child in both]
    assert [child.returncode for child in both] == [0, 0]
    last = sorted(lines[-1].split() for lines in told)
    assert [word for word, _ in last] == ["fresh", "there"]
    assert last[0][1] == last[1][1]
    assert len(_builds()) == 1


def test_a_damaged_manifest_is_told_with_the_remedy() -> None:
    """One bad file would keep every command that looks at installed agents from working."""
    place = place_of("toy", "1.2.3")
    place.mkdir(parents=True)
    (place / MANIFEST).write_bytes(b"{")
    with pytest.raises(InstallError, match="hemra harness install toy --again"):
        record.state("toy", "1.2.3")


def test_another_python_is_found_where_this_one_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that is not made for HEMRA's own Python could not be installed, or would be into that one."""
    monkeypatch.setattr(venv.shutil, "which", {"python3.19": "/a/python3.19", "python3.20": "/a/shim"}.get)
    monkeypatch.setattr(venv, "_makes_environments", lambda python: python != "/a/shim")
    assert venv.find_python(">=3.19") == "/a/python3.19"
    with pytest.raises(InstallError, match=r"it needs Python >=99, and this is 3\..*PATH"):
        venv.find_python(">=99")


def test_names_that_lead_elsewhere_are_refused() -> None:
    """A recipe's name or a version from the command line could write outside the folder of installed agents."""
    with pytest.raises(UsageError, match="is no version"):
        at_version(toy_recipe(), "../../x")
    for name in ("../x", "a/b", "1..2", ".builds", ""):
        recipe = dataclasses.replace(toy_recipe(), name=name)
        with pytest.raises(InstallError, match="cannot name"):
            install(recipe, Options(offline=True))


def test_another_version_changes_the_agents_own_pin_only() -> None:
    """`--version` would install the pinned version, or change the pins of other packages."""
    recipe = at_version(toy_recipe(), "2.0")
    assert (recipe.version, recipe.packages) == ("2.0", ("toy-agent==2.0",))


def test_a_disk_that_is_full_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user would be shown a Python error, and the half of an agent would keep the disk full."""

    def full(recipe: object, build: Path, *_: object) -> None:
        (build / "half").touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(_INSTALLERS, "pip", full)
    with pytest.raises(InstallError, match="the disk is full"):
        _install()
    assert _builds() == []


def test_programs_of_an_installer_hold_the_lock(tmp_path: Path) -> None:
    """After its maker was killed, pip would write into a folder that the next installation removes under it."""
    gate = tmp_path / "gate"
    code = (
        "import pathlib, sys, time\nfrom hemra.installing.child import Child\n"
        "from hemra.installing.place import shelf\n"
        "with shelf('toy') as held:\n"
        "    wait = ['sh', '-c', 'echo ready; while [ ! -e " + str(gate) + " ]; do sleep 0.05; done']\n"
        f"    Child(pathlib.Path({str(tmp_path / 'log')!r}), held.lock).run(wait, cwd=pathlib.Path('/'))\n"
    )
    maker = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    log, start = tmp_path / "log", time.monotonic()
    while not (log.exists() and b"\nready" in log.read_bytes()):
        assert time.monotonic() - start < PATIENCE
        time.sleep(0.01)
    maker.kill()
    maker.wait()
    waiting: list[bool] = []

    def meanwhile() -> None:
        waiting.append(True)
        gate.touch()

    from hemra.installing.place import shelf

    with shelf("toy", meanwhile):
        assert waiting == [True]


def test_a_file_with_two_names_is_counted_once(tmp_path: Path) -> None:
    """Packages link their program in a second time: twice the size would be told of what is on the disk."""
    (tmp_path / "program").write_bytes(b"x" * 1000)
    (tmp_path / "again").hardlink_to(tmp_path / "program")
    (tmp_path / "other").write_bytes(b"y")
    assert content.size_of(tmp_path) == (2, 1001)
