"""Decides whether a call may be made, and enters what it came to in all of its trial's accounts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from eventlog.schemas.trials import Usage
from hemra.gateway.budget import MOST_OPEN
from hemra.gateway.conversation import OTHER_MODEL as ANOTHER
from hemra.gateway.verdict import End, outgrown
from hemra.reports.numbers import amount

if TYPE_CHECKING:
    from hemra.gateway.channel import Channel
    from hemra.gateway.exchange import Exchange

#: Flags of a trial.
CUT_AT_LENGTH, MALFORMED, EMPTY = "answer_cut_at_length", "malformed_arguments", "empty_answer"
BAD_REQUEST, UNREAD = "bad_request", "conversation_unread"
RETRIED, OTHER_MODEL, LOOPED, OUTGROWN = (
    "model_retried",
    "other_model_answered",
    "loop_stopped",
    "context_exceeded",
)
_LENGTH = ("length", "max_tokens", "max_output_tokens", "model_context_window_exceeded")


def refusal(channel: Channel, exchange: Exchange) -> tuple[str, str] | None:
    """Why a call is not passed on, as (code, message); null where it is. Nothing of what it says is kept for this."""
    asked = exchange.asked
    if channel.guard.looping:
        channel.flag(LOOPED)
        channel.ends.looped()
        _refused(channel)
        return "loop_stopped", (
            "stopped by HEMRA: the same was asked again and again without progress; do not ask again"
        )
    if not asked.asks_model:
        return None
    if _unread(channel, exchange):
        channel.flag(UNREAD)
        _refused(channel)
        return (
            "conversation_unread",
            "refused by HEMRA: the conversation is too long to be read; do not ask again",
        )
    tokens, cost = _so_far(channel)
    fired = channel.budget.exceeded(turn=False, tokens=tokens, cost=cost)
    if fired is None:
        fired = channel.budget.exceeded(turn=True, tokens=tokens, cost=cost)
        fired = fired if fired is not None and _would_be_turn(channel, exchange) else None
    if fired is not None:
        channel.fired = channel.fired or fired
        _refused(channel)
        return "budget_exceeded", (
            f"budget of this trial used up: {fired.name} limit of {amount(fired.value, fired.unit)} reached "
            f"({amount(fired.measured, fired.unit)} used); do not ask again"
        )
    return None


def admit(channel: Channel, exchange: Exchange) -> None:
    """A call that is not refused, and whose request was seen, goes on: it counts from now on."""
    seen, asked = exchange.seen, exchange.asked
    exchange.main = asked.dialect is not None and (seen is None or seen.auxiliary is None)
    exchange.turn = exchange.main or (seen is not None and _acts(exchange, seen.auxiliary))
    if asked.asks_model:
        channel.guard.passed()
        channel.budget.begin(turn=exchange.turn)
        exchange.counted = True


def crowded(channel: Channel, exchange: Exchange) -> bool:
    """Whether a call has to wait for others to end: what they use is not known yet, and may be all that is left."""
    waits = channel.budget.spends and exchange.asked.asks_model
    return waits and sum(each.counted for each in channel.open.values()) >= MOST_OPEN


def _acts(exchange: Exchange, aside: str | None) -> bool:
    """Whether a call is a turn for the budget, whoever it asks: a model with tools can do the whole task."""
    request = exchange.asked.request
    return aside is None or (aside == ANOTHER and request is not None and bool(request.tools))


def _would_be_turn(channel: Channel, exchange: Exchange) -> bool:
    asked = exchange.asked
    if asked.dialect is None:
        return False
    if asked.request is None or not channel.recording.readable(exchange):
        return True
    return _acts(exchange, asked.aside or channel.conversation.aside(asked.request))


def _unread(channel: Channel, exchange: Exchange) -> bool:
    """Whether a request that has to be looked into for what the task asks cannot be."""
    asked = exchange.asked
    return (
        bool(channel.spec.latency_ms)
        and asked.dialect is not None
        and not channel.recording.readable(exchange)
    )


def _so_far(channel: Channel) -> tuple[int, float]:
    """(tokens, US dollars) that open calls have used at least."""
    tokens, cost = 0, 0.0
    for exchange in channel.open.values():
        if exchange.counted and exchange.replayed is None:
            tokens += exchange.pieces
            cost += _cost_of_pieces(channel, exchange) or 0.0
    return tokens, cost


def _cost_of_pieces(channel: Channel, exchange: Exchange) -> float | None:
    if channel.spec.prices is None or not exchange.pieces:
        return None
    return channel.spec.prices.cost(_model(exchange), Usage(input_tokens=0, output_tokens=exchange.pieces))


def _refused(channel: Channel) -> None:
    channel.refused += 1
    if channel.guard.refused():
        channel.over.set()


def settle_spoken(channel: Channel) -> None:
    """Settle calls whose answer is told though its connection is still open: what is asked next goes on from them."""
    for exchange in list(channel.open.values()):
        exchange.catch_up()
        if exchange.spoken:
            settle(channel, exchange, "complete")


def settle(channel: Channel, exchange: Exchange, ended: str) -> None:
    """Enter the end of a call, once; `ended` is what its connections say."""
    if exchange.settled:
        return
    exchange.settled = True
    channel.open.pop(exchange.call, None)
    channel.freed.set()
    if not exchange.requested:
        exchange.holding.written()
        return
    exchange.finish(ended)
    told = channel.recording.hear(exchange)
    answer = exchange.answer
    usage = answer.usage if answer is not None else None
    priced = None
    # A model that is free by the table costs nothing even where it tells no usage.
    if (
        channel.spec.prices is not None
        and exchange.replayed is None
        and (usage is not None or exchange.served)
    ):
        model = answer.model if answer is not None and answer.model else _model(exchange)
        priced = channel.spec.prices.cost(model, usage)
    if exchange.counted:
        cost = usage.cost_usd if usage is not None and usage.cost_usd is not None else priced
        if cost is None and exchange.replayed is None:
            channel.budget.seen_cost += _cost_of_pieces(channel, exchange) or 0.0
        for flag in channel.budget.end(
            turn=exchange.turn, served=exchange.served, whole=exchange.whole, usage=usage, cost=cost,
            left=exchange.ended == "disconnected", pieces=exchange.pieces,
        ):  # fmt: skip
            channel.flag(flag)
    _watch(channel, exchange)
    channel.recording.responded(exchange, told, priced)


def _model(exchange: Exchange) -> str | None:
    return exchange.asked.request.model if exchange.asked.request is not None else None


def _watch(channel: Channel, exchange: Exchange) -> None:
    """What the end of a call says about the trial."""
    if exchange.ended == "refused":
        return
    if not exchange.counted:
        channel.guard.beside(_asked(exchange))
        return
    channel.guard.ended(_asked(exchange), answered=exchange.whole and not exchange.empty)
    if exchange.asked.dialect is None:
        return
    end = End(
        ended=exchange.ended or "cut", status=exchange.status, error=exchange.error,
        began=exchange.status is not None, silent_s=exchange.silent_s, empty=exchange.empty,
        unread=exchange.asked.request is None, at=time.monotonic(),
    )  # fmt: skip
    if channel.ends.own_fault(end) and not outgrown(exchange.status, exchange.error):
        channel.flag(BAD_REQUEST)
    channel.ends.add(end, aside=not exchange.main)
    for flag in _flags(exchange):
        channel.flag(flag)


def _asked(exchange: Exchange) -> str:
    """What tells one question from another."""
    if exchange.seen is not None:
        return f"{exchange.seen.context} {exchange.seen.auxiliary}"
    asked = exchange.asked
    return f"{asked.method} {asked.tail} {asked.digest}"


def _flags(exchange: Exchange) -> list[str]:
    """What a reader of the result should know of a call."""
    found = []
    answer, request, seen = exchange.answer, exchange.asked.request, exchange.seen
    if outgrown(exchange.status, exchange.error):
        found.append(OUTGROWN)
    if exchange.main and seen is not None and seen.retry_of is not None:
        found.append(RETRIED)
    if not exchange.main or answer is None:
        return found
    if answer.finish_reason in _LENGTH:
        found.append(CUT_AT_LENGTH)
    if exchange.empty:
        found.append(EMPTY)
    free = {tool.name for tool in request.tools if _freeform(tool.definition)} if request else set()
    if any(call.written is not None and call.name not in free for call in answer.calls):
        found.append(MALFORMED)
    if request is not None and answer.model and request.model and not _alike(request.model, answer.model):
        found.append(OTHER_MODEL)
    return found


def _freeform(definition: object) -> bool:
    """Whether a tool takes text that need not be JSON."""
    return isinstance(definition, dict) and definition.get("type") == "custom"


def _alike(asked: str, answered: str) -> bool:
    """Whether two names may mean the same model: with or without its provider, its date, or `latest`."""
    one, other = (name.lower().rpartition("/")[2].removesuffix("-latest") for name in (asked, answered))
    return one.startswith(other) or other.startswith(one)
