"""What providers call the errors of HTTP: clients look at the status, people at the message, some at the type."""

from __future__ import annotations

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}


def openai_type(status: int) -> str:
    """The type of an error in OpenAI's dialects."""
    return "insufficient_quota" if status == 402 else _TYPES.get(status, "server_error")


def anthropic_type(status: int) -> str:
    """The type of an error in Anthropic's dialect."""
    special = {402: "billing_error", 504: "timeout_error", 529: "overloaded_error"}
    return special.get(status) or _TYPES.get(status, "api_error")
