"""The work that is recorded, by name: see `recorded`.

A name is a scene's, with what is done to it after slashes:

    plain                        as it is
    rolling/seed=7               with other random content
    rolling/pause=7              sealing stops before its 7th call and goes on when the next group is recorded
    blobs/kill=37                the process dies after 37 changes; another sends again and goes on
    plain/fail=52:ENOSPC         the 53rd call fails
    plain/fail=52:EIO:4          it and the three after it
    wide/again=47 46=head:9      the store that this power cut left, opened and written

The same name gives the same trace.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eventlog import seal as seal_module
from eventlog import stream as stream_module
from eventlog.bundle import export
from eventlog.bus_messages import Kind
from eventlog.store import Store
from eventlog.stream import StreamWriter
from tests.faults.drivers import Sealer
from tests.faults.oracle import lines_of
from tests.faults.powercut import Cut, Disk, lay_out
from tests.faults.scene import Scene
from tests.faults.trace import Short


def plain(scene: Scene) -> None:
    """Three producers, a close, a second recorder, a finish, a third recorder that resumes and finishes again."""
    b = scene.batch
    scene.record([[b(1, 1)], [b(1, 2), b(2, 1)], [b(3, 4, 200)], [], [b(2, 1), b(1, 1), b(3, 1)]])
    scene.record([[b(1, 3)], [b(2, 2, 900)], [Kind.FINISH]])
    scene.record([[b(1, 1)], [b(2, 2), b(1, 1)], [Kind.FINISH]])


def rolling(scene: Scene) -> None:
    """Segments that roll and are sealed while appends go on; small ones are merged at a close."""
    b = scene.batch
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_module, "ROLL_BYTES", 700)
        patch.setattr(stream_module, "MANY_SEGMENTS", 3)
        patch.setattr(stream_module, "SEAL_BACKLOG", 2, raising=False)
        scene.record([[b(1, 2, 300)], [b(2, 2, 400)], [b(1, 1)], [b(2, 2, 500), b(1, 1, 300)], [b(1, 1)]])
        Sealer.late, Sealer.pause = True, scene.pause
        scene.record([[b(1, 2, 600)], [b(2, 1, 100)], [], [b(1, 1, 900)], [b(2, 1)], [b(2, 1, 900)], []])
        scene.record([[b(1, 1)]])
        scene.record([[b(3, 1)], [Kind.FINISH]])


def wide(scene: Scene) -> None:
    """Commits of several frames, larger than a page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_module, "LIVE_CONTENT", 2000)
        scene.record([[scene.batch(1, 6, 1500)], [scene.batch(2, 3, 4000), scene.batch(1, 4, 2500)]])
        scene.record([[scene.batch(1, 5, 2000)], [Kind.FINISH]])


def blobs(scene: Scene) -> None:
    """Blobs, one of them twice, and the events that name them."""
    scene.record([[scene.blob(b"a" * 700, 1)], [scene.batch(2, 1), scene.blob(b"b" * 5000, 3)]])
    scene.record([[scene.blob(b"a" * 700, 1)], [scene.blob(b"c", 1)], [Kind.FINISH]])


def imports(scene: Scene) -> None:
    """Two streams with a blob come in; then one is longer, finished, and in files cut otherwise; that again."""
    scene.bundles = scene.bundles or list(_bundles(scene))
    for bundle, brought in (*scene.bundles, scene.bundles[-1]):
        scene.import_bundle(bundle, brought)


def _bundles(scene: Scene) -> Iterator[tuple[Path, dict[str, list[bytes]]]]:
    """The bundle of a store and, when it has grown, another; with the lines of their streams."""
    other = Store.open(scene.root.parent / "other", create=True)
    StreamWriter.open(other, "more", create=True).finish()
    StreamWriter.open(other, "run", create=True).close()
    for number, many in enumerate((64 << 20, 1)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(seal_module, "GROUP_BYTES", many)
            patch.setattr(seal_module, "SMALL_BYTES", many)
            for _ in range(2):
                with StreamWriter.open(other, "run") as writer:
                    planned = scene.batch(1, 3), scene.blob_elsewhere(other, b"%d" % many, 2)
                    writer.commit([scene.send(events) for events in planned])
            if number:
                StreamWriter.open(other, "run").finish()
            bundle = scene.root.parent / f"{number}.tar"
            export(other, ["run", "more"], bundle)
            yield bundle, {name: lines_of(other, name) for name in ("run", "more")}


SCENES: dict[str, Callable[[Scene], None]] = {f.__name__: f for f in (plain, rolling, wide, blobs, imports)}


def _resumed(scene: Scene, after: int, work: Callable[[Scene], None]) -> None:
    """The work's process is killed; the next one sends again what was not answered, and goes on."""
    with scene.killed_after(after):
        work(scene)
    if work is imports:
        begun = [b for b in scene.bundles if b[0] == scene.ledger().bundle]
        for bundle in scene.bundles[scene.bundles.index(begun[0]) if begun else 0 :]:
            scene.import_bundle(*bundle)
        return
    scene.blob(b"a" * 700, 9)
    scene.record([[scene.batch(7, 1)], [scene.blob(b"b" * 5000, 9), scene.batch(8, 2, 100)], [Kind.FINISH]])


class Fault:
    """Makes the call number `place`, and `times - 1` after it, fail with an error, or take only half of a write."""

    def __init__(self, place: int, error: str, times: int = 1) -> None:
        self._place, self._times = place, times
        self._error = error
        self.calls = 0
        #: What was made to fail.
        self.hit: list[str] = []

    def __call__(self, kind: str, what: str) -> None:
        self.calls += 1
        if not self._place < self.calls <= self._place + self._times:
            return
        if self._error == "SHORT":
            if kind in ("write", "pwrite"):
                self.hit.append(kind)
                raise Short(100)
            return
        self.hit.append(f"{kind} {what}".strip())
        number = getattr(errno, self._error)
        raise OSError(number, f"injected {self._error}")


def scene_of(name: str, root: Path, **layer: Any) -> Scene:
    """The scene `name`, played in a folder of `root`."""
    base, *parts = name.split("/")
    options = dict(part.split("=", 1) for part in parts)
    if "again" in options:
        return _again(name.rpartition("/again=")[0], Cut.parse(options["again"]), root, layer)
    work = SCENES[base]
    if "fail" in options:
        place, error, *times = options["fail"].split(":")
        layer["fault"] = Fault(int(place), error, *map(int, times))
    scene = Scene(root / "recorded", int(options.get("seed", 1)), **layer)
    scene.pause = int(options["pause"]) if "pause" in options else None
    with scene:
        if "kill" in options:
            _resumed(scene, int(options["kill"]), work)
        else:
            work(scene)
    return scene


def _again(name: str, cut: Cut, root: Path, layer: dict[str, Any]) -> Scene:
    """The store that a cut of another scene left, opened and written by a process of today."""
    before = scene_of(name, root / "before").layer.trace
    disk = Disk(before)
    assert {index for index, _ in cut.choices} <= set(disk.pending(cut.at)), f"{cut} is no cut of {name}"
    lay_out(disk.build(cut), root / "recorded")
    scene = Scene(root / "recorded", 99, **layer)
    scene.layer.trace.ops += [op for op in before.ops[: cut.at] if op.kind == "note"]
    scene.turn = len(scene.layer.trace.ops)
    with scene:
        scene.record([[scene.batch(4, 1)], [scene.batch(5, 2, 100)], [Kind.FINISH]])
    return scene
