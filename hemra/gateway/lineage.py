"""Who said what after what in a trial: a tree, because sub-agents and compaction begin other conversations.

A harness sends the whole conversation with every request, in its own rendering of it: arguments as other JSON, blanks
cut off, reasoning left out, ids of its own. A place in the tree is found by content and by what stood before it, so an
answer is known again when it comes back, and a result belongs to the call before it even where ids are used twice.
Of what is said only digests are kept here, and every request is walked once: its work grows with its length.
System messages are no places: many harnesses change them from request to request.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter

import msgspec

from hemra.gateway.normal import Message, ToolCall

#: Thoughts within the text, which some harnesses take out of it before they send it back.
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)

#: All white space there is.
_BLANKS = tuple(chr(code) for code in range(0x3001) if chr(code).isspace())


class Made(msgspec.Struct, kw_only=True, eq=False):
    """A call that a model of this trial wrote. `call` has the id that it has in the record, `wire` the provider's.

    `told`: it is in the record as called; `returned`: its result is too. `home` is the answer that it stands in.
    `aside`: a side call wrote it, so that it is no evidence of what the agent did.
    """

    call: ToolCall
    wire: str
    turn: int | None
    aside: bool = False
    told: bool = False
    returned: bool = False
    home: Place | None = None


class Place:
    """A message after the messages before it.

    `form` is how it was sent last, without what it says, of which `mark` is left; `said` is how its model wrote it
    (null: no model of this trial did), with its calls, and with `words` in the place of its text; `main` whether in a
    turn, and in which (`turn`). `own` are the calls of `said`,
    `made` those of `form`, in their order, null where they are not this trial's. `joined` is the call that a result
    answers. `link` is the context before it and the one with it, as they were last.
    """

    __slots__ = (
        "children", "form", "joined", "key", "latest", "link", "made", "main", "mark", "own", "parent", "said",
        "turn",
    )  # fmt: skip

    def __init__(self, parent: Place | None, key: str, form: Message | None) -> None:
        self.parent = parent
        self.key = key
        self.form = _slim(form) if form is not None else None
        self.mark = _mark(form) if form is not None else 0
        self.said: Message | None = None
        self.main = False
        self.turn: int | None = None
        self.own: tuple[Made, ...] = ()
        self.made: tuple[Made | None, ...] = ()
        self.joined: Made | None = None
        self.link = ("", "")
        self.children: dict[str, Place] = {}
        self.latest: Place | None = None

    def take(self, form: Message) -> None:
        """It came back in this form: its ids are the ones that results will name."""
        self.form, self.mark = _slim(form), _mark(form)
        self.join()

    def join(self) -> None:
        """Find its calls among those that its model wrote."""
        if self.said is None or self.form is None:
            return
        theirs, ours = [c.id for c in self.form.calls], {c.id: n for n, c in enumerate(self.said.calls)}
        if len(ours) == len(self.own) and ours.keys() >= set(theirs):
            self.made = tuple(self.own[ours[each]] for each in theirs)
        else:
            self.made = tuple(self.own[n] if n < len(self.own) else None for n in range(len(theirs)))


class Branch:
    """The calls on the way to a place, by the id that a result names: the nearest, and how often it was answered.

    Calls of one turn that share an id, or have none, are answered in their order.
    """

    def __init__(self, end: Place | None = None) -> None:
        self._calls: dict[str, tuple[Place, list[int]]] = {}
        self._answered: Counter[str] = Counter()
        way = []
        while end is not None:
            way.append(end)
            end = end.parent
        for place in reversed(way):
            self.add(place)

    def add(self, place: Place) -> None:
        """The way goes on to this place."""
        form = place.form
        if form is None:
            return
        if form.answers is not None:
            self._answered[form.answers] += 1
        elif form.calls:
            same: dict[str, list[int]] = {}
            for number, call in enumerate(form.calls):
                same.setdefault(call.id, []).append(number)
            # A result without an id belongs to the last calls, or to none.
            if "" not in same:
                same[""] = list(range(len(form.calls)))
            for wire, numbers in same.items():
                self._calls[wire] = (place, numbers)
                self._answered[wire] = 0

    def answers(self, wire: str) -> Made | None:
        """The call that a result with this id answers, if it stands here."""
        found = self._calls.get(wire)
        if found is None:
            return None
        place, same = found
        number = same[min(self._answered[wire], len(same) - 1)]
        return place.made[number] if number < len(place.made) else None


class Lineage:
    """The tree of one trial, and all calls in it."""

    def __init__(self) -> None:
        self.root = Place(None, "", None)
        self.places = 0
        self._by_wire: dict[str, list[Made]] = {}
        self._texts: dict[str, str] = {}

    def step(self, place: Place, message: Message, branch: Branch) -> Place:
        """The place of `message` after `place`: one that is known, or a new one.

        The message that came here last is compared first: so a conversation that grows is walked without a
        digest for what is old. `branch` is the way to `place`, and then to what is returned.
        """
        child = place.latest
        if child is None or child.mark != _mark(message):
            child = self._child(place, message, branch)
            place.latest = child
        branch.add(child)
        return child

    def known(self, place: Place, message: Message) -> Place | None:
        """The place of `message` after `place` where there is one. Changes nothing."""
        if place.latest is not None and place.latest.mark == _mark(message):
            return place.latest
        child = place.children.get(message.key)
        return _echoed(place, message) if child is None and message.role == "assistant" else child

    def say(self, place: Place, message: Message, *, main: bool) -> tuple[Place, bool]:
        """The place of a model's answer; false where the same answer was given there before."""
        key = message.key
        child = place.children.get(key)
        if child is not None and child.said is not None:
            return child, False
        if child is None:
            child = place.children[key] = Place(place, key, message)
            self.places += 1
        child.form, child.mark = _slim(message), _mark(message)
        child.said = msgspec.structs.replace(message, text=words(message.text), reasoning=None)
        child.main = main
        place.latest = child
        return child, True

    def own(self, place: Place, made: tuple[Made, ...]) -> None:
        """These are the calls of an answer."""
        place.own = made
        for each in made:
            each.home = place
            if each.wire:
                self._by_wire.setdefault(each.wire, []).append(each)
        if place.said is not None and not place.said.calls and place.said.text:
            self._texts.setdefault(place.said.text, place.key)
        place.join()

    def _child(self, place: Place, message: Message, branch: Branch) -> Place:
        key = message.key
        child = place.children.get(key)
        if child is None and message.role == "assistant":
            child = _echoed(place, message)
        if child is not None:
            child.take(message)
            return child
        child = Place(place, key, message)
        self.places += 1
        if message.role == "assistant":
            self._recognise(child, message)
        elif message.answers is not None:
            child.joined = branch.answers(message.answers) or self._only(message.answers)
        place.children[key] = child
        return child

    def _recognise(self, place: Place, message: Message) -> None:
        """An answer of this trial after another history than its own: compacted, or with an edited beginning."""
        place.made = tuple(self._find(call) for call in message.calls)
        if not message.calls:
            place.key = self._texts.get(words(message.text), place.key)
            return
        homes = [each.home if each else None for each in place.made]
        home = homes[0]
        if home is None or home.said is None or any(each is not home for each in homes):
            return
        if len(homes) == len(home.own) and words(message.text) == home.said.text:
            place.key = home.key

    def _only(self, wire: str) -> Made | None:
        """The call with this id, where it is the only one: some harnesses leave the call itself out."""
        found = self._by_wire.get(wire, [])
        return found[0] if len(found) == 1 else None

    def _find(self, call: ToolCall) -> Made | None:
        """The one call that this can be; null where ids were used twice for the same thing."""
        found = [each for each in self._by_wire.get(call.id, ()) if each.call.name == call.name]
        if len(found) > 1:
            found = [each for each in found if each.call.arguments == call.arguments]
        return found[0] if len(found) == 1 else None


def _echoed(place: Place, message: Message) -> Place | None:
    """The answer given at `place` that this message renders, the latest first.

    Ids of calls alone decide where nothing fits better: what a harness mends in text or arguments is not said anew.
    """
    answers = [child for child in reversed(place.children.values()) if child.said is not None]
    for alike in (_same_words, _same_calls):
        for child in answers:
            if child.said is not None and alike(child.said, message):
                return child
    return None


def _same_words(said: Message, message: Message) -> bool:
    return _plain_calls(said) == _plain_calls(message) and said.text == words(message.text)


def _same_calls(said: Message, message: Message) -> bool:
    theirs = {call.id for call in message.calls}
    return bool(theirs) and "" not in theirs and theirs <= {call.id for call in said.calls}


def _plain_calls(message: Message) -> list[tuple[str, str]]:
    return [(call.name, json.dumps(call.arguments, sort_keys=True)) for call in message.calls]


def squeezed(text: object) -> str:
    """A message's text without thoughts and white space: what is left of it when it is rendered again."""
    if not isinstance(text, str):
        text = json.dumps(text, sort_keys=True) if text else ""
    text = _THOUGHTS.sub("", text)
    for blank in _BLANKS:  # not by splitting it: of a long text that would be millions of words at a time
        text = text.replace(blank, "")
    return text


def words(text: object) -> str:
    """A digest of a text as `squeezed` leaves it, empty where that is: no text is kept only to be compared."""
    left = squeezed(text)
    return hashlib.sha256(left.encode("utf-8", "surrogatepass")).hexdigest() if left else ""


def _slim(form: Message) -> Message:
    """A message without what it says: what is needed to join calls and results."""
    calls = tuple(ToolCall(id=call.id, name=call.name, arguments=None) for call in form.calls)
    return Message(role=form.role, text=None, calls=calls, answers=form.answers, ok=form.ok)


def _mark(form: Message) -> int:
    """What tells a message from others of this process, at the speed of reading it."""
    calls = tuple((call.id, call.name, _hashed(call.arguments)) for call in form.calls)
    return hash((form.role, _hashed(form.text), calls, form.answers, form.ok))


def _hashed(value: object) -> int:
    """A hash of a value of JSON. A number's is of its spelling: 1, 1.0 and true hash alike, and so do -1 and -2."""
    if isinstance(value, str):
        return hash(value)
    if isinstance(value, dict):
        return hash((dict, *((name, _hashed(each)) for name, each in value.items())))
    if isinstance(value, list):
        return hash((list, *map(_hashed, value)))
    return hash((type(value), repr(value)))
