"""Where a key comes from, and every reason not to take it from there."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from harnesses.base import KeySource, Upstream
from hemra.gateway.keys import KeyUnusable, key_of, problems, resolved

SECRET = "dummy-key-of-a-user-0123456789"


def test_a_key_from_the_environment() -> None:
    """The way that most people keep a key."""
    assert key_of(KeySource(env="LAB_KEY"), {"LAB_KEY": f" {SECRET}\n"}) == SECRET


def test_a_key_from_the_environment_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run without another environment has this one."""
    monkeypatch.setenv("LAB_KEY", SECRET)
    upstream = Upstream(base_url="http://127.0.0.1:1/v1", key=KeySource(env="LAB_KEY"), headers={"X": "y"})
    found = resolved(upstream)
    assert (found.key, found.base_url, found.headers) == (SECRET, "http://127.0.0.1:1/v1", {"X": "y"})
    assert SECRET not in repr(found)
    assert problems(upstream) == []


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "export it"), ("", "empty"), ("  \n", "empty"), ("a b", "nothing else"), ("k\ney", "nothing else"),
     ("schlüssel", "nothing else"), ("x" * 20_000, "too long")],
)  # fmt: skip
def test_a_variable_without_a_key(value: str | None, said: str) -> None:
    """A key with a newline in it would add a header; an empty one fails every trial of a long run."""
    with pytest.raises(KeyUnusable, match=said) as caught:
        key_of(KeySource(env="LAB_KEY"), {} if value is None else {"LAB_KEY": value})
    assert "LAB_KEY" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not value or value not in str(caught.value)


def _file(tmp_path: Path, content: bytes = SECRET.encode() + b"\n", mode: int = 0o600) -> Path:
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_key_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of one's own, with nothing but the key in it; `~` is the user's home."""
    path = _file(tmp_path)
    assert key_of(KeySource(file=str(path))) == SECRET
    monkeypatch.setenv("HOME", str(tmp_path))
    assert key_of(KeySource(file="~/key")) == SECRET


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604, 0o666])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    """A key that others can read is spent by others."""
    path = _file(tmp_path, mode=mode)
    with pytest.raises(KeyUnusable, match=f"mode {mode:04o}.*chmod 600 ") as caught:
        key_of(KeySource(file=str(path)))
    assert SECRET not in str(caught.value)


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever owns the file chooses whose account is used, and sees nothing of it here."""
    path = _file(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(KeyUnusable, match="another user"):
        key_of(KeySource(file=str(path)))


def test_what_is_no_file_with_a_key_is_refused(tmp_path: Path) -> None:
    """A pipe would hang the check before a run, and a picture is no key."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(mode=0o700)
    for name, said in (
        ("absent", "cannot be read"),
        ("pipe", "no regular file"),
        ("folder", "no regular file|cannot be"),
    ):
        with pytest.raises(KeyUnusable, match=said):
            key_of(KeySource(file=str(tmp_path / name)))
    with pytest.raises(KeyUnusable, match="not text"):
        key_of(KeySource(file=str(_file(tmp_path, b"\xff\xfe\x00"))))


def _keyring(
    monkeypatch: pytest.MonkeyPatch, held: dict[tuple[str, str], str], *, locked: bool = False
) -> None:
    """A keyring in the place of the package."""

    class KeyringError(Exception):
        pass

    def get_password(service: str, user: str) -> str | None:
        if locked:
            raise KeyringError("it is locked")
        return held.get((service, user))

    keyring, errors = ModuleType("keyring"), ModuleType("keyring.errors")
    keyring.get_password = get_password  # type: ignore[attr-defined]
    errors.KeyringError = KeyringError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)


def test_a_key_from_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's own place for it; a service's name may hold slashes."""
    _keyring(monkeypatch, {("https://lab/api", "me"): SECRET})
    assert key_of(KeySource(keyring="https://lab/api/me")) == SECRET
    with pytest.raises(KeyUnusable, match="keyring set lab you"):
        key_of(KeySource(keyring="lab/you"))
    with pytest.raises(KeyUnusable, match="SERVICE/USER"):
        key_of(KeySource(keyring="lab"))
    _keyring(monkeypatch, {}, locked=True)
    with pytest.raises(KeyUnusable, match="it is locked"):
        key_of(KeySource(keyring="lab/me"))


def test_without_the_keyring_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is installed by few, and an ImportError helps nobody."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(KeyUnusable, match="install it beside hemra, or use env or file"):
        key_of(KeySource(keyring="lab/me"))


@pytest.mark.parametrize(
    "source", [KeySource(), KeySource(env="A", file="b"), KeySource(env="A", file="b", keyring="c/d")]
)
def test_exactly_one_source(source: KeySource) -> None:
    """With two it would depend on chance whose account is used."""
    with pytest.raises(KeyUnusable, match="exactly one"):
        key_of(source, {"A": SECRET})


@pytest.mark.parametrize(
    ("base", "said"),
    [("api.one.test/v1", "http"), ("ftp://one.test", "http"), ("https://", "host"),
     ("https://u:p@one.test", "password"), ("https://one.test/#x", "fragment"),
     ("https://one.test:99999", "URL"), ("https://[::1", "URL"), ("", "http")],
)  # fmt: skip
def test_an_address_that_cannot_be_used(base: str, said: str) -> None:
    """A slip in it would fail every trial of a run, one after the other."""
    (line,) = problems(Upstream(base_url=base))
    assert said in line
    with pytest.raises(Exception, match="base_url"):
        resolved(Upstream(base_url=base))


def test_every_problem_is_named_at_once() -> None:
    """Mended one by one, a file needs as many tries as it has mistakes."""
    upstream = Upstream(
        base_url="nowhere", key=KeySource(env="LAB_KEY"), headers={"authorization": "Bearer x"}
    )
    assert len(problems(upstream, {})) == 2
    upstream = Upstream(
        base_url="https://one.test", key=KeySource(env="LAB_KEY"), headers={"X-Api-Key": SECRET}
    )
    lines = problems(upstream, {})
    assert len(lines) == 2
    assert SECRET not in " ".join(lines)
