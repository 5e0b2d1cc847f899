"""What may be replayed: our policies by name or as objects, and anything with `add` and `context`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Protocol, cast

from ..facts import Fact, WorkingFacts
from ..journal import Journal
from ..policies import Clamp, Fold, KeepAll, KeepEnds, KeepLast, MaskObservations, Policy, Tiered
from ..short_term import ShortTermMemory
from ..tokens import TokenCounter


class Keeper(Protocol):
    """What makes contexts. Where `add` gives back a ref and there is a `lookup`, `reachable` is measured with them."""

    def add(self, message: dict[str, Any], /) -> object: ...
    def context(self) -> list[dict[str, Any]]: ...


Factory = Callable[[int], Keeper]
Contestant = str | Policy | Factory

# Each name with its class and the parameter that a bare number sets.
_NAMED: dict[str, tuple[type[Policy], str | None]] = {
    "keep-all": (KeepAll, None),
    "keep-last": (KeepLast, "steps"),
    "keep-ends": (KeepEnds, "first"),
    "clamp": (Clamp, "share"),
    "mask": (MaskObservations, "keep"),
    "fold": (Fold, None),
    "tiered": (Tiered, None),
}
NAMES = tuple(_NAMED)


def named_policy(name: str) -> Policy:
    """The policy that a name stands for: `tiered`, `keep-last:10`, `fold:high=0.9,low=0.4`.

    Raises:
        ValueError: the name, or a parameter in it, is unknown or out of range.
    """
    kind, _, settings = name.partition(":")
    if kind not in _NAMED:
        raise ValueError(f"unknown policy {name!r}: expected one of {', '.join(NAMES)}, with settings after a colon")
    made, main = _NAMED[kind]
    known = {field.name: str(field.type) for field in fields(cast(Any, made))}
    given: dict[str, float] = {}
    for setting in filter(None, settings.split(",")):
        key, equals, number = setting.rpartition("=")
        key = key if equals else main or ""
        if key not in known:
            raise ValueError(f"policy {name!r}: no setting {key or setting!r}; {kind} has {', '.join(sorted(known))}")
        try:
            given[key] = float(number) if "." in number else int(number)
        except ValueError as error:
            raise ValueError(f"policy {name!r}: {number!r} is no number") from error
        wanted = "number" if "float" in known[key] else "whole number"
        if given[key] < 0 or (wanted == "whole number" and "." in number):
            raise ValueError(f"policy {name!r}: {key} must be a {wanted} that is not negative, got {number}")
    return made(**given)


def label(contestant: Contestant) -> str:
    """What a contestant is called in tables."""
    if isinstance(contestant, str):
        return contestant
    own = getattr(contestant, "label", None) or getattr(contestant, "__name__", None)
    return own if isinstance(own, str) else repr(contestant)


def described(contestant: Contestant) -> str:
    """What a contestant is, with all its settings where it is a policy of ours."""
    return repr(named_policy(contestant) if isinstance(contestant, str) else contestant)


def labelled(contestants: Sequence[Contestant] | Mapping[str, Contestant]) -> dict[str, Contestant]:
    """Contestants by what they are called; names are checked at once.

    Raises:
        ValueError: there is no contestant, or something that is none, a name is unknown, or two are called the same.
    """
    if isinstance(contestants, str) or not hasattr(contestants, "__iter__"):
        raise ValueError(f"policies must be a list or a dict: give [{contestants!r}]")
    pairs = list(contestants.items()) if isinstance(contestants, Mapping) else [(label(c), c) for c in contestants]
    out = dict(pairs)
    if not out:
        raise ValueError(
            f"no policies are given: give a list of some, like ['tiered']; names of ours are {', '.join(NAMES)}"
        )
    if len(out) != len(pairs):
        raise ValueError(
            f"two policies are called the same in {[name for name, _ in pairs]}: give them as a dict with names"
        )
    for contestant in out.values():
        _policy(contestant)
    return out


class _Unwritten(Journal):
    """Takes entries and keeps none: a replay is never resumed."""

    def append(self, run: str, kind: str, body: Mapping[str, Any]) -> int:
        """Drop the entry."""
        return 0


def make(contestant: Contestant, counter: TokenCounter, read: Callable[..., list[Fact]]) -> Factory:
    """A factory of fresh keepers; those of ours count with `counter`, read facts with `read`, and keep no journal.

    Raises:
        ValueError: a policy's name is unknown, or it is no contestant.
    """
    policy = _policy(contestant)
    if policy is None:
        return cast(Factory, contestant)
    return lambda budget: ShortTermMemory(
        budget, policy=copy.deepcopy(policy), counter=counter, facts=WorkingFacts(read), journal=_Unwritten()
    )


def _policy(contestant: Contestant) -> Policy | None:
    """The policy of ours that a contestant is; None for what makes a keeper."""
    if isinstance(contestant, str):
        return named_policy(contestant)
    if isinstance(contestant, type) and hasattr(contestant, "compact"):
        return cast(Callable[[], Policy], contestant)()
    if hasattr(contestant, "compact"):
        return cast(Policy, contestant)
    if not callable(contestant) and hasattr(contestant, "add") and hasattr(contestant, "context"):
        raise ValueError(
            f"{contestant!r} was made for one run: give the class or a function that makes one, not an instance"
        )
    if not callable(contestant):
        raise ValueError(f"{contestant!r} is no policy: give a name, a policy, or what makes one from a budget")
    return None
