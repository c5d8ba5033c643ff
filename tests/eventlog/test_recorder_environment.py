"""What a recorder is started with."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from eventlog.client import Client
from eventlog.schemas.conversation import MessageRecorded
from eventlog.store import Store


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_the_recorder_is_not_given_the_users_keys(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It outlives its run, and a trial that is not isolated could read a key in its environment for ever."""
    for name in ("OPENAI_API_KEY", "MY_PROVIDER", "HEMRA_UPSTREAM_KEY"):
        monkeypatch.setenv(name, "sk-dummy-never-here-0123456789")
    with Client.connect(store, "run", source="test", create=True) as client:
        client.append(MessageRecorded(role="user", text="x"))
        ours = [
            process.pid
            for process in psutil.process_iter(["cmdline"])
            if {"eventlog.recorder", str(store.path)} <= set(process.info["cmdline"] or ())
        ]
        assert len(ours) == 1
        assert b"never-here" not in Path(f"/proc/{ours[0]}/environ").read_bytes()
