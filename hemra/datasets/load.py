"""Finding and loading datasets: the bundled suite, a folder of tasks, one task, or a name that was pinned."""

from __future__ import annotations

import fnmatch
import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import hemra
from hemra.datasets.digest import (
    check_name,
    dataset_digest,
    entries_of,
    scorer_digest,
    task_digest,
    task_files,
)
from hemra.datasets.model import BUNDLED, Dataset, SuiteSpec, Task, TaskSpec
from hemra.datasets.yamlfile import read_yaml
from hemra.errors import NotFound, UsageError

if TYPE_CHECKING:
    from eventlog.store import Store

BUNDLED_NAME = "hermes"
SUITE_FILE = "suite.yaml"
TASK_FILE = "task.yaml"
REQUIRED = ("task.yaml", "instruction.md", "verifier.py")
_MAX_ID_BYTES = 200


def bundled_root() -> Path:
    """Where the bundled suite lies: inside an installed package, else in the checkout beside it.

    Raises NotFound where the installation lacks it.
    """
    package = Path(hemra.__file__).resolve().parent
    for root in (package / "bundled" / "tasks", package.parent / "tasks"):
        if (root / SUITE_FILE).is_file():
            return root
    raise NotFound(f"the bundled suite is missing beside {package}; install hemra again")


def load_dataset(ref: str, store: Store | None = None) -> Dataset:
    """The dataset that `ref` names: `hermes` (bundled), a folder, or a name pinned in `store`.

    A `ref` with a path separator or a leading dot is always a folder. Raises NotFound for an unknown
    one and UsageError that lists everything wrong with its tasks.
    """
    looks_like_path = os.sep in ref or ref.startswith((".", "~"))
    folder = Path(ref).expanduser()
    if ref == BUNDLED_NAME:
        return load_folder(bundled_root())
    if folder.is_dir():
        return load_folder(folder)
    if looks_like_path:
        raise NotFound(f"no folder {ref}; --dataset takes a name or the path of a folder with tasks")
    return _load_pinned(ref, store)


def _load_pinned(name: str, store: Store | None) -> Dataset:
    from hemra.datasets.pins import newest_pins

    pins = newest_pins(store) if store is not None else {}
    sources = [source for known, source in pins if known == name]
    if not sources:
        known = ", ".join(sorted({BUNDLED_NAME, *(known for known, _ in pins)}))
        raise NotFound(f"no dataset {name!r}: neither a pinned name ({known}) nor a folder here")
    there = [source for source in sources if Path(source).is_dir()]
    if len(there) > 1:
        raise UsageError(
            f"{len(there)} folders are pinned under the name {name!r} ({', '.join(there)}); "
            "give the folder instead"
        )
    if not there:
        raise NotFound(
            f"dataset {name!r} was pinned from {sources[-1]}, which is gone; give its folder instead"
        )
    return load_folder(Path(there[0]))


def load_folder(root: Path) -> Dataset:
    """The dataset in a folder: one task (it has a task.yaml) or a tree of tasks at any depth.

    Folders whose name begins with `.` or `_` are passed over. Raises UsageError listing every problem.
    """
    root = root.expanduser().absolute()
    folders = task_folders(root)
    if not folders:
        raise UsageError(f"{root}: no task in it (a task is a folder with a {TASK_FILE})")
    tasks, problems = [], []
    for folder in folders:
        try:
            tasks.append(load_task(folder, root))
        except UsageError as error:
            problems.append(str(error))
    problems += duplicates(tasks)
    name = root.name
    try:
        name = dataset_name(root)
    except UsageError as error:
        problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    tasks.sort(key=lambda task: task.id)
    digest = dataset_digest((task.id, task.digest) for task in tasks)
    return Dataset(name, root, tuple(tasks), digest, BUNDLED if is_bundled(root) else str(root))


def is_bundled(root: Path) -> bool:
    """Whether `root` is the bundled suite itself, however it was named."""
    try:
        return root.resolve() == bundled_root().resolve()
    except NotFound:
        return False


def dataset_name(root: Path) -> str:
    """The name of the dataset in `root`. Raises UsageError where it would take the bundled suite's."""
    name = suite_name(root)
    if name == BUNDLED_NAME and not is_bundled(root):
        raise UsageError(
            f"{root}: the name {BUNDLED_NAME!r} is the bundled suite's; give this dataset another with a line "
            f"`name: …` in {root / SUITE_FILE}"
        )
    return name


def suite_name(root: Path) -> str:
    """The name in suite.yaml, or else the folder's own name. Raises UsageError."""
    suite = root / SUITE_FILE
    return read_yaml(suite, SuiteSpec).name if suite.exists() else unicodedata.normalize("NFC", root.name)


def task_folders(root: Path) -> list[Path]:
    """Every task folder at or below `root`, sorted.

    Raises NotFound without a folder there, UsageError for a link on the way.
    """
    if not root.is_dir():
        raise NotFound(f"no folder {root}")
    if (root / TASK_FILE).exists():
        return [root]
    found: list[Path] = []
    for entry in entries_of(root):
        if entry.name.startswith((".", "_")) or not entry.is_dir():
            continue
        if entry.is_symlink():
            raise UsageError(f"{entry.path}: is a link; a dataset must hold the folder itself")
        found += task_folders(Path(entry.path))
    return found


def load_task(folder: Path, root: Path) -> Task:
    """Load and check one task. Its id must end in its path below `root`. Raises UsageError."""
    spec = read_yaml(folder / TASK_FILE, TaskSpec)
    _check_id(spec.id, folder, root)
    files = task_files(folder)
    missing = [name for name in REQUIRED if name not in files]
    if missing:
        raise UsageError(f"{folder}: lacks {', '.join(missing)}")
    verifier = (folder / "verifier.py").read_bytes()
    return Task(spec.id, folder, spec, task_digest(files), scorer_digest(verifier), files)


def _check_id(task_id: str, folder: Path, root: Path) -> None:
    where = f"{folder / TASK_FILE}: id: {task_id!r}"
    parts = task_id.split("/")
    check_name(task_id.replace("/", ""), folder / TASK_FILE)
    if len(task_id.encode()) > _MAX_ID_BYTES:
        raise UsageError(f"{where} is longer than {_MAX_ID_BYTES} bytes")
    for part in parts:
        if not part or part != part.strip() or part.startswith((".", "_")) or set(part) & set("*?[]"):
            raise UsageError(
                f"{where} is malformed: its parts are separated by one /, are not empty, do not begin "
                "with . or _, have no blank at either end and none of * ? [ ]"
            )
    below = folder.relative_to(root).parts
    if below and parts[-len(below) :] != list(below):
        raise UsageError(f"{where} does not end in the task's path below the dataset, {'/'.join(below)!r}")


def duplicates(tasks: Iterable[Task]) -> list[str]:
    """A line for every id that two tasks share (case and Unicode form do not tell ids apart)."""
    seen: dict[str, Task] = {}
    lines = []
    for task in tasks:
        first = seen.setdefault(task.id.casefold(), task)
        if first is not task:
            lines.append(f"{task.path / TASK_FILE}: id: {task.id!r} is also the id of {first.path}")
    return lines


def select(dataset: Dataset, globs: Sequence[str]) -> list[Task]:
    """The tasks that match any of `globs` (none given: all), in the dataset's order.

    A glob is matched against whole ids and categories; only one that matches none of them is matched
    against the last component. So `t01*` is all of `t01_terminal_smoke/`, and `t01_echo` is one task.
    Raises UsageError naming each glob that matches nothing.
    """
    ids = [task.id for task in dataset.tasks]
    empty = [glob for glob in globs if not matching(ids, [glob])]
    if empty:
        names = ", ".join(repr(glob) for glob in empty)
        raise UsageError(f"no task of dataset {dataset.name!r} matches {names}; `hemra task list` shows them")
    chosen = matching(ids, globs)
    return [task for task in dataset.tasks if task.id in chosen]


def matching(ids: Iterable[str], globs: Sequence[str]) -> set[str]:
    """Those of `ids` that any of `globs` chooses (none given: all)."""
    known = list(ids)
    if not globs:
        return set(known)
    return set().union(*(_matching(known, unicodedata.normalize("NFC", glob)) for glob in globs))


def _matching(ids: Sequence[str], glob: str) -> set[str]:
    """Whole ids and categories first; only a glob that matches none of them is matched against last parts."""
    whole = {i for i in ids if any(fnmatch.fnmatchcase(n, glob) for n in (i, i.rpartition("/")[0]))}
    return whole or {i for i in ids if fnmatch.fnmatchcase(i.rpartition("/")[2], glob)}
