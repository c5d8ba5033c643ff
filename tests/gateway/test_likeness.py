"""When conversations are alike: what is another one in every trial does not count, what was said does."""

from __future__ import annotations

import time

import pytest

from hemra.gateway.likeness import EXACT, LOOSE, NORMALISED, Likeness, common
from hemra.gateway.normal import Message, ToolCall

HOST = "/tmp/hemra-0/20261201-021055-ab2c3d/0001.1/workspace"


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("Working directory: /ws\nGo.", "Working directory: /home/w\nGo."),
        (f"cd {HOST}/src", "cd /tmp/hemra-1000/20261202-101010-zzzzzz/0017.2/workspace/src"),
        ("projects/-tmp-hemra-0-20261201-021055-ab2c3d-0001-1-workspace/x", "projects/-home-w/x"),
        ("Today is Tuesday, December 01, 2026 02:10 AM.", "Today is Sunday, January 3, 2027 11:59 PM."),
        ("date: 2026-12-01T02:10:16.123Z", "date: 2027-01-03 11:59:01+02:00"),
        ("Tue Dec  1 02:10:16 UTC 2026", "Sun Jan  3 23:59:01 CET 2027"),
        ("-rw-r--r-- 1 root root 33 Dec  1 02:10 a", "-rw-r--r-- 1 root root 33 Jan 13 23:59 a"),
        ("12/01/2026, 2:10:16 PM", "1/3/2027, 11:59:01 AM"),
        ("session 0b2d1c5e-1111-4222-8333-444455556666", "session FFFFFFFF-1111-4222-8333-444455556666"),
        ("run 20261201-021055-ab2c3d", "run 20261202-101010-zzzzzz"),
        ("POST http://127.0.0.1:4010/t/0001/v1/x", "POST http://127.0.0.1:50123/t/0012/v1/x"),
        ("at 1796067912.25", "at 1797067999"),
        ("text \n", "text"),
    ],
)
def test_what_changes_by_itself_does_not_count(then: str, now: str) -> None:
    """An agent that puts its folder or the date into its prompt could never be replayed."""
    before, after = Likeness({"workspace": "/ws"}), Likeness({"workspace": "/home/w"})
    left, right = [Message(role="user", text=then)], [Message(role="user", text=now)]
    assert before.digests(left, NORMALISED) == after.digests(right, NORMALISED)
    assert before.digests(left, EXACT) != after.digests([Message(role="user", text=now + "!")], EXACT)


@pytest.mark.parametrize(
    ("then", "now"),
    [
        ("Make a file.", "Make a folder."), ("port 8080", "port 9090"), ("/ws/a", "/ws/b"),
        ("mayor", "major"), ("workspace", "/ws"), ("2 marches", "3 marches"),
    ],
)  # fmt: skip
def test_what_was_said_counts(then: str, now: str) -> None:
    """Another task would be answered with the words of this one."""
    seen = Likeness({"workspace": "/ws"})
    assert seen.digests([Message(role="user", text=then)], NORMALISED) != seen.digests(
        [Message(role="user", text=now)], NORMALISED
    )


def test_numbers_count_but_for_the_loosest_way_and_always_in_what_a_model_said() -> None:
    """A tool's `0.31 s` would end a replay, or a model's own figures be passed over."""
    seen = Likeness()

    def same(role: str, then: str, now: str, way: str) -> bool:
        left, right = ([Message(role=role, text=text)] for text in (then, now))
        return seen.digests(left, way) == seen.digests(right, way)

    output = ("Wall time: 0.31 s\nChunk a1b2c3  12 files", "Wall time: 1.02 s\nChunk d4 112 files")
    assert not same("tool", *output, NORMALISED)
    assert same("tool", *output, LOOSE)
    assert not same("tool", "12 files", "12 folders", LOOSE)
    assert not same("assistant", "It is 42.", "It is 43.", LOOSE)


def test_calls_count_by_their_order() -> None:
    """Ids that a harness makes up anew would make every conversation another one; swapped results would not."""

    def told(*ids: str, swapped: bool = False) -> list[Message]:
        calls = tuple(ToolCall(id=i, name="sh", arguments={"command": n}) for n, i in enumerate(ids))
        answers = ids[::-1] if swapped else ids
        return [
            Message(role="assistant", text="", calls=calls),
            *(Message(role="tool", text="ok", answers=i) for i in answers),
        ]

    seen = Likeness()
    assert seen.digests(told("a", "b"), NORMALISED) == seen.digests(told("x", "y"), NORMALISED)
    assert seen.digests(told("a", "b"), NORMALISED) != seen.digests(told("a", "b", swapped=True), NORMALISED)
    assert seen.digests(told("a", "b"), NORMALISED) != seen.digests(told("a"), NORMALISED)


def test_marks_for_caching_do_not_count() -> None:
    """A mark that a harness moves to its newest message would change all earlier ones."""
    plain = {"type": "text", "text": "hello"}
    marked = plain | {"cache_control": {"type": "ephemeral"}}
    seen = Likeness()
    assert seen.digests([Message(role="user", text=[plain])], NORMALISED) == seen.digests(
        [Message(role="user", text=[marked])], NORMALISED
    )


def test_digests_say_where_two_conversations_part() -> None:
    """The line that says why nothing was found would point at the wrong message."""
    seen = Likeness()
    left = [Message(role="user", text=text) for text in "abcd"]
    right = [*left[:2], Message(role="user", text="x"), left[3]]
    assert common(seen.digests(left, NORMALISED), seen.digests(right, NORMALISED)) == 2
    assert common([], seen.digests(left, NORMALISED)) == 0


@pytest.mark.parametrize(
    "text", ["-a", "/a", "a", "1", "/hemra-1", "-hemra-1-0001-1-", "Mon ", "12:00 ", "1/"]
)
def test_odd_texts_take_no_longer_than_others(text: str) -> None:
    """A tool's output could stop the gateway for minutes."""
    began = time.monotonic()
    Likeness({"workspace": "/ws"}).text(text * (400_000 // len(text)), loose=True)
    assert time.monotonic() - began < 5
