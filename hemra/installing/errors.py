"""Why an agent could not be installed, as one line with the remedy."""

from __future__ import annotations

from hemra.errors import HemraError


class InstallError(HemraError):
    """An agent could not be installed, or what is installed cannot be used; the message says what to do."""
