"""Ranges of versions, and what an installer's output means."""

from __future__ import annotations

import pytest

from hemra.installing.causes import cause
from hemra.installing.versions import fits


@pytest.mark.parametrize(
    ("version", "wanted", "inside"),
    [
        ("3.11.7", ">=3.11", True),
        ("3.10.9", ">=3.11,<3.14", False),
        ("3.14.0", ">=3.11,<3.14", False),
        ("v20.20.2", ">=22.19.0", False),
        ("22.19.0", ">=22.19", True),
        ("22.5", "^20.6 || >=22", True),
        ("21.0", "^20.6 || >=22", False),
        ("20.5", "^20.6.0", False),
        ("22.1.0", "22.x", True),
        ("22.1.0", "22", True),
        ("2.1", "22", False),
        ("1.4.9", "~1.4.2", True),
        ("1.5.0", "~1.4.2", False),
        ("1.9", "~=1.4", True),
        ("2.0", "~=1.4", False),
        ("0.3.1", "^0.2.3", False),
        ("3.11", "!=3.11.*", False),
        ("3.11", None, True),
        ("no version", ">=1", False),
    ],
)
def test_ranges_are_read_as_pip_and_npm_write_them(version: str, wanted: str | None, inside: bool) -> None:
    """A Node that is too old would be used, or one that fits would be installed a second time."""
    assert fits(version, wanted) is inside


def test_a_range_that_is_not_understood_is_refused() -> None:
    """Taken for any version, an agent would be installed where it cannot run."""
    with pytest.raises(ValueError, match="no range of versions"):
        fits("1.0", "latest")


@pytest.mark.parametrize(
    ("said", "offline", "words"),
    [
        ("OSError: [Errno 28] No space left on device", False, "the disk is full"),
        ("npm error code ENOSPC", False, "the disk is full"),
        ("ERROR: No matching distribution found for openai==2.24.0", True, "openai==2.24.0 is in no local folder"),
        ("ERROR: No matching distribution found for x==1 (from y)", False, "the index has no x==1"),
        (
            "WARNING: Retrying … Temporary failure in name resolution\nERROR: No matching distribution found for x==1",
            False,
            "x==1 was not found, and an index could not be reached",
        ),
        ("ERROR: Max retries exceeded with url", False, "the index could not be reached"),
        ("npm error code ENOTFOUND", False, "the index could not be reached"),
        ("npm error code ENOTCACHED\nnpm error request to https://x/y failed", True, "not in npm's cache"),
        ("npm error code ETARGET\nnpm error notarget No matching version found for pi@9.", False, "no pi@9 that"),
        ("npm error 404 Not Found\nnpm error 404  '@x/y@9' is not in this registry.", False, "has no @x/y@9"),
        ("ERROR: Package 'a' requires a different Python: 3.9.1 not in '>=3.11'", False, "it needs Python >=3.11"),
        ("ERROR: Wheel 'a' located at /tmp/a-1-py3-none-any.whl is invalid.", True, "a-1-py3-none-any.whl is damaged"),
        ("npm error code E401", False, "sign in"),
        ("nothing known\nERROR: the last word", False, "the last word"),
        ("", False, "the installer said nothing"),
    ],
)  # fmt: skip
def test_a_failure_is_told_by_its_cause(said: str, offline: bool, words: str) -> None:
    """The user would read a page of an installer's output and find the remedy alone."""
    assert words in cause(said, offline=offline)
