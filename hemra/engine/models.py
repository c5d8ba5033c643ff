"""What a plan says of the models behind its harnesses: what they cost, and whether a recorded run answers for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eventlog.schemas.runs import PlannedCassette
from hemra.engine.check import endpoint
from hemra.engine.order import trial_seed
from hemra.engine.request import MISS_ERROR, MISS_UPSTREAM
from hemra.errors import HemraError, UsageError

if TYPE_CHECKING:
    from eventlog.store import Store
    from harnesses.base import Harness
    from hemra.datasets.model import Task
    from hemra.engine.request import RunRequest
    from hemra.gateway.prices import PriceTable
    from hemra.gateway.recorded import RecordedTrial

_SHOWN = 3


@dataclass(frozen=True)
class PlannedModels:
    """`prices` and `cassette` as they are recorded; `warnings` are lines that a person should see."""

    prices: PriceTable | None = None
    cassette: PlannedCassette | None = None
    warnings: list[str] = field(default_factory=list)


def planned_models(
    store: Store,
    request: RunRequest,
    tasks: Sequence[Task],
    harnesses: Sequence[Harness],
    problems: list[HemraError],
) -> PlannedModels:
    """Look up what the request says of models; what is wrong is added to `problems`."""
    served = [harness for harness in harnesses if harness.traits.upstream is not None]
    wanted = _flags(request)
    if wanted and not served and harnesses:
        problems.append(
            UsageError(
                f"{' and '.join(wanted)}: no harness of this run calls its model through the gateway; "
                "name its endpoint in the harness file (`upstream`)"
            )
        )
        return PlannedModels()
    if request.cassette is None and request.cassette_miss is not None:
        problems.append(UsageError("--cassette-miss says what --cassette does; give that too"))
    if request.cassette is None or request.cassette_miss == MISS_UPSTREAM:
        problems += _without_key(served)
    prices = _prices(request, problems) if served or request.prices is not None else None
    unpriced = _unpriced(request, prices, served)
    if request.cassette is None or not tasks:
        return PlannedModels(prices, warnings=unpriced)
    cassette, warnings = _cassette(store, request, tasks, served, problems)
    return PlannedModels(prices, cassette, [*unpriced, *warnings])


def _unpriced(request: RunRequest, prices: PriceTable | None, harnesses: Sequence[Harness]) -> list[str]:
    """Harnesses whose cost cannot be known, where a limit asks for it."""
    if request.limits.cost_usd is None or prices is None:
        return []
    return [
        f"cost_usd cannot hold {harness.name}: {model or 'its model'} has no price in {prices.label}; "
        "add it (`hemra prices` shows the table), unless its provider tells the cost of each call"
        for harness in harnesses
        if prices.entry(model := harness.definition.get("model")) is None
    ]


def _without_key(harnesses: Sequence[Harness]) -> list[HemraError]:
    """Endpoints that cannot be used, or whose key is not to be had."""
    return [
        UsageError(f"harness {harness.name}: {text}") for harness in harnesses for text in endpoint(harness)
    ]


def _flags(request: RunRequest) -> list[str]:
    given = {"--record-cassette": request.record_cassette, "--cassette": request.cassette is not None}
    return [name for name, wanted in given.items() if wanted]


def _prices(request: RunRequest, problems: list[HemraError]) -> PriceTable | None:
    from hemra.gateway.prices import load_prices

    try:
        return load_prices(request.prices)
    except HemraError as error:
        problems.append(error)
        return None


def _cassette(
    store: Store,
    request: RunRequest,
    tasks: Sequence[Task],
    harnesses: Sequence[Harness],
    problems: list[HemraError],
) -> tuple[PlannedCassette | None, list[str]]:
    from hemra.gateway.cassette import Cassette

    assert request.cassette is not None
    try:
        cassette = Cassette.load(store, request.cassette)
    except HemraError as error:
        problems.append(error)
        return None, []
    run, _, trial = request.cassette.partition("/")
    miss = request.cassette_miss or MISS_ERROR
    planned = PlannedCassette(run=run, trial=trial or None, miss=miss)
    found: list[tuple[RecordedTrial, Task, int]] = []
    absent = []
    for attempt in range(1, request.attempts + 1):
        for task in tasks:
            for harness in harnesses:
                recorded = cassette.trial(harness.name, task.id, attempt)
                if recorded is None:
                    absent.append(f"{task.id} by {harness.name}, attempt {attempt}")
                else:
                    found.append((recorded, task, attempt))
    warnings = _differing(request, found)
    if absent:
        some = "; ".join(absent[:_SHOWN]) + (
            f" … and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
        )
        all_ = len(absent) + len(found)
        line = f"{len(absent)} of {all_} trials have no recorded answers in {request.cassette}: {some}"
        if miss == MISS_UPSTREAM:
            warnings.append(f"{line}; they ask their model")
        else:
            problems.append(
                UsageError(
                    f"--cassette: {line}. Leave them out, or add --cassette-miss upstream to ask their model"
                )
            )
    return planned, warnings


def _differing(request: RunRequest, found: Sequence[tuple[RecordedTrial, Task, int]]) -> list[str]:
    """What makes conversations other ones than those recorded."""
    warnings = []
    changed = dict.fromkeys(task.id for recorded, task, _ in found if recorded.task_digest != task.digest)
    if changed:
        warnings.append(f"changed since {request.cassette} was recorded: {', '.join(changed)}")
    if any(recorded.seed != trial_seed(request.seed, task.id, attempt) for recorded, task, attempt in found):
        warnings.append(
            f"{request.cassette} was recorded with other seeds: tasks that draw values will not find their answers; "
            "give the recorded run's --seed"
        )
    return warnings
