"""Notices when the wall clock jumps. Durations never come from it, but people read the times of events."""

from __future__ import annotations

from eventlog import clock

#: A smaller difference is a clock being steered, not set. Nanoseconds.
STEP_NS = 1_000_000_000


class ClockWatch:
    """Compares wall and monotonic time; both are in nanoseconds."""

    def __init__(self, wall: clock.WallClock = clock.wall_ns, mono: clock.MonoClock = clock.mono_ns) -> None:
        self._wall = wall
        self._mono = mono
        self._offset = wall() - mono()

    def stepped_ns(self) -> int | None:
        """By how much the wall clock went ahead (or back, negative) since the last call; None if it did not.

        A machine that slept looks the same: its monotonic clock stood still meanwhile.
        """
        offset = self._wall() - self._mono()
        step, self._offset = offset - self._offset, offset
        return step if abs(step) >= STEP_NS else None
