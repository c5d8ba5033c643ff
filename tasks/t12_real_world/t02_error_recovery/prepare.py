"""Draws the services of a configuration, with an outdated example of it."""

import json
import pathlib
import random

SERVICES = ["billing", "catalog", "delivery", "identity", "mailer", "reports", "search"]
REGIONS = ["coast", "delta", "hills", "island", "lowland", "plateau", "valley"]


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write config.json and config.example.json."""
    rng = random.Random(f"t12_error_recovery:{seed}")
    services = rng.sample(SERVICES, 5)
    ports, numbers = rng.sample(range(2000, 60_000), 11), rng.sample(range(10, 100), 11)

    def service(number: int) -> dict:
        region = f"{REGIONS[number % len(REGIONS)]}-{numbers[number]}"
        return {"enabled": True, "listen": {"host": "localhost", "port": ports[number]}, "region": region}

    now = {name: service(number) for number, name in enumerate(services)}
    old = {name: service(number) for number, name in enumerate(services, 5)}
    default = {"port": ports[10], "region": f"{rng.choice(REGIONS)}-{numbers[10]}"}
    for name, content in (("config.json", now), ("config.example.json", old)):
        document = {"version": rng.randrange(2, 9), "defaults": default, "services": content}
        (workspace / name).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8", newline="\n")
    wanted = services[2]
    others = [
        part
        for found in (*now.values(), *old.values())
        for part in (found["listen"]["port"], found["region"])
    ]
    right = [now[wanted]["listen"]["port"], now[wanted]["region"]]
    return {
        "service": wanted,
        "missing": f"/nonexistent/{rng.choice(SERVICES)}-{rng.randrange(100, 1000)}/config.json",
        "port": right[0],
        "region": right[1],
        "others": [value for value in (*others, *default.values()) if value not in right],
    }
