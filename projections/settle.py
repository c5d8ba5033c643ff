"""Brings what the log writes in a special way to the plain form that SQL can use.

Only the events of runs, trials and scores are settled: their fields must be whole. A field that was moved to
a blob because it is a large structure (the task list of a large plan) is brought back; a large or odd text
becomes what can be shown of it. Conversations and tool results stay as recorded: they may be huge.
Events of an old version are brought to the newest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from eventlog.schemas.base import UPCASTS, upcast
from eventlog.store import Store

if TYPE_CHECKING:
    import duckdb

_SETTLED = ("run.", "trial.", "sandbox.", "harness.", "score.", "note.", "telemetry.warned",
            "stream.repaired")  # fmt: skip


def settle(connection: duckdb.DuckDBPyConnection, store: Store) -> None:
    """Rewrite the data in table `events` that needs it. Raises BlobNotFound, DamageError (a lost blob)."""
    marked = " OR ".join(f"starts_with(type, '{prefix}')" for prefix in _SETTLED)
    found = connection.execute(
        "SELECT seq, type, v, data FROM events "
        f"WHERE data IS NOT NULL AND ({marked}) AND contains(data::VARCHAR, '{{\"$')"
    ).fetchall()
    for kind, v in UPCASTS:
        old = "SELECT seq, type, v, data FROM events WHERE data IS NOT NULL AND type = ? AND v = ?"
        found += connection.execute(old, [kind, v]).fetchall()
    settled = {seq: _settled(store, kind, v, orjson.loads(data)) for seq, kind, v, data in found}
    if settled:
        connection.executemany(
            "UPDATE events SET v = ?, data = ? WHERE seq = ?",
            [[v, orjson.dumps(data).decode(), seq] for seq, (v, data) in sorted(settled.items())],
        )


def _settled(store: Store, kind: str, v: int, data: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    if kind.startswith(_SETTLED):
        data = {name: _whole(store, value) for name, value in data.items()}
    return upcast(kind, v, data)


def _whole(store: Store, value: Any) -> Any:
    """A field's value with a moved-out structure brought back."""
    if isinstance(value, dict) and value.get("kind") == "json" and isinstance(value.get("$blob"), str):
        value = orjson.loads(store.blobs.get(value["$blob"]))
    return plain(value)


def plain(value: Any) -> Any:
    """`value` with odd or moved-out texts replaced by what can be shown of them; other marks stay."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$text" in value:
        return value.get("shown")
    if "$blob" in value and value.get("kind") == "text":
        return f"{value.get('head')}…"
    return {key: plain(item) for key, item in value.items()}
