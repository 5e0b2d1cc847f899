"""Guards: notice a run that goes in circles, or past its limits.

They are told what happened and say what to do; they neither see nor touch messages. What they judge is the full
result of each call, never the shortened context, so that a loop can't hide behind trimming.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast


@dataclass(frozen=True, slots=True)
class Circling:
    """The last turns brought nothing new: the same calls with the same results.

    `turns` is how many they were, `distinct` how many of them differ (1: one call again and again, 2 or 3: a cycle),
    `stop` whether the run should end.
    """

    turns: int
    distinct: int
    stop: bool


class LoopGuard:
    """Notices turns that bring nothing new: the same calls, with the same arguments and the same results, as before.

    One repeated call, cycles of any length and aimless mixtures of old calls are one thing here: a streak of turns
    that were all seen before in this run. Any new call or any new result ends the streak, so polling something that
    changes, or other arguments with an equal result, is no loop. With d different turns in the streak, the model is
    warned after `warn_after` rounds (2·d turns: the same call for the third time) and the run stopped after
    `stop_after` rounds (4·d turns: for the fifth time); long cycles are cut at `longest_streak` turns.

    Each turn costs the same, however long the run is.
    """

    def __init__(self, *, warn_after: int = 2, stop_after: int = 4, longest_streak: int = 14) -> None:
        self._warn_after, self._stop_after, self._longest = warn_after, stop_after, longest_streak
        self._seen: set[bytes] = set()
        self._streak = 0
        self._different: set[bytes] = set()
        self._warned = False

    def turn(self, calls: Iterable[tuple[str, Mapping[str, Any], str]]) -> Circling | None:
        """Take in one turn: (tool name, arguments, result) of each call. Says when to warn (once) and when to stop."""
        prints = [_fingerprint(*call) for call in calls]
        if not self._seen.issuperset(prints):
            self._seen.update(prints)
            self._streak, self._warned = 0, False
            self._different.clear()
            return None
        self._streak += 1
        self._different.add(b"".join(prints))
        distinct = len(self._different)
        if self._streak >= min(self._stop_after * distinct, self._longest):
            return Circling(self._streak, distinct, stop=True)
        if not self._warned and self._streak >= min(self._warn_after * distinct, self._longest // 2):
            self._warned = True
            return Circling(self._streak, distinct, stop=False)
        return None


@dataclass(slots=True)
class Spent:
    """What a run has used up so far: model calls, tokens in and out, US dollars, seconds of work.

    `cost` is None once a call was made whose price is not known.
    """

    steps: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


LimitKind = Literal["steps", "tokens", "cost", "seconds"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use: model calls, tokens (in and out, over all calls), US dollars, seconds. None: no limit.

    Raises ValueError for a limit that is not positive.
    """

    steps: int | None = 50
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for kind in _LIMITS:
            limit = cast("float | None", getattr(self, kind))
            if limit is not None and not limit > 0:
                raise ValueError(f"the limit of {kind} must be more than 0, got {limit!r}")

    def reached(self, spent: Spent) -> LimitKind | None:
        """The first limit that is used up, if one is."""
        for kind in _LIMITS:
            limit = cast("float | None", getattr(self, kind))
            used = cast("float | None", getattr(spent, kind))
            if limit is not None and used is not None and used >= limit:
                return kind
        return None


_LIMITS: tuple[LimitKind, ...] = ("steps", "tokens", "cost", "seconds")


class ReadCache:
    """The results of calls that only read, kept for one run, at most `lasts` seconds.

    A result is not used again where it may be out of date: after anything that may change the world (`forget`); for a
    call without arguments, which asks how things stand now; for a call made twice on end, which is how a model polls;
    and for a tool whose result for the same arguments was seen to change.
    """

    def __init__(self, *, lasts: float = 300.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._lasts, self._clock = lasts, clock
        self._results: dict[str, tuple[str, float]] = {}
        self._last = ""
        self._changing: set[str] = set()

    def get(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """The kept result of an equal call, if it may be used now."""
        key = _key(name, arguments)
        if not arguments or key == self._last or name in self._changing:
            return None
        result, until = self._results.get(key, ("", 0.0))
        return result if self._clock() < until else None

    def put(self, name: str, arguments: Mapping[str, Any], result: str) -> None:
        """Keep the result of a call that was run."""
        key = _key(name, arguments)
        if self._results.get(key, (result, 0.0))[0] != result:
            self._changing.add(name)
        self._results[key] = (result, self._clock() + self._lasts)

    def called(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Note the latest call of the run, whether it was run or answered from here."""
        self._last = _key(name, arguments)

    def forget(self) -> None:
        """Something may have changed: nothing kept is valid any more."""
        self._results.clear()


def canonical_json(value: Any) -> str:
    """JSON text that is equal for equal values: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


_ERROR_START = re.compile(
    r"\s*\W{0,3}(?:\w*(?:error|exception)\b(?![\"']?\s*:\s*(?:null|none|false|\"\"|\[\]|\{\}))"
    r"|errno|traceback|failed|failure|fatal|not found|no such|permission denied|access denied|timed? ?out"
    r"|could not|cannot|can't|unable to|(?:http\S*|status(?: code)?)\W{1,3}[45]\d\d\b"
    r"|[45]\d\d\W{1,2}(?:bad request|unauthorized|forbidden|not found|conflict|gone|too many|internal|bad gateway"
    r"|service unavailable|gateway time)|错误|异常|失败|未找到|找不到|无法|超时)"
    r"|\s*\{.{0,200}?\"(?:status|result|type)\"\s*:\s*\"(?:error|failed|failure)\""
    r"|\s*\{.{0,200}?\"(?:success|ok)\"\s*:\s*false",
    re.IGNORECASE | re.DOTALL,
)
_EMPTY = re.compile(
    r"|null|none|\(\)|n/a|[\"']{2}|nothing (?:was )?found"
    r"|no (?:matching |more )?(?:results?|match(?:es)?|entries|records|data|documents?|items)"
    r"(?: (?:was |were )?(?:found|available))?(?: (?:for|in|matching)\b[^\n.]{0,80})?"
    r"|无|无结果|(?:没有|未)(?:找到|查到|检索到|搜索到)?[^，。\n]{0,20}(?:结果|数据|内容|记录)",
    re.IGNORECASE,
)


def looks_empty(observation: str) -> bool:
    """Whether an observation says nothing: blank, JSON without a value in it, or a bare "no results"."""
    text = observation.strip().rstrip(".。")
    if _EMPTY.fullmatch(text):
        return True
    try:
        value: Any = json.loads(text) if text[:1] in ("[", "{") else text
    except (ValueError, RecursionError):
        return False
    return isinstance(value, list | dict) and _holds_nothing(value)


def _holds_nothing(value: Any, depth: int = 3) -> bool:
    """Whether a JSON value is empty, or all that it holds; a nought beside an empty list counts them."""
    if not isinstance(value, list | dict):
        return value in (None, "")
    parts = list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else cast("list[Any]", value)
    others = [part for part in parts if isinstance(part, bool) or part != 0]
    return not parts or (depth > 0 and bool(others) and all(_holds_nothing(part, depth - 1) for part in others))


def looks_like_error(observation: str) -> bool:
    """Whether an observation begins as error messages do, in English or Chinese, or is JSON that says so."""
    return _ERROR_START.match(observation) is not None


def _key(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name}({canonical_json(arguments)})"


def _fingerprint(name: str, arguments: Mapping[str, Any], result: str) -> bytes:
    """16 bytes for a call and its result. White space in arguments is no difference, nor are the digits of an error:
    the same failure seldom takes the same milliseconds twice."""
    call = re.sub(r"(?:\\[nrt]|\s)+", " ", _key(name, arguments))
    told = re.sub(r"\d+", "0", result) if looks_like_error(result) else result
    return hashlib.blake2b(f"{call}\0{told}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
