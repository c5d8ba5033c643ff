"""What verifiers share: an answer is read tolerantly, a near miss is not accepted, and nothing hostile gets through."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hemra.datasets.beside import FOLDER

sys.path.append(str(FOLDER))
try:
    import hemra_verifier as kit  # type: ignore[import-not-found]
finally:
    sys.path.remove(str(FOLDER))

NARROW = "\u202f"


@pytest.mark.parametrize(
    "text",
    [
        "1234", "1,234", "1 234", f"1{NARROW}234", "1'234", "1_234", "**1234**", "`1234`", "1234.", "1234.0",
        "1.234e3", "It is 1234 files", "count=1234", "COUNT: 1234, ok", "(1234)", "1234s", "1234 lines.",
        "\\boxed{1234}", "$1234$", "1234, 5", "total:1234", "+1234", "1\u200b234", "\x1b[1m1234\x1b[0m", "１２３４",
        "1230-1234", "1234-1240", "one is 1,234", "| 1234 |", "~1234~",
    ],
)  # fmt: skip
def test_a_number_said_in_any_way_is_the_number(text: str) -> None:
    """A right answer would fail for how it is written."""
    assert kit.states(kit.plain(text), 1234)


@pytest.mark.parametrize(
    "text",
    [
        "12345", "01234", "1234x", "1234.5", "-1234", "\u22121234", "1234%", "1234 %", "1234 percent", "1234k",
        "1234 million", "v1234", "x-1234", "1,234,567", "91,234", "0x1234", "1234abc", "1.1234", "12:1234", "1234:56",
        "1234/5",
        "2024-1234-05", "", "twelve", "12 34", "1234th", "1234²", "tok-1234",
    ],
)  # fmt: skip
def test_a_near_miss_is_not_the_number(text: str) -> None:
    """A wrong answer would pass for holding the right digits."""
    assert not kit.states(kit.plain(text), 1234)


@pytest.mark.parametrize(
    ("text", "number", "said"),
    [
        ("forty-two", 42, True), ("Forty two of them", 42, True), ("one hundred and seven", 107, True),
        ("twelve", 12, True), ("zero", 0, True), ("There is one.", 1, True), ("nine hundred ninety-nine", 999, True),
        ("forty-two", 40, False), ("forty-two", 2, False), ("two hundred", 2, False), ("one of them", 1, False),
        ("this one", 1, False), ("five percent", 5, False), ("two million", 2, False), ("someone", 1, False),
        ("10²", 102, False), ("3½", 31, False), ("0.5", 0.5, True), (".5", 0.5, True), ("-3", -3, True),
        ("3", -3, False), ("1e-3", 0.001, True), ("lines 12-20", 12, True), ("lines 12-20", 20, True),
    ],
)  # fmt: skip
def test_words_signs_and_fractions(text: str, number: float, said: bool) -> None:
    """A number would be read out of another one, or not be read where it is a word."""
    assert kit.states(kit.plain(text), number) is said


def test_tolerance_is_a_difference() -> None:
    """A rounded measure would fail, or a wrong one pass."""
    assert kit.states("0.853", 0.8534, tolerance=0.0005)
    assert not kit.states("0.85", 0.8534, tolerance=0.0005)


@pytest.mark.parametrize(
    ("text", "value", "said"),
    [
        ("see a.py", "a.py", True), ("./a.py", "a.py", True), ("a.py: ok", "a.py", True), ("a.py:12", "a.py", True),
        ("a.py.", "a.py", True), ("b/a.py", "a.py", False), ("/b/a.py", "a.py", False), ("a.py.bak", "a.py", False),
        ("aa.py", "a.py", False), ("a.py/x", "a.py", False), ("../a.py", "a.py", False), ("x/./a.py", "a.py", False),
        ("HOME=/srv/x.", "/srv/x", True), ("/srv/x/y", "/srv/x", False), ("/a/srv/x", "/srv/x", False),
        ("/srv/xy", "/srv/x", False), ("data/", "data/", True), ("data/x", "data/", False),
        ("v1.2", "1.2", True), ("version 1.2, yes", "1.2", True), ("1.2.", "1.2", True), ("1.2.3", "1.2", False),
        ("11.2", "1.2", False), ("1.2-rc1", "1.2", False), ("dev1.2", "1.2", False), ("1.2+local", "1.2", False),
        ("**key-17**", "key-17", True), ("_key-17_", "key-17", True), ("key\u201117", "key-17", True),
        ("key-17-x", "key-17", False), ("x-key-17", "key-17", False), ("key-170", "key-17", False),
        ("two\n  words", "two words", True), ("two wordsmiths", "two words", False),
        ("85 %", "85%", True), ("85\\%", "85%", True), ("185%", "85%", False), ("8.85%", "85%", False),
        ("http://h:1/p", "http://h:1/p", True), ("http://h:1/p?x=1", "http://h:1/p", False),
        ("http://h:1/p/q", "http://h:1/p", False), ("`__init__`", "__init__", True), ("__init__", "__init__", True),
        ("`*.py` and `*.md`", "*.py", True), ("これは日本です", "日本", True), ("hi🌍!", "🌍", True),
        ("It\u2019s so", "it's so", False), ("True", "true", False), ("anything", "", False),
    ],
)  # fmt: skip
def test_a_text_is_said_whole(text: str, value: str, said: bool) -> None:
    """A longer word, path, version or address that contains the value would pass for it."""
    assert kit.states(kit.plain(text), value) is said


def test_case_counts_unless_told() -> None:
    """Names that differ in case would be one."""
    assert kit.states("Hello World", "hello world", ignore_case=True)
    assert not kit.states("Hello World", "hello world")


@pytest.mark.parametrize(
    ("text", "value", "denied"),
    [
        ("It is not 17", 17, True), ("isn't 17", 17, True), ("isn\u2019t the 17", 17, True), ("no a.py", "a.py", True),
        ("not the value 17", 17, True), ("17 is not it", 17, True), ("17 isn't", 17, True), ("17 is wrong", 17, True),
        ("rather than 17", 17, True), ("a.py does not exist", "a.py", True), ("It is 17, not 18", 17, False),
        ("It is not 18 but 17", 17, False), ("I couldn't read foo.py. The code is 17", 17, False),
        ("not found; 17", 17, False), ("a.py does exist", "a.py", False), ("not 170", 17, False),
    ],
)  # fmt: skip
def test_a_denied_value(text: str, value: Any, denied: bool) -> None:
    """ "It is not 17" would pass for 17, or a right answer be taken for its contrary."""
    assert kit.denies(kit.plain(text), value) is denied


def test_numbers_in_order() -> None:
    """An answer that lists everything could not be told from one that says something."""
    assert kit.numbers("12 of 1,300, -3.5, 85 %, 12-20, three, 3 million tok-9") == [
        12,
        1300,
        -3.5,
        85,
        12,
        20,
        3,
    ]


def test_plain_keeps_code_and_drops_emphasis() -> None:
    """Names in code would lose their underscores, or emphasis would hide a value."""
    assert (
        kit.plain("**a** _b_ `__c__` __d__ e_f_g *x y* 2*3*4 ~~~py\n```\nz")
        == "a b __c__ __d__ e_f_g x y 2*3*4 ~~~py\n\nz"
    )
    assert kit.plain(None) == ""
    assert kit.plain([{"text": "a"}]) == "text\na"


def call(name: str, ok: bool | None, result: Any, **more: Any) -> dict[str, Any]:
    """A recorded call."""
    return {
        "call": "c",
        "name": name,
        "tool": name.lower(),
        "arguments": {},
        "ok": ok,
        "result": result,
        **more,
    }


def test_only_calls_that_worked_count() -> None:
    """A call that failed, or was never answered, would be evidence."""
    made = [call("Terminal", True, "7"), call("terminal", None, "8"), call("terminal", False, "9"),
            call("terminal", True, None), call("read_file", True, "10")]  # fmt: skip
    trace = {"tool_calls": made, "workspace": "/w/space"}
    assert [c["result"] for c in kit.calls(trace, "terminal")] == ["7", "8"]
    assert [c["result"] for c in kit.calls(trace, "terminal", ok=False)] == ["9", None]
    assert len(kit.calls(trace, ok=None)) == 5
    assert kit.calls({}, "terminal") == []
    assert kit.showed(trace, 8, "terminal")
    assert not kit.showed(trace, 9, "terminal")
    assert not kit.showed(trace, 10, "terminal")
    assert kit.showed(trace, 10)


def test_paths_below_the_workspace_are_relative_to_it() -> None:
    """A harness that names files by their full path would fail."""
    trace = {"final": "It is `/w/space/b/a.py`.", "workspace": "/w/space", "tool_calls": []}
    assert kit.states(kit.answer(trace), "b/a.py")
    assert not kit.states(kit.answer(trace | {"final": "/w/spaces/b/a.py"}), "b/a.py")
    assert kit.states(kit.answer(trace | {"final": "in /w/space."}), "/w/space")
    assert kit.answer({"final": None}) == ""


def test_results_of_any_shape_are_read() -> None:
    """Only one harness's way of writing a result would be understood."""
    assert kit.as_text({"a": [1, True, None, {"b": '{"c": "d"}'}]}).split() == [
        "a",
        "1",
        "true",
        "b",
        "c",
        "d",
    ]
    deep: Any = "x"
    for _ in range(20_000):
        deep = [deep]
    assert kit.as_text(deep) == "x"
    assert kit.as_text("[" * 100_000) == "[" * 100_000
    nested = '"x"'
    for _ in range(8):
        nested = '{"a": ' + nested + "}"
    assert kit.as_text(nested).split()[-1] == "x"


@pytest.mark.parametrize(
    "piece",
    ["*a ", "_a ", "`", "one ", "1,", "1 ", "\x1b]", "-", "not ", "** ", "/a", "1-", "twenty ", "a.", "{"],
)
def test_hostile_text_takes_no_time(piece: str) -> None:
    """An answer could hang the verifier."""
    text = piece * (200_000 // len(piece))
    began = time.process_time()
    said = kit.plain(text)
    for value in (17, "ab-c", "1.2"):
        kit.states(said, value)
        kit.denies(said, value)
    kit.numbers(said)
    assert time.process_time() - began < 5


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """A workspace with odd things in it, and a secret outside."""
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "in.txt").write_text("secret", "utf-8")
    root = tmp_path / "space"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("\ufeffa", "utf-8")
    (root / "sub" / "b.bin").write_bytes(b"\xff\xfe")
    (root / "link").symlink_to("../secret.txt")
    (root / "linked").symlink_to("../outside")
    (root / "inner").symlink_to("a.txt")
    os.mkfifo(root / "fifo")
    with (root / "huge").open("wb") as file:
        file.truncate(1 << 30)
    return root


@pytest.mark.parametrize(
    "path",
    ["link", "linked/in.txt", "inner", "fifo", "huge", "sub", "gone", "a.txt/x", "../secret.txt",
     "sub/../../secret.txt", "/etc/passwd", "", ".", "a\0b", "x" * 5000, "sub/../a.txt"],
)  # fmt: skip
def test_only_plain_files_inside_are_read(space: Path, path: str) -> None:
    """A link out, a pipe or a huge file would be read, or hang the verifier."""
    assert kit.read(space, path) is None
    assert kit.text(space, path) is None


def test_plain_files_are_read(space: Path) -> None:
    """What is there would not be found."""
    assert kit.text(space, "a.txt") == "a"
    assert kit.read(space, Path("sub/b.bin")) == b"\xff\xfe"
    assert kit.text(space, "./sub//b.bin") is None
    assert kit.read(space, "a.txt", limit=3) is None
    assert kit.read(space, "a.txt", limit=4) == "\ufeffa".encode()
    assert kit.read(space / "gone", "a.txt") is None


def test_the_tree_names_everything_and_follows_nothing(space: Path) -> None:
    """A link to a folder would be walked into, or something left in the workspace be missed."""
    assert kit.tree(space) == {
        "a.txt": "file", "fifo": "other", "huge": "file", "inner": "link", "link": "link", "linked": "link",
        "sub": "dir", "sub/b.bin": "file",
    }  # fmt: skip
    assert len(kit.tree(space, limit=3)) == 3
    deep = space
    for _ in range(90):
        deep = deep / "d"
    deep.mkdir(parents=True)
    assert len(kit.tree(space)) == 8 + 64
    assert kit.tree(space / "gone") == {}


def ran(space: Path, code: str, **more: Any) -> Any:
    """A program of the workspace, run."""
    return kit.run(space, ["python3", "p.py"], files={"p.py": code}, **more)


def test_a_program_runs_in_a_copy(space: Path) -> None:
    """Judging would change what is judged, or a program could be shown the verifier's own files."""
    (space / "tool.sh").write_text("#!/bin/sh\ncat; echo err >&2; exit 3\n", "utf-8")
    (space / "tool.sh").chmod(0o755)
    got = kit.run(space, ["./tool.sh"], stdin=b"given")
    assert got == kit.Ran(3, None, False, b"given", b"err\n")
    got = ran(
        space,
        "import os\nprint(sorted(os.listdir('.')), os.environ.get('SECRET'))\nopen('a.txt', 'w').write('z')",
    )
    assert got.stdout == b"['a.txt', 'p.py', 'sub', 'tool.sh'] None\n", got
    assert kit.text(space, "a.txt") == "a"
    assert not (space / "p.py").exists()


def test_a_module_of_the_workspace_stands_in_for_no_other(space: Path) -> None:
    """A json.py in the workspace would judge itself."""
    (space / "json.py").write_text("print('mine')", "utf-8")
    assert ran(space, "import json; print(json.dumps(1))").stdout == b"1\n"


def test_files_that_are_put_win_over_what_lies_there(space: Path) -> None:
    """A folder or a link in the place of the driver would keep it from being run."""
    (space / "p.py").mkdir()
    assert ran(space, "print(1)").stdout == b"1\n"
    with pytest.raises(ValueError, match="not a path inside"):
        kit.run(space, ["true"], files={"../x": b""})


def test_limits_hold(space: Path) -> None:
    """A hostile program would hang, fill the memory or the disk, or flood the verifier."""
    began = time.monotonic()
    assert ran(space, "while True: pass", timeout=0.5)[:3] == (None, None, True)
    slept = ran(
        space, "import subprocess; subprocess.Popen(['sleep', '60']); print('x', flush=True)", timeout=30
    )
    assert slept.exit_code == 0
    assert ran(space, "import os, time; os.close(1); os.close(2); time.sleep(60)", timeout=0.5).timed_out
    assert time.monotonic() - began < 15
    flood = ran(space, "import os\nwhile True: os.write(1, b'x' * 65536)")
    assert (flood.signal, len(flood.stdout)) == (signal.SIGKILL, 1 << 20)
    assert b"MemoryError" in ran(space, "b'x' * (1 << 30)").stderr
    assert (
        ran(
            space, "import signal; f = open('f', 'wb')\nfor _ in range(99): f.write(b'x' * (1 << 20))"
        ).exit_code
        != 0
    )
    assert kit.run(space, ["./gone"]).exit_code == 1
    assert b"gone" in kit.run(space, ["./gone"]).stderr


def test_a_fork_bomb_is_ended(space: Path) -> None:
    """One verdict could take the machine with it."""
    bomb = (
        "import os, time\nfor _ in range(200):\n    if os.fork() == 0: time.sleep(30); os._exit(0)\n"
        "print('all')\ntime.sleep(20)"
    )
    began = time.monotonic()
    got = ran(space, bomb, timeout=15)
    assert got.exit_code != 0
    assert time.monotonic() - began < 14


def test_results_have_the_shape_of_the_contract() -> None:
    """Every verifier would be a VERIFIER_ERROR."""
    from hemra.scoring.contract import check

    assert check(kit.passed("r", n=1)) == ("PASS", 1.0, "r", {"n": 1})
    assert check(kit.passed("r", score=0.5)) == ("PASS", 0.5, "r", None)
    assert check(kit.failed("r", n=1)) == ("FAIL", 0.0, "r", {"n": 1})
    assert check(kit.skipped("r")) == ("SKIPPED", None, "r", None)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, which this system does not have")
def test_the_memory_of_the_verifier_is_out_of_reach(space: Path) -> None:
    """If this failed, a program of the workspace could read the right values where they are compared."""
    code = (
        "import os\n"
        "try:\n open(f'/proc/{os.getppid()}/mem', 'rb'); print('open')\n"
        "except PermissionError: print('refused')\n"
    )
    assert ran(space, code).stdout == b"refused\n"
