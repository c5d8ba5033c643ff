"""A store that is removed and made again at the same place, while the first one's recorder still lingers."""

from __future__ import annotations

import shutil
from pathlib import Path

from eventlog.client import Client
from eventlog.reader import read
from eventlog.schemas.conversation import MessageRecorded
from eventlog.store import Store


def test_what_is_acknowledged_is_in_the_store_that_is_there(tmp_path: Path) -> None:
    """The recorder of the removed store would take the event into files without a name: acknowledged, and gone."""
    place = tmp_path / "store"
    first = Client.connect(Store.open(place, create=True), "run", source="test", create=True)
    assert first.append(MessageRecorded(role="user", text="of the first")) == 1
    shutil.rmtree(place)

    store = Store.open(place, create=True)
    with Client.connect(store, "run", source="test", create=True) as second:
        assert second.append(MessageRecorded(role="user", text="of the second")) == 1
    assert [event.data["text"] for event in read(store, "run")] == ["of the second"]
    first.close()
