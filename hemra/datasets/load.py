"""Finding and loading datasets: the bundled suite, a folder of tasks, one task, or a name that was pinned."""

from __future__ import annotations

import os
import shlex
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
from hemra.datasets.mcp import problems as problems_of_servers
from hemra.datasets.model import BUNDLED, Dataset, SelectionSpec, SuiteSpec, Task, TaskSpec
from hemra.datasets.selection import chosen
from hemra.datasets.yamlfile import read_yaml
from hemra.errors import NotFound, UsageError

if TYPE_CHECKING:
    from eventlog.store import Store

BUNDLED_NAME = "hermes"
SUITE_FILE = "suite.yaml"
#: The folder of a dataset with its suites: selections of its tasks under names of their own.
SUITES = "_suites"
TASK_FILE = "task.yaml"
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
    """The dataset that `ref` names: `hermes` (bundled) or a selection from it (`smoke`, …), a folder, the file of a
    suite in one, or a name pinned in `store`.

    A `ref` with a path separator or a leading dot is always a folder. Raises NotFound for an unknown
    one and UsageError that lists everything wrong with its tasks.
    """
    looks_like_path = os.sep in ref or ref.startswith((".", "~"))
    folder = Path(ref).expanduser()
    if ref == BUNDLED_NAME:
        return load_folder(bundled_root())
    if not looks_like_path and (suite := bundled_root() / SUITES / f"{ref}.yaml").is_file():
        return load_suite(suite)
    if folder.is_dir():
        return load_folder(folder)
    if folder.is_file() and folder.suffix == ".yaml":
        return load_suite(folder)
    if looks_like_path:
        raise NotFound(f"no folder {ref}; --dataset takes a name or the path of a folder with tasks")
    return _load_pinned(ref, store)


def bundled_names() -> list[str]:
    """The names of the bundled suite and of the selections from it."""
    return [BUNDLED_NAME, *sorted(path.stem for path in (bundled_root() / SUITES).glob("*.yaml"))]


def load_suite(file: Path) -> Dataset:
    """The selection from a dataset that `<dataset>/_suites/NAME.yaml` describes, as a dataset of its own."""
    file = file.expanduser().absolute()
    spec = read_yaml(file, SelectionSpec)
    if file.parent.name != SUITES:
        raise UsageError(f"{file}: a suite is a file in the folder {SUITES}/ of a dataset")
    if spec.name != file.stem:
        raise UsageError(f"{file}: its name {spec.name!r} must be that of the file, {file.stem!r}")
    whole = load_folder(file.parent.parent)
    tasks, idle = chosen(whole.tasks, spec.selectors())
    left_out, idle_too = chosen(whole.tasks, spec.without) if spec.without else ([], [])
    if idle or idle_too:
        raise UsageError(f"{file}: no task matches {', '.join(map(repr, [*idle, *idle_too]))}")
    tasks = [task for task in tasks if task not in left_out]
    if not tasks:
        raise UsageError(f"{file}: it chooses no task")
    source = BUNDLED if whole.source == BUNDLED else str(file)
    return Dataset(
        spec.name, whole.root, tuple(tasks), dataset_digest((t.id, t.digest) for t in tasks), source
    )


def _load_pinned(name: str, store: Store | None) -> Dataset:
    from hemra.datasets.pins import newest_pins

    pins = newest_pins(store) if store is not None else {}
    sources = [source for known, source in pins if known == name]
    if not sources:
        known = ", ".join(sorted({*bundled_names(), *(known for known, _ in pins)}))
        raise NotFound(f"no dataset {name!r}: neither a pinned name ({known}) nor a folder here")
    there = [source for source in sources if Path(source).exists()]
    if len(there) > 1:
        raise UsageError(
            f"{len(there)} folders are pinned under the name {name!r} ({', '.join(there)}); "
            "give the folder instead"
        )
    if not there:
        raise NotFound(
            f"dataset {name!r} was pinned from {sources[-1]}, which is gone; give its folder instead"
        )
    return load_dataset(str(Path(there[0])), store)


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
    if name in bundled_names() and not is_bundled(root):
        raise UsageError(
            f"{root}: the name {name!r} is the bundled suite's; give this dataset another with a line "
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
    files = task_files(folder, spec.fixture.rstrip("/"))
    needed = [TASK_FILE, spec.instruction, spec.verifier.file, *([spec.world] if spec.world else [])]
    missing = [name for name in needed if name not in files]
    if missing:
        raise UsageError(f"{folder}: lacks {', '.join(missing)}")
    if wrong := [f"{folder / TASK_FILE}: {line}" for line in problems_of_servers(spec, files)]:
        raise UsageError("\n".join(wrong))
    verifier = (folder / spec.verifier.file).read_bytes()
    return Task(spec.id, folder, spec, task_digest(files), scorer_digest(verifier), files)


def check_id(task_id: str, where: str) -> None:
    """Refuse (UsageError, beginning with `where`) an id that is malformed or too long."""
    check_name(task_id.replace("/", ""), Path(where))
    if len(task_id.encode()) > _MAX_ID_BYTES:
        raise UsageError(f"{where} is longer than {_MAX_ID_BYTES} bytes")
    for part in task_id.split("/"):
        if not part or part != part.strip() or part.startswith((".", "_")) or set(part) & set("*?[]"):
            raise UsageError(
                f"{where} is malformed: its parts are separated by one /, are not empty, do not begin "
                "with . or _, have no blank at either end and none of * ? [ ]"
            )


def _check_id(task_id: str, folder: Path, root: Path) -> None:
    where = f"{folder / TASK_FILE}: id: {task_id!r}"
    check_name(task_id.replace("/", ""), folder / TASK_FILE)
    check_id(task_id, where)
    parts, below = task_id.split("/"), folder.relative_to(root).parts
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


def select(dataset: Dataset, selectors: Sequence[str]) -> list[Task]:
    """The tasks that `selectors` choose (none given: all), in the dataset's order; see `selection`.

    A glob is matched against whole ids and categories; only one that matches none of them is matched
    against the last component. So `t01*` is all of `t01_terminal_smoke/`, and `t01_echo` is one task.
    Raises UsageError naming each selector that fits nothing, or when no task fits all kinds of them.
    """
    tasks, idle = chosen(dataset.tasks, selectors)
    if idle or (selectors and not tasks):
        names = ", ".join(repr(each) for each in idle) or "all of " + ", ".join(map(repr, selectors))
        raise UsageError(
            f"no task of dataset {dataset.name!r} matches {names}; {listing(dataset)} shows them"
        )
    return tasks


def listing(dataset: Dataset) -> str:
    """The command that lists the dataset's tasks, in backticks."""
    ref = dataset.name if dataset.source == BUNDLED else dataset.source
    return "`hemra task list`" if ref == BUNDLED_NAME else f"`hemra task list --dataset {shlex.quote(ref)}`"
