"""What a trial may spend on its model, and what it has spent."""

from __future__ import annotations

import msgspec

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import LimitFired, Usage

#: Budget -> unit, in the order in which they are looked at.
UNITS = {
    "calls": "calls",
    "turns": "turns",
    "tokens": "tokens",
    "input_tokens": "tokens",
    "output_tokens": "tokens",
    "cost_usd": "USD",
}
#: Calls that may be open at a time under a budget that is only known when they end: each may pass it.
MOST_OPEN = 4
#: Side calls that every trial may make, and for every turn, before they are more than titles and summaries.
_SIDE, _SIDE_A_TURN = 5, 2
_USAGE = Usage.__struct_fields__


def total(sum_: Usage | None, more: Usage | None) -> Usage | None:
    """The sum of two, part by part; a part that neither tells stays null."""
    if sum_ is None or more is None:
        return sum_ or more
    parts = {}
    for name in _USAGE:
        one, other = getattr(sum_, name), getattr(more, name)
        parts[name] = (one or 0) + (other or 0) if one is not None or other is not None else None
    return msgspec.convert(parts, Usage)


class Budget:
    """Counts calls and sums what they used.

    A call counts from the moment in which it is sent on; one that the endpoint did not answer at all (an HTTP error, no
    connection) is taken out again, for it was not served. A turn is a call that is no side call, and one that offers
    tools to another model. What a call told no usage of is taken for what was seen of it, and no more.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.sent = 0
        self.failed = 0
        self.usage: Usage | None = None
        self.lost_usage: Usage | None = None
        self.turn_usage: Usage | None = None
        self.cost_usd: float | None = None
        self._calls = 0
        self._turns = 0
        self._sides = 0
        self._seen_tokens = 0
        self.seen_cost = 0.0
        limits_ = (limits.tokens, limits.input_tokens, limits.output_tokens, limits.cost_usd)
        self.spends = any(limit is not None for limit in limits_)

    def exceeded(self, *, turn: bool, tokens: int = 0, cost: float = 0.0) -> LimitFired | None:
        """The budget that leaves no room for another call. `turn`: the call would be a turn. `tokens`, `cost`: what
        open calls have used so far, as far as it was seen."""
        made = self.made()
        made["tokens"] += tokens
        made["output_tokens"] += tokens
        made["cost_usd"] += cost
        for name, unit in UNITS.items():
            limit = getattr(self._limits, name)
            if limit is not None and made[name] >= limit and (turn or name != "turns"):
                return LimitFired(name=name, value=limit, measured=made[name], unit=unit)
        return None

    def made(self) -> dict[str, float]:
        """What was used so far, by budget. What nobody told is not in it."""
        told = total(self.usage, self.lost_usage) or Usage()
        given, got = told.input_tokens or 0, (told.output_tokens or 0) + self._seen_tokens
        return {
            "calls": self._calls,
            "turns": self._turns,
            "tokens": given + got,
            "input_tokens": given,
            "output_tokens": got,
            "cost_usd": (self.cost_usd or 0.0) + self.seen_cost,
        }

    def begin(self, *, turn: bool) -> None:
        """A call is sent on."""
        self.sent += 1
        self._calls += 1
        self._turns += turn
        self._sides += not turn

    def end(
        self,
        *,
        turn: bool,
        served: bool,
        whole: bool,
        usage: Usage | None,
        cost: float | None,
        left: bool = False,
        pieces: int = 0,
    ) -> list[str]:
        """A call is over: `served`, the endpoint began to answer; `whole`, it answered in order; `left`, the harness
        went away; `pieces`, what was seen of its answer.

        Returns flags, among them those of budgets that cannot be held because nothing was told to hold them by.
        """
        self.failed += not whole
        if not served:
            self._calls -= 1
        if not whole and not (left and served):
            # A turn that has to be taken again is taken once; one that the harness took enough of is taken.
            self._turns -= turn
        if whole:
            self.usage = total(self.usage, usage)
            self.turn_usage = total(self.turn_usage, usage if turn else None)
        else:
            self.lost_usage = total(self.lost_usage, usage)
        if cost is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost
        if not served:
            return []
        if usage is None or usage.output_tokens is None:
            self._seen_tokens += pieces
        flags = self._not_held(usage, cost)
        if left and usage is None:
            flags.append("usage_unknown")
        if self._sides > _SIDE + _SIDE_A_TURN * self._turns:
            flags.append("many_side_calls")
        return flags

    def _not_held(self, usage: Usage | None, cost: float | None) -> list[str]:
        limits, flags = self._limits, []
        needed = {
            "input_tokens": limits.tokens is not None or limits.input_tokens is not None,
            "output_tokens": limits.tokens is not None or limits.output_tokens is not None,
        }
        if any(needed[name] and (usage is None or getattr(usage, name) is None) for name in needed):
            flags.append("usage_not_told")
        if limits.cost_usd is not None and cost is None:
            flags.append("cost_not_known")
        return flags
