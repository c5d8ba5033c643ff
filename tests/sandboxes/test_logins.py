"""A harness gets exactly the login files that its file names, and nothing of them gets into the record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eventlog.reader import read
from eventlog.store import Store
from harnesses.errors import HarnessFileError
from harnesses.logins import secrets_of
from harnesses.registry import load_harness
from hemra.engine.plan import make_plan
from hemra.engine.progress import Quiet
from hemra.engine.request import RunRequest
from hemra.engine.run import start
from tests.hemra.engine_driver import make_harness, make_task

TOKEN = "zq93-kfh2-mmx8-0q7p-vv51"
SCRIPT = """
cat ~/.tool/auth.json; base64 -w0 < ~/.tool/auth.json; ls -A ~ ~/.tool
(echo changed > ~/.tool/auth.json) 2>/dev/null && echo WRITTEN
cat "$REAL_HOME/.ssh/id" "$REAL_HOME/.tool/auth.json" 2>/dev/null && echo SEEN
true
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a login file, and with what is nobody's business."""
    place = tmp_path / "home"
    (place / ".tool").mkdir(parents=True)
    (place / ".ssh").mkdir()
    auth = {"user": "me", "tokens": {"access_token": TOKEN, "kind": "bearer"}, "expires": 3}
    (place / ".tool" / "auth.json").write_text(json.dumps(auth), encoding="utf-8")
    (place / ".tool" / "history").write_text("private", encoding="utf-8")
    (place / ".ssh" / "id").write_text("PRIVATE", encoding="utf-8")
    monkeypatch.setenv("HOME", str(place))
    return place


@pytest.mark.parametrize("kind", ["host", pytest.param("bwrap", marks=pytest.mark.needs("bwrap"))])
def test_a_login_file_is_there_read_only_and_not_in_the_record(home: Path, tmp_path: Path, kind: str) -> None:
    """Without it a harness cannot log in; with more than it, it has all of the user's accounts."""
    make_task(tmp_path / "set", "a")
    store = Store.open(tmp_path / "log", create=True)
    harness = make_harness(
        tmp_path / "harnesses", "h", SCRIPT, login_files=["~/.tool/auth.json"], env={"REAL_HOME": str(home)},
        network="none",
    )  # fmt: skip
    request = RunRequest(dataset=str(tmp_path / "set"), harnesses=[harness], sandbox=kind)
    result = start(store, make_plan(store, request), Quiet())
    found = {event.type: event.data for event in read(store, result.run)}
    assert found["sandbox.created"]["login_files"] == ["~/.tool/auth.json"]
    answer = found["message.recorded"]["text"]
    assert "[redacted:auth.json:access_token]" in answer
    assert '"user": "me"' in answer
    assert "history" not in answer
    if kind == "bwrap":
        assert "WRITTEN" not in answer
        assert "SEEN" not in answer
    stored = b"".join(path.read_bytes() for path in store.path.rglob("*") if path.is_file())
    assert TOKEN.encode() not in stored
    assert json.loads((home / ".tool" / "auth.json").read_text("utf-8"))["tokens"]["access_token"] == TOKEN


def test_a_login_file_that_is_not_there_keeps_the_run_from_starting(home: Path, tmp_path: Path) -> None:
    """Every trial would fail with the harness's own idea of an error."""
    harness = load_harness(make_harness(tmp_path, "h", "true", login_files=["~/.tool/absent.json"]))
    assert any("absent.json is not there; log in first" in problem for problem in harness.problems())


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "auth.json", "~", "~/../other/auth.json", "~other/auth.json"]
)
def test_only_files_of_the_own_home_are_login_files(tmp_path: Path, name: str) -> None:
    """Where another file would appear in the trial's HOME is not known."""
    with pytest.raises(HarnessFileError, match="name a file of your home"):
        load_harness(make_harness(tmp_path, "h", "true", login_files=[name]))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"a": [{"refreshToken": "r-1"}], "plain": "p", "password": ""}', {"r-1"}),
        ('{"auths": {"host": {"auth": "dXNlcjpwdw=="}}}', {"dXNlcjpwdw=="}),
        ("export API_KEY='k-1'\nname = me\n//registry/:_authToken=t-2\n", {"k-1", "t-2"}),
        ("machine h login me password s3cret\n", {"s3cret"}),
        ("not { json", set()),
    ],
)
def test_secrets_of_a_login_file_are_found(tmp_path: Path, text: str, values: set[str]) -> None:
    """What is not found in the file is not taken out of the record."""
    file = tmp_path / "auth"
    file.write_text(text, encoding="utf-8")
    assert set(secrets_of(file).values()) == values
