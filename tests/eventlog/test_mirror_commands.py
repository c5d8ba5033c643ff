"""The commands as a person meets them: what is printed, what is asked for, and the exit codes."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from eventlog.store import Store

from .mirroring import ServeCommand, assert_identical, hemra, record, recorded


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServeCommand]:
    """A server whose user is also the one who pulls: they share the configuration folder."""
    recorded(Store.open(tmp_path / "there", create=True), "20261130-aaa", blob_every=8)
    recorded(Store.open(tmp_path / "there"), "20261130-bbb", parts=(4,))
    server = ServeCommand(tmp_path / "there", tmp_path / "home")
    yield server
    server.end(signal.SIGINT)


def test_the_first_contact_and_the_next(served: ServeCommand, tmp_path: Path) -> None:
    """Every refusal must name its remedy, and the remedy must work."""
    home, here = tmp_path / "home", tmp_path / "here"
    pull = ("log", "pull", "--store", str(here), str(served.address))
    unknown = hemra(home, *pull)
    assert unknown.returncode == 1
    assert f"fingerprint {served.fingerprint}" in unknown.stderr
    first = hemra(home, *pull, "--fingerprint", served.fingerprint, "--json")
    assert first.returncode == 0, first.stderr
    document = json.loads(first.stdout)
    assert document["schema"] == "hemra.transfer/1"
    assert [(s["stream"], s["what"], s["last"]) for s in document["streams"]] == [
        ("20261130-aaa", "whole", 60),
        ("20261130-bbb", "whole", 4),
    ]
    again = hemra(home, *pull, "latest")
    assert (again.returncode, again.stdout) == (0, "")
    assert "20261130-bbb: 0 new events, 0 blobs, up to event 4; nothing was lacking" in again.stderr
    for name in ("20261130-aaa", "20261130-bbb"):
        assert_identical(Store.open(here), Store.open(tmp_path / "there"), name)
    verified = hemra(home, "log", "verify", "--store", str(here))
    assert (verified.returncode, verified.stdout.splitlines()[-1]) == (0, "sound")


def test_what_is_mistyped_is_told(served: ServeCommand, tmp_path: Path) -> None:
    """A wrong run, address, fingerprint or token must not be answered with a traceback or a guess."""
    home, here = tmp_path / "home", tmp_path / "here"
    where, trust = str(served.address), ("--fingerprint", served.fingerprint)
    cases = [
        ([where, "20261130-ccc", *trust], 5, "no run '20261130-ccc' at"),
        ([where, "2026", *trust], 2, "is the beginning of several runs"),
        ([where, "catalog", *trust], 5, "no run 'catalog'"),
        ([where, "nightly", *trust], 5, "a server tells ids and no names"),
        (["tcp://lab"], 2, "in the clear: write tls+tcp://lab"),
        ([where, "--fingerprint", "12:34"], 2, "no fingerprint"),
        ([where, "--fingerprint", "sha256:" + "0" * 64], 1, "not the one given with --fingerprint"),
        ([where, *trust, "--token-file", str(tmp_path / "nothing")], 2, "no token at"),
        (["tls+tcp://no-such-host.invalid", *trust], 1, "cannot reach no-such-host.invalid:4367"),
    ]
    for arguments, code, text in cases:
        done = hemra(home, "log", "pull", "--store", str(here), *arguments)
        assert (done.returncode, text in done.stderr) == (code, True), (arguments, done.stderr)
        assert done.stderr.count("\n") == 1
    (home / "hemra" / "mirror" / "token").chmod(0o644)
    for command in (["pull", where], ["push", where], ["serve", "--listen", "tls+tcp://127.0.0.1:0"]):
        done = hemra(home, "log", command[0], "--store", str(tmp_path / "there"), *command[1:])
        assert done.returncode == 1
        assert "can be read by others (mode 0644): chmod 600" in done.stderr


def test_a_copy_is_resumed_only_once_it_is_adopted(tmp_path: Path) -> None:
    """`hemra resume` in a copy would part two runs of one id: it must say so at once, and say what to do."""
    home, here = tmp_path / "home", tmp_path / "here"
    record(Store.open(tmp_path / "there", create=True), "20261130-aaa", 7)
    server = ServeCommand(tmp_path / "there", home)
    pulled = hemra(
        home, "log", "pull", "--store", str(here), str(server.address), "--fingerprint", server.fingerprint
    )
    assert "20261130-aaa: 7 new events, 0 blobs, up to event 7; not finished there" in pulled.stderr
    for command in (["log", "seal"], ["log", "export", "-o", str(tmp_path / "x.tar")]):
        refused = hemra(home, *command, "--store", str(here), "latest", timeout_s=8)
        assert refused.returncode == 1
        assert "is an unfinished copy of a run of tls+tcp://127.0.0.1" in refused.stderr
    assert hemra(home, "log", "adopt", "--store", str(here), "latest").returncode == 0
    assert hemra(home, "log", "seal", "--store", str(here), "latest").returncode == 0
    assert server.end(signal.SIGINT) == 130


def test_a_push_without_a_run_brings_all(served: ServeCommand, tmp_path: Path) -> None:
    """One command hands a whole store over, and what one run lacks does not keep the others back."""
    home, mine = tmp_path / "home", Store.open(tmp_path / "mine", create=True)
    recorded(mine, "20261201-xxx", parts=(5, 5))
    record(mine, "20261130-aaa", 3)  # another run of a name that is taken there
    where, trust = str(served.address), ("--fingerprint", served.fingerprint)
    pushed = hemra(home, "log", "push", "--store", str(mine.path), where, *trust)
    assert pushed.returncode == 1
    assert "another run is called 20261130-aaa" in pushed.stderr
    assert "20261201-xxx: 10 new events" in pushed.stderr
    assert_identical(Store.open(tmp_path / "there"), mine, "20261201-xxx")


def test_a_port_that_is_taken_is_told(served: ServeCommand, tmp_path: Path) -> None:
    """Two servers on one port would answer in turns."""
    done = hemra(
        tmp_path / "home", "log", "serve", "--store", str(tmp_path / "there"), "--listen", str(served.address)
    )
    assert done.returncode == 1
    assert f"cannot listen on {served.address}: Address already in use" in done.stderr
