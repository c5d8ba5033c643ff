"""Puts an answer of OpenAI's chat completions together, and of the many servers that speak it in their own way."""

from __future__ import annotations

from typing import Any

from hemra.gateway.dialects.content import (
    as_dict,
    as_list,
    as_text,
    freeform_call,
    function_call,
    part_text,
    text_or_none,
    texts_of,
)
from hemra.gateway.dialects.reading import told_error
from hemra.gateway.normal import Answer, ToolCall
from hemra.gateway.usage_forms import chat_usage

#: Fields of a message that hold its reasoning as a text. Some servers send the same in two of them: the first counts.
_REASONING = ("reasoning_content", "reasoning", "thinking")


def reasoning_of(message: dict[str, Any]) -> str:
    """The reasoning in a message, or in a piece of one. Most pieces have none: this is done for every token."""
    for field in _REASONING:
        value = message.get(field)
        if value and (text := texts_of(value, "text", "thinking", "content")):
            return text
    told = message.get("reasoning_details")
    if told and (details := texts_of(told, "text", "summary")):
        return details
    content = message.get("content")
    return _thinking_parts(content) if isinstance(content, list) else ""


def _thinking_parts(content: list[Any]) -> str:
    """Reasoning among the parts of the content, as Mistral's models give it."""
    parts = [as_dict(part) for part in content]
    return "".join(
        texts_of(part.get("thinking"), "text", "thinking") for part in parts if part.get("type") == "thinking"
    )


def sealed_of(message: dict[str, Any]) -> list[Any]:
    """Reasoning that only its provider can read."""
    return [each for each in as_list(message.get("reasoning_details")) if as_dict(each).get("data")]


def text_of(message: dict[str, Any]) -> str:
    """What a message, or a piece of one, says; a refusal is said too."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part_text(part) or "" for part in content)
    return as_text(content) or as_text(message.get("refusal"))


class _Call:
    """A call that comes in pieces."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.custom = False
        self.value: Any = None
        self.texts: list[str] = []

    def take(self, piece: dict[str, Any]) -> bool:
        """The next piece; whether it brought a part of the arguments."""
        self.id = self.id or as_text(piece.get("id"))
        self.custom = self.custom or piece.get("type") == "custom" or isinstance(piece.get("custom"), dict)
        detail = as_dict(piece.get("custom")) or as_dict(piece.get("function"))
        name = as_text(detail.get("name"))
        if name != self.name:
            self.name += name  # in pieces from some servers, whole in every piece from others
        given = detail.get("input" if self.custom else "arguments")
        if isinstance(given, str):
            self.texts.append(given)
            return bool(given)
        self.value = self.value if given is None else given
        return given is not None

    def call(self) -> ToolCall:
        """The whole call."""
        written = "".join(self.texts) if self.texts else self.value
        return (freeform_call if self.custom else function_call)(self.id, self.name, written)


class _Choice:
    """One of the answers that a request may ask for at once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.reasoning: list[str] = []
        self.sealed: list[Any] = []
        self.calls: list[_Call] = []
        self.by_index: dict[int, _Call] = {}
        self.finish: str | None = None
        self.token_ids: list[Any] | None = None
        self.logprobs: dict[str, list[Any]] | None = None

    def take(self, choice: dict[str, Any], *, whole: bool) -> int:
        """The next piece, or the whole; how many pieces of text, reasoning and arguments it brought."""
        message = as_dict(choice["delta"] if "delta" in choice else choice.get("message"))
        pieces = 0
        if text := text_of(message):
            self.texts.append(text)
            pieces += 1
        if reasoning := reasoning_of(message):
            self.reasoning.append(reasoning)
            pieces += 1
        self.sealed += sealed_of(message)
        for piece in as_list(message.get("tool_calls")):
            if isinstance(piece, dict):
                pieces += (self._new() if whole else self._called(piece)).take(piece)
        legacy = message.get("function_call")
        if isinstance(legacy, dict):
            pieces += self._at(0).take({"function": legacy})
        self.finish = text_or_none(choice.get("finish_reason")) or self.finish
        self._measure(choice)
        return pieces

    def _measure(self, choice: dict[str, Any]) -> None:
        ids = choice.get("token_ids")
        if isinstance(ids, list):
            self.token_ids = self.token_ids or []
            self.token_ids += ids
        for kind, listed in as_dict(choice.get("logprobs")).items():
            self.logprobs = self.logprobs or {}
            if isinstance(listed, list):
                self.logprobs.setdefault(kind, []).extend(listed)

    def _called(self, piece: dict[str, Any]) -> _Call:
        """The call that a piece belongs to. Some servers number no call, and some number all of them 0."""
        index, name = piece.get("index"), as_text(piece.get("id"))
        if isinstance(index, int):
            known = self.by_index.get(index)
            if known is not None and name and known.id and name != known.id:
                known = self.by_index[index] = self._new()
            return known or self._at(index)
        if self.calls and not name and not as_dict(piece.get("function")).get("name"):
            return self.calls[-1]
        same = [call for call in self.calls if name and call.id == name]
        return same[0] if same else self._new()

    def _at(self, index: int) -> _Call:
        if index not in self.by_index:
            self.by_index[index] = self._new()
        return self.by_index[index]

    def _new(self) -> _Call:
        self.calls.append(_Call())
        return self.calls[-1]


class ChatAssembly:
    """An Assembly for chat completions. Of several choices the first one is the answer."""

    def __init__(self) -> None:
        self.pieces = 0
        self._choices: dict[int, _Choice] = {}
        self._id: str | None = None
        self._model: str | None = None
        self._usage: Any = None
        self._prompt_token_ids: Any = None
        self._error: Any = None

    def event(self, name: str, data: dict[str, Any]) -> bool:
        """Take a chunk; an error may come as one."""
        return self._take(data, whole=False)

    def document(self, body: dict[str, Any]) -> bool:
        """Take the whole completion, or an error in its place."""
        return self._take(body, whole=True)

    def _take(self, body: dict[str, Any], *, whole: bool) -> bool:
        choices = [as_dict(each) for each in as_list(body.get("choices"))]
        if not choices and not isinstance(body.get("usage"), dict) and (error := told_error(body)):
            self._error = error
            return True
        if body.get("error"):
            self._error = body["error"]
        self._id = self._id or text_or_none(body.get("id"))
        self._model = self._model or text_or_none(body.get("model"))
        for place, choice in enumerate(choices):
            index = choice.get("index")
            number = index if isinstance(index, int) else place
            self.pieces += self._choices.setdefault(number, _Choice()).take(choice, whole=whole)
            if choice.get("error"):
                self._error = choice["error"]
        self._account(body, choices)
        if "choices" in body or "usage" in body or "error" in body:
            return True
        return as_text(body.get("object")).startswith("chat.comp")

    def _account(self, body: dict[str, Any], choices: list[dict[str, Any]]) -> None:
        """Usage stands at the end, in every chunk (then it is the sum so far), or in a choice."""
        for place in (body, as_dict(body.get("x_groq")), *choices):
            if isinstance(place.get("usage"), dict):
                self._usage = place["usage"]
                break
        for place in (body, *choices):
            if isinstance(place.get("prompt_token_ids"), list):
                self._prompt_token_ids = place["prompt_token_ids"]

    def answer(self) -> Answer:
        """What was taken."""
        choice = self._choices[min(self._choices)] if self._choices else _Choice()
        return Answer(
            id=self._id,
            model=self._model,
            text="".join(choice.texts),
            reasoning="".join(choice.reasoning) or choice.sealed or None,
            calls=tuple(call.call() for call in choice.calls),
            finish_reason=choice.finish,
            usage=chat_usage(self._usage),
            raw_usage=self._usage,
            token_ids=choice.token_ids,
            prompt_token_ids=self._prompt_token_ids,
            logprobs=choice.logprobs,
            complete=choice.finish is not None and self._error is None,
            error=self._error,
        )
