"""Draws the steps, and the notes that tell what is missing."""

import pathlib
import random

WORDS = [
    "boiler",
    "camera",
    "damper",
    "engine",
    "feeder",
    "grinder",
    "heater",
    "loader",
    "mixer",
    "pump",
    "rotor",
]
VERBS = ["calibrated", "greased", "insulated", "weighed", "sealed", "photographed"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write the notes; only they name the component of the fifth step."""
    rng = random.Random(f"t07_todo_plan/t03_replan:{seed}")
    parts = [f"{word}-{rng.randrange(100, 1000)}" for word in rng.sample(WORDS, 5)]
    step2, step3, step4, found, decoy = parts
    notes = f"handover-{rng.randrange(1000, 10_000)}.txt"
    verb, before = rng.sample(VERBS, 2)
    lines = [
        "Hand-over notes",
        "",
        f"- The last delivery was late: {decoy} had to be {before} on the quay. That is settled now.",
        f"- The customer pays for {step3} on arrival.",
        f"- Not in the plan yet, and needed this time: {found} has to be {verb} before anything is sent off.",
        "- The lorry comes at nine.",
    ]
    (workspace / notes).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    steps = [notes, step2, step3, step4]
    asked = {"notes": notes, "step2": step2, "step3": step3, "step4": step4}
    return {**asked, "steps": steps, "found": found, "decoy": decoy}
