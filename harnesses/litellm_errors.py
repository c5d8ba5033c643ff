"""What the errors of LiteLLM stand for: agents that ask their model through it tell them by the exception's name."""

from __future__ import annotations

#: Name of an exception -> the HTTP status that it is made from, or the nearest one where there was no answer.
STATUS = {
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "BadRequestError": 400,
    "UnprocessableEntityError": 422,
    "ContextWindowExceededError": 400,
    "RateLimitError": 429,
    "InternalServerError": 500,
    "APIError": 500,
    "APIConnectionError": 503,
    "ServiceUnavailableError": 503,
    "BadGatewayError": 502,
    "Timeout": 504,
}
