"""A new task from the template that comes with the bundled suite."""

from __future__ import annotations

import os
from pathlib import Path

from hemra.datasets.digest import CHECKS, counts
from hemra.datasets.load import bundled_root, check_id
from hemra.errors import UsageError

TEMPLATE = "_template"
#: The id that the template has, wherever it names itself.
PLACEHOLDER_ID = "category/task"


def new_task(task_id: str, dataset: Path) -> Path:
    """Make the folder of the task below the dataset's folder and return it. Raises UsageError."""
    check_id(task_id, f"ID: {task_id!r}")
    folder = dataset.expanduser() / task_id
    for above in (folder, *folder.parents):
        if above != folder and (above / "task.yaml").exists():
            raise UsageError(f"{above} is a task; a task cannot hold another")
        if above == dataset.expanduser():
            break
    if os.path.lexists(folder):
        raise UsageError(f"{folder} is there already; choose another id, or remove it")
    template = bundled_root() / TEMPLATE
    for source in sorted(template.rglob("*")):
        path = source.relative_to(template).as_posix()
        wanted = counts(path) or path == "README.md" or path.startswith(f"{CHECKS}/")
        if source.is_file() and wanted and "__pycache__" not in path:
            target = folder / path
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                text = source.read_text(encoding="utf-8").replace(PLACEHOLDER_ID, task_id)
                target.write_text(text, encoding="utf-8", newline="\n")
            except OSError as error:
                raise UsageError(f"{target}: cannot be made: {error.strerror}") from error
    return folder
