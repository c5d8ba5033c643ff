"""The container engine of the tests: one for a session, skipped by name where none can be started."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tools.engine.engine import Engine, EngineUnavailable


@pytest.fixture(scope="session")
def own_engine() -> Iterator[Engine]:
    """A running engine with the test image, shared by all tests; in CI there must be one."""
    try:
        engine = Engine.start()
    except EngineUnavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"needs a container engine: {error}")
    yield engine
    engine.stop()


@pytest.fixture
def docker_engine(own_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The same, named by DOCKER_HOST for one test; nothing of a test may be left in it."""
    for name in ("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_HOST", own_engine.url)
    return own_engine
