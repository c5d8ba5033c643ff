"""Recipes of the category t12_real_world."""

from __future__ import annotations

import json

from .book import Recipe, Task, read, recipe, step


@recipe("t12_real_world/t02_error_recovery")
def fallback(task: Task) -> Recipe:
    """Try the first file, be told that it is not there, and read the other one."""
    missing, service = task.values["missing"], task.values["service"]
    yield step("I read the first file.", read(missing))
    (text,) = yield step("It is not there. I read the other one.", read("config.json"))
    found = json.loads(text[text.index("{") : text.rindex("}") + 1])["services"][service]
    return f"Port {found['listen']['port']}, region {found['region']}. {missing} does not exist."
