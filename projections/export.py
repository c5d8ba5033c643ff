"""Canonical bytes: the same rows always give the same bytes, so that digests can be compared."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON, keys in the order given, no spaces, one newline at the end. ValueError for NaN."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def ndjson(rows: Sequence[dict[str, Any]]) -> bytes:
    """One canonical JSON object a row."""
    return b"".join(canonical_json(row) for row in rows)


def csv_bytes(rows: Sequence[dict[str, Any]]) -> bytes:
    """RFC 4180 with LF line ends; null is empty, structures are JSON text; columns as in the first row."""
    out = io.StringIO()
    if rows:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return out.getvalue().encode("utf-8", "replace")


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value
