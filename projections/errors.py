"""What the read side raises on purpose; errors of the log itself (`eventlog.errors`) pass through.

ProjectionError
|- RunNotFound     the reference names no run, or several
|- NotTrusted      what DuckDB read is not what the log says it holds
|- NotProjected    its events hold what no table can be made of
`- BadComparison   the two sides cannot be set side by side as asked
   `- NoSuchHarness   a side names a harness that its run does not have
"""

from __future__ import annotations


class ProjectionError(Exception):
    """Base of every error that projections raise on purpose: one line, with the remedy."""


class RunNotFound(ProjectionError):
    """No such run in the store, or the reference fits several."""


class NotTrusted(ProjectionError):
    """The rows read are not the events that the log says it has."""


class NotProjected(ProjectionError):
    """The events hold values that the tables cannot, or there was no room to make them."""


class BadComparison(ProjectionError):
    """A comparison that cannot be made as asked."""


class NoSuchHarness(BadComparison):
    """The run has no harness of this name."""
