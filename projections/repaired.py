"""What a report says of a repaired copy: that it is one, and what of the original is missing from it."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
#: At most this many missing ranges are written out in the sentence; all are in the data.
_TOLD = 5


def repaired(repairs: list[Row]) -> Row | None:
    """All repairs of a stream as one (rows of tables/repairs.sql); None for a stream that is no copy."""
    if not repairs:
        return None
    return {
        "original": repairs[0]["original"],
        "lost_events": repairs[-1]["lost_events"],
        "ranges": [lost for repair in repairs for lost in repair["ranges"] or []],
        "lost_blobs": sorted({digest for repair in repairs for digest in repair["lost_blobs"] or []}),
        "end": next((repair["end"] for repair in repairs if repair["end"]), None),
    }


def warning(copy: Row | None) -> list[str]:
    """The sentence that a reader of the figures must see first; none where there is nothing to say."""
    if copy is None:
        return []
    ranges = [
        f"{r['first']} to {r['last']}" if r["first"] != r["last"] else str(r["first"]) for r in copy["ranges"]
    ]
    told = ", ".join(ranges[:_TOLD]) + (", …" if len(ranges) > _TOLD else "")
    parts = []
    if copy["lost_events"]:
        plural = "event is" if copy["lost_events"] == 1 else "events are"
        parts.append(f"{copy['lost_events']} {plural} missing ({told})")
    if copy["lost_blobs"]:
        count = len(copy["lost_blobs"])
        parts.append(f"{count} payload{' is' if count == 1 else 's are'} missing")
    if copy["end"]:
        parts.append(f"its end is in doubt ({copy['end']})")
    return [f"This is a repaired copy: {'; '.join(parts) if parts else 'nothing is missing from it'}."]
