"""The kind `mini-swe-agent`: how it is started, and what its trajectory means.

The samples are of its own code of the pinned version, driven by the scripted server with a stand-in for its model
library, and without its configuration and token ids.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from eventlog.schemas.base import EventData
from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import Usage
from harnesses.base import Conclusion
from harnesses.mini_swe import TRAJECTORY, MiniInterpreter, MiniSweHarness
from tests.harnesses.adapters import bend, calls, gateway, made, messages, results, sample
from tests.harnesses.trial_inputs import trial_input

HEAD = ["agent", "-y", "--exit-immediately", "-m", "openai/test-model"]
OUTPUT = ["-o", "/scratch/home/mswea/traj.json", "-c", "mini.yaml"]
SETTINGS = [
    "-c", "model.model_kwargs.api_base=http://127.0.0.1:4000/t/0001/v1",
    "-c", "model.model_kwargs.timeout=600",
    "-c", "agent.cost_limit=0",
]  # fmt: skip
ENVIRONMENT = {
    "MSWEA_CONFIGURED": "true",
    "MSWEA_GLOBAL_CONFIG_DIR": "/scratch/home/mswea",
    "MSWEA_SILENT_STARTUP": "1",
    "MSWEA_COST_TRACKING": "ignore_errors",
    "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "2",
    "OPENAI_API_KEY": "trial-token",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


def ended(
    left: bytes | None, exit_code: int | None = 0, stderr: bytes = b""
) -> tuple[list[EventData], Conclusion]:
    """Events and conclusion of a process that left this trajectory."""
    interpreter = MiniInterpreter()
    printed = interpreter.feed("stdout", b"mini-swe-agent (step 1, $0.00):\n{not an event}\n")
    interpreter.feed("stderr", stderr)
    interpreter.files({} if left is None else {TRAJECTORY: left})
    events, said = interpreter.finish(exit_code, None)
    return printed + events, said


def with_status(name: str, status: str) -> bytes:
    """A sample that ended in another way."""
    told = json.loads(sample(name))
    told["info"]["exit_status"] = status
    return json.dumps(told).encode()


def test_it_is_told_where_its_model_is(tmp_path: Path) -> None:
    """With another address or setting it would ask somebody else, fetch a price list, or stop at a cost of its own."""
    launch = made(MiniSweHarness, tmp_path).launch(trial_input(gateway=gateway()))
    assert launch.argv == [*HEAD, "-t", "Say hello to Zoë ☕.", *OUTPUT, *SETTINGS]
    assert launch.env == ENVIRONMENT
    assert (launch.stdin, launch.prompt, launch.files, launch.home_files) == (b"", "argument", {}, {})
    assert launch.keep_home == ("mswea/traj.json",)


def test_it_keeps_a_limit_of_turns(tmp_path: Path) -> None:
    """The record says that the harness holds the limit, so it has to be told it."""
    harness = made(MiniSweHarness, tmp_path)
    launch = harness.launch(trial_input(gateway=gateway(), limits=Limits(turns=7)))
    assert launch.argv[-2:] == ["-c", "agent.step_limit=7"]
    assert harness.enforces == {"turns"}


def test_a_long_instruction_goes_in_by_a_file(tmp_path: Path) -> None:
    """The system takes no argument of that size, and the text must arrive as it is."""
    instruction = "Zoë ☕ 😀 \x7f: {{task}}\n- 'x' " + "x" * (128 * 1024)
    launch = made(MiniSweHarness, tmp_path).launch(trial_input(gateway=gateway(), instruction=instruction))
    assert launch.argv == [*HEAD, *OUTPUT, "-c", "/scratch/harness/mini-task.yaml", *SETTINGS]
    assert launch.prompt == "file"
    assert yaml.safe_load(launch.files["mini-task.yaml"]) == {"run": {"task": instruction}}


def test_a_run_is_read_to_its_end() -> None:
    """Messages, calls, usage or the answer of the real program would be missing."""
    events, said = ended(sample("mini.json"))
    assert (said.outcome, said.reason, said.flags, said.unrecognised) == (None, None, [], 0)
    # The command that ends it hands nothing over: its answer is what was said with it.
    assert said.final_text == "All done: hello.txt written."
    assert said.usage == Usage(
        input_tokens=2468,
        cache_read_tokens=2000,
        cache_write_tokens=None,
        output_tokens=112,
        reasoning_tokens=14,
    )
    assert messages(events)[2:] == [
        ("assistant", "Working on it. ", "I should write the file with the shell.", False),
        ("assistant", "All done: hello.txt written. ", None, False),
        ("assistant", "All done: hello.txt written.", None, True),
    ]
    assert [(name, arguments, turn) for _, name, arguments, turn in calls(events)] == [
        ("bash", {"command": "echo hello > hello.txt"}, 1),
        ("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}, 2),
    ]
    # The last command is not carried out, and the trajectory says so.
    assert [(ok, each["returncode"]) for *_, ok, each in results(events)] == [(True, 0), (False, -1)]


def test_what_it_submits_is_its_answer() -> None:
    """The text that it hands over would be thrown away for what it said beside it."""
    told = json.loads(sample("mini.json"))
    told["info"]["submission"] = "The answer is 4.\n"
    assert ended(json.dumps(told).encode())[1].final_text == "The answer is 4."


def test_its_limit_of_steps_is_an_outcome_of_its_own() -> None:
    """It exits with 0 then: a trial that was stopped would look like one that was done."""
    _, said = ended(sample("mini.limit.json"))
    assert (said.outcome, said.reason) == ("turn_limit", "it ended at its limit after 2 calls of its model")
    assert said.usage is not None
    assert "exit_contradicts" not in said.flags


def test_an_exception_of_its_endpoint_is_no_work_of_the_agent() -> None:
    """A refused key would be scored as a failure of the agent."""
    _, said = ended(sample("mini.err401.json"), 1)
    assert (said.outcome, said.final_text, said.usage) == ("auth_error", None, None)
    assert str(said.reason).startswith(
        "AuthenticationError: Error code: 401 - {'error': {'message': 'scripted failure 401'"
    )


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("InternalServerError", "provider_error"),
        ("RateLimitError", "provider_error"),
        ("APIConnectionError", "provider_error"),
        ("Timeout", "provider_error"),
        ("PermissionDeniedError", "auth_error"),
        ("BadRequestError", "harness_error"),
        ("KeyError", "harness_error"),
        ("TimeExceeded", "timeout"),
    ],
)
def test_the_name_of_the_exception_decides(status: str, outcome: str) -> None:
    """Its library raises one exception for each answer of an endpoint; told apart by nothing else."""
    assert ended(with_status("mini.limit.json", status), 1)[1].outcome == outcome


def test_a_model_that_never_calls_its_tool_is_scored() -> None:
    """An answer in a form that the agent cannot read is the model's work; what it cost is counted."""
    _, said = ended(sample("mini.format-error.json"))
    assert (said.outcome, said.final_text) == (None, None)
    assert said.flags == ["gave_up", "no_output"]
    assert said.usage is not None
    assert said.usage.input_tokens is not None
    assert said.usage.input_tokens > 0


def test_a_trajectory_that_breaks_off_says_so() -> None:
    """It is written after every step: one that was stopped in the middle would look whole."""
    _, said = ended(with_status("mini.json", ""), None)
    assert said.outcome is None
    assert {"incomplete_stream", "usage_partial"} <= set(said.flags)


def test_no_trajectory_is_no_success() -> None:
    """A program that did nothing and exited with 0 would be scored."""
    assert (ended(None)[1].outcome, ended(None)[1].usage) == ("unknown", None)
    _, said = ended(None, 1, b"Traceback\nModuleNotFoundError: No module named 'mcp'\n")
    assert said.outcome == "harness_error"
    assert str(said.reason).endswith("ModuleNotFoundError: No module named 'mcp'")
    assert ended(None, None)[1].outcome is None


@pytest.mark.parametrize(
    "left", [b"", b"[]", b'{"messages": 1}', b"[" * 100_000, b'{"trajectory_format": "3"}']
)
def test_another_format_is_a_mismatch_and_no_zeros(left: bytes) -> None:
    """A new version would look like an agent that did nothing for nothing."""
    _, said = ended(left)
    assert (said.outcome, said.usage, said.recognised, said.unrecognised) == ("unknown", None, 0, 1)
    assert "adapter_mismatch" in said.flags


@pytest.mark.parametrize(
    "name", ["mini.json", "mini.limit.json", "mini.err401.json", "mini.format-error.json"]
)
def test_no_trajectory_stops_the_reading(name: str) -> None:
    """One odd value would cost the record of a whole trial."""
    chance = random.Random(name)
    for _ in range(150):
        told: Any = json.loads(sample(name))
        for _ in range(chance.randrange(4)):
            bend(told, chance)
        events, said = ended(json.dumps(told).encode(), chance.choice((0, 1, None)))
        assert said.outcome != "completed"
        assert sum(final for *_, final in messages(events)) <= 1
