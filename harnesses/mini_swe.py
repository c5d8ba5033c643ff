"""The kind `mini-swe-agent`: `mini` with its default configuration; what it did is read from the trajectory it leaves.

It prints for people only. Its `traj.json` lies in HOME and is written anew after every step.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

from eventlog.schemas.base import EventData
from harnesses.agent import AgentHarness, Capabilities, Session
from harnesses.base import Conclusion, Launch
from harnesses.instruction import is_plain_word
from harnesses.jsonl import JsonlInterpreter, mapping, objects, text_of
from harnesses.litellm_errors import STATUS
from harnesses.protocol import identity
from harnesses.recipe import InstallRecipe

RECIPE = InstallRecipe(
    name="mini-swe-agent",
    version="2.4.6",
    kind="pip",
    packages=("mini-swe-agent==2.4.6",),
    program="bin/mini",
    version_argv=("bin/python", "-c", "import importlib.metadata as m; print(m.version('mini-swe-agent'))"),
    python=">=3.10",
)
FOLDER = "mswea"
TRAJECTORY = f"{FOLDER}/traj.json"
TASK_FILE = "mini-task.yaml"
#: How long one request may take. Seconds.
TIMEOUT_S = 600


class MiniSweHarness(AgentHarness):
    """mini-swe-agent, told where its model is on its command line. One tool, a shell; no stream.

    It needs an environment of its own: beside other agents its model library breaks.
    """

    recipe = RECIPE
    dialects = ("chat",)
    capabilities = Capabilities(turn_limit=True, session=True)
    tool_names: ClassVar = {"terminal": ("bash",)}
    outside_traffic_off: ClassVar = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "MSWEA_SILENT_STARTUP": "1"}

    def start(self, session: Session) -> Launch:
        """`mini -y --exit-immediately`. `-c` replaces the default configuration, so that is named first; its own limit
        of cost is off, for its prices are not ours."""
        trial = session.trial
        spoken = is_plain_word(trial.instruction, marks="")
        settings = [
            f"model.model_kwargs.api_base={session.gateway.openai_base}",
            f"model.model_kwargs.timeout={TIMEOUT_S}",
            "agent.cost_limit=0",
        ]
        if trial.limits.turns is not None:
            settings.append(f"agent.step_limit={trial.limits.turns}")
        task = ["-t", trial.instruction] if spoken else []
        configs = ["mini.yaml", *([] if spoken else [f"{trial.harness_dir}/{TASK_FILE}"]), *settings]
        return Launch(
            argv=[*session.program, "-y", "--exit-immediately", "-m", f"openai/{session.model}", *task,
                  "-o", f"{trial.home}/{TRAJECTORY}", *(word for each in configs for word in ("-c", each))],
            env={
                "MSWEA_CONFIGURED": "true",
                "MSWEA_GLOBAL_CONFIG_DIR": f"{trial.home}/{FOLDER}",
                "MSWEA_COST_TRACKING": "ignore_errors",
                "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "2",
                "OPENAI_API_KEY": session.gateway.token,
            },
            files={} if spoken else {TASK_FILE: _task_file(trial.instruction)},
            keep_home=(TRAJECTORY,),
            prompt="argument" if spoken else "file",
        )  # fmt: skip

    def interpreter(self) -> MiniInterpreter:
        """A new reader for one process."""
        return MiniInterpreter()


def _task_file(instruction: str) -> bytes:
    """Its task as a piece of configuration, for one that is no argument."""
    import yaml

    text: str = yaml.safe_dump({"run": {"task": instruction}}, allow_unicode=False)
    return text.encode()


class MiniInterpreter(JsonlInterpreter):
    """Reads the trajectory of one process. Its `exit_status` says how it ended; the exit code is 0 for a limit too."""

    def __init__(self) -> None:
        super().__init__({})
        self._trajectory: dict[str, Any] | None = None
        self._left = False
        self._last_said = ""

    def feed(self, stream: str, chunk: bytes) -> list[EventData]:
        """Its output is for people."""
        return super().feed(stream, chunk) if stream == "stderr" else []

    def files(self, found: dict[str, bytes]) -> None:
        """Its trajectory; one that is no JSON object counts as something not understood."""
        content = found.get(TRAJECTORY)
        if content is None:
            return
        self._left = True
        try:
            told = json.loads(content)
        except (ValueError, RecursionError):
            told = None
        self._trajectory = told if isinstance(told, dict) and isinstance(told.get("messages"), list) else None

    def finish(self, exit_code: int | None, exit_signal: int | None) -> tuple[list[EventData], Conclusion]:
        """The conversation, and what to make of the whole."""
        before: list[EventData] = []
        if self._trajectory is not None:
            before = self._read_trajectory(self._trajectory)
        elif self._left or exit_code == 0:
            self.unrecognised += self._left
            self.flag("adapter_mismatch")
            what = "a trajectory that this adapter does not know" if self._left else "no trajectory"
            self.outcome, self.reason = "unknown", f"it left {what}"
        events, conclusion = super().finish(exit_code, exit_signal)
        return before + events, conclusion

    def _read_trajectory(self, told: dict[str, Any]) -> list[EventData]:
        if not text_of(told.get("trajectory_format")).startswith("mini-swe-agent-1"):
            self.flag("other_format")
        events: list[EventData] = []
        for message in objects(told.get("messages")):
            events += self._read_entry(message)
        self._read_end(mapping(told.get("info")))
        return events

    def _read_entry(self, message: dict[str, Any]) -> list[EventData]:
        role, extra = message.get("role"), mapping(message.get("extra"))
        self.recognised += 1
        if role == "assistant":
            return self._read_answer(message, extra)
        if role == "tool":
            code = extra.get("returncode")
            ok = code == 0 if isinstance(code, int) else None
            result = {name: extra.get(name) for name in ("raw_output", "returncode", "exception_info")}
            return self.returned(identity(message.get("tool_call_id")), ok, result)
        if role in ("system", "user"):
            # A call that it could not read is answered like this, and was paid for all the same.
            return [*self._read_usage(extra), *self.heard(str(role), message.get("content"))]
        if role != "exit":
            self.recognised -= 1
            self.unrecognised += 1
            self.flag("unknown_lines")
        return []

    def _read_answer(self, message: dict[str, Any], extra: dict[str, Any]) -> list[EventData]:
        self.turn += 1
        events = self._read_usage(extra)
        self.thought(text_of(message.get("reasoning_content")))
        said = text_of(message.get("content"))
        self._last_said = said or self._last_said
        events += self.said(said)
        for call in objects(message.get("tool_calls")):
            function = mapping(call.get("function"))
            arguments = function.get("arguments")
            events += self.called(
                identity(call.get("id")), text_of(function.get("name")), _value(arguments)
            )  # fmt: skip
        return events

    def _read_usage(self, extra: dict[str, Any]) -> list[EventData]:
        response = mapping(extra.get("response"))
        usage = mapping(response.get("usage"))
        if not usage:
            return []
        told = {
            "input_tokens": usage.get("prompt_tokens"),
            "cache_read_tokens": mapping(usage.get("prompt_tokens_details")).get("cached_tokens"),
            "output_tokens": usage.get("completion_tokens"),
            "reasoning_tokens": mapping(usage.get("completion_tokens_details")).get("reasoning_tokens"),
        }
        return self.used(told, model=response.get("model"), raw=usage)

    def _read_end(self, info: dict[str, Any]) -> None:
        status, submission = text_of(info.get("exit_status")), text_of(info.get("submission")).strip()
        if status == "Submitted":
            self.complete = True
            # The command that ends it hands over nothing as a rule: the answer is what was said with it.
            self.final = submission or self._last_said.strip() or None
        elif status == "LimitsExceeded":
            calls = mapping(info.get("model_stats")).get("api_calls")
            self.outcome, self.reason = (
                "turn_limit",
                f"it ended at its limit after {calls} calls of its model",
            )
        elif status == "RepeatedFormatError":
            # The model never called the tool as it has to: that is its work, and it is scored.
            self.complete = True
            self.flag("gave_up")
        elif status == "TimeExceeded":
            self.outcome, self.reason = "timeout", "it ended at a time limit of its own"
        elif status:
            self.failure, self.failure_status = (
                _told_failure(self._trajectory or {}, status),
                STATUS.get(status),
            )


def _told_failure(trajectory: dict[str, Any], status: str) -> str:
    """What it says of the exception that ended it."""
    last = objects(trajectory.get("messages"))[-1:]
    said = text_of(mapping(last[0].get("extra")).get("exception_str")) if last else ""
    return f"{status}: {said}" if said else status


def _value(arguments: Any) -> Any:
    """The value of arguments that are JSON in a text; the text as it is where it is none."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
