"""Another harness's tool, which knows no merging: the four items stay word for word."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
contents = re.findall(r"^- `p\d`: (.*)$", trial.instruction, re.MULTILINE)


def write(contents, done):
    """The whole list, the first `done` items completed."""
    items = [
        {"content": content, "status": "completed" if n < done else "pending", "activeForm": content}
        for n, content in enumerate(contents)
    ]
    trial.result(trial.call("TodoWrite", {"todos": items}), True, "Todos have been modified successfully.")


write(contents, 0)
notes = trial.read_file(re.search(r"`(handover-\d+\.txt)`", trial.instruction).group(1))
component, work = re.search(r"needed this time: (\S+) has to be (\w+)", notes).groups()
write([*contents, f"get {component} {work}"], 1)
trial.final(f"It is {component}.")
