"""What goes wrong with a harness before it runs.

HarnessError          base: one line that names the thing and the remedy
|- HarnessNotFound    no built-in harness and no harness file of that name
|- HarnessFileError   a harness file that cannot be used as it is written
`- LaunchError        a harness that cannot be started for this trial
"""

from __future__ import annotations


class HarnessError(Exception):
    """Base of every error that this package raises on purpose."""


class HarnessNotFound(HarnessError):
    """What was named is neither a built-in harness nor a harness file."""


class HarnessFileError(HarnessError):
    """A harness file that cannot be used as it is written."""


class LaunchError(HarnessError):
    """The harness cannot be started for this trial as its file asks."""
