"""task.yaml as a JSON Schema: made from the structs that read it, so that the two cannot differ.

Every field says what it means and who holds it, `x-held-by`: engine, sandbox, gateway or harness; a trial names in
`why_not_enforced` what of it is not held. Fields for people are held by nobody: `people`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from hemra.datasets.model import TaskSpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ENGINE, SANDBOX, GATEWAY, HARNESS, PEOPLE = "engine", "sandbox", "gateway", "harness", "people"

#: Struct -> field -> (who holds it, what it means).
MEANINGS: dict[str, dict[str, tuple[str, str]]] = {
    "TaskSpec": {
        "id": (ENGINE, "Ends in the task's path below the dataset; the part before the last / is the category."),
        "version": (PEOPLE, "For people; the digest tells contents apart."),
        "title": (PEOPLE, "What the task is, in a few words."),
        "difficulty": (PEOPLE, "1 to 3; `--difficulty` selects by it."),
        "tags": (PEOPLE, "`--tag` selects by them."),
        "allowed_tools": (HARNESS, "Told to the harness; calls of other tools are flagged where it tells its calls."),
        "forbidden_tools": (HARNESS, "Told to the harness; calls of these are flagged where it tells its calls."),
        "instruction": (ENGINE, "File with what the harness is told; may hold {{placeholders}}."),
        "fixture": (ENGINE, "Folder whose files are copied into every workspace."),
        "allow_injection": (ENGINE, "Fixture files, relative to it, whose text may read like an instruction."),
        "absent_files": (ENGINE, "Paths that the instruction names although they are not there at the start."),
        "world": (ENGINE, "Program that is started in the sandbox before the harness and lives with the trial."),
        "services": (ENGINE, "What is started beside the trial for it alone."),
        "mcp_servers": (ENGINE, "MCP servers by name, given to the harness; their tools are mcp__NAME__TOOL."),
        "quota_kb": (SANDBOX, "Folders of the workspace that hold so many KiB and no more."),
        "latency_ms": (GATEWAY, "Delay of every call of a tool, milliseconds by tool."),
        "variants": (ENGINE, "Ways in which the task is asked; the seed draws one for each trial."),
        "network": (SANDBOX, "none; mock: the task's services and nothing else; full: this machine's network."),
        "sandbox": (ENGINE, "Where the task is to be run unless the run says otherwise, as --sandbox takes it."),
        "limits": (SANDBOX, "Limits of one trial."),
        "sampling": (GATEWAY, "How the model is to decode."),
        "verifier": (ENGINE, "How the verifier is run."),
    },
    "TaskLimits": {
        "wall_seconds": (SANDBOX, "Time from start to end of the harness."),
        "cpu_seconds": (SANDBOX, "CPU time of all processes together."),
        "cpus": (SANDBOX, "Processors that all processes together use at a time; 0.5 is half of one."),
        "turns": (ENGINE, "Assistant turns; the harness is stopped at one too many, where it tells its turns."),
        "tokens": (GATEWAY, "Input and output tokens of all calls together."),
        "calls": (GATEWAY, "Calls to models."),
        "input_tokens": (GATEWAY, "Input tokens of all calls, cached ones included."),
        "output_tokens": (GATEWAY, "Output tokens of all calls, reasoning included."),
        "cost_usd": (GATEWAY, "What all calls cost, US dollars."),
        "memory_mb": (SANDBOX, "Memory of all processes together, MiB."),
        "processes": (SANDBOX, "Processes at the same time."),
        "file_size_mb": (SANDBOX, "Size of one file, MiB."),
        "workspace_mb": (SANDBOX, "Size of the workspace, MiB."),
        "output_mb": (SANDBOX, "What the harness prints, MiB."),
    },
    "Sampling": {
        "temperature": (GATEWAY, "Null: the harness's own choice."),
        "top_p": (GATEWAY, "Null: the harness's own choice."),
        "top_k": (GATEWAY, "Null: the harness's own choice."),
        "seed": (GATEWAY, "Seed of the decoding, not of the task's values. Null: the harness's own choice."),
    },
    "VerifierSpec": {
        "entry": (ENGINE, "FILE:FUNCTION, called as function(workspace, trace)."),
        "timeout_seconds": (ENGINE, "A verifier that takes longer is stopped: VERIFIER_ERROR."),
    },
    "Services": {"web": (ENGINE, "A web server on loopback; its address is {{web}} and the variable HEMRA_WEB.")},
    "WebService": {"corpus": (ENGINE, "Folder with its pages, and routes.yaml.")},
    "TaskMcpServer": {
        "command": (ENGINE, "Program that the harness starts in the workspace and speaks to over stdio."),
        "args": (ENGINE, "Its arguments; may hold {{placeholders}}. A file of `files` by its path in the task."),
        "env": (ENGINE, "Variables of its environment; values may hold {{placeholders}}."),
        "files": (SANDBOX, "Folder with the program's files, which the trial's programs may read and not change."),
        "url": (SANDBOX, "Where it listens, instead of a command; may hold {{placeholders}}. Loopback is let through."),
        "transport": (ENGINE, "How a URL is spoken to: http, which is streamable HTTP, or sse. Null: http."),
        "headers": (ENGINE, "Headers of requests to the URL; values may hold {{placeholders}}."),
    },
    "Variant": {
        "name": (ENGINE, "In the record as the value `variant`."),
        "values": (ENGINE, "Arguments of prepare() by name, and values of the trial."),
    },
}  # fmt: skip


def task_schema() -> dict[str, Any]:
    """The JSON Schema of task.yaml."""
    (_, parts) = msgspec.json.schema_components([TaskSpec], ref_template="#/$defs/{name}")
    for struct, fields in MEANINGS.items():
        for name, (holder, text) in fields.items():
            place = parts[struct]["properties"][name]
            # A reference may not have neighbours in older dialects; in this one it may.
            place |= {"description": text, "x-held-by": holder}
    whole = parts.pop("TaskSpec")
    return {"$schema": DIALECT, **whole, "title": "task.yaml", "$defs": dict(sorted(parts.items()))}
