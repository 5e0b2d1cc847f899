"""The three walk-throughs that people know from ReAct tutorials, each in the reply format its tutorial uses.

Like the research plans, they name what to look for and take every figure from the messages they are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from ..formats.base import FormatName, Language
from . import moves
from .check import Expected
from .reading import find_after, last_number, plain, written
from .scene import Scene, Turn

_ASKED_FACTOR = r"times|乘以"


@dataclass(frozen=True, slots=True)
class Walkthrough:
    """A walk-through in both languages: its task, its reply format, the tools it takes, and how it goes."""

    name: str
    format: FormatName
    tasks: Mapping[Language, str]
    tools: tuple[str, ...]
    figures: tuple[str, ...]
    steps: Callable[[Scene], Turn]

    def fits(self, scene: Scene) -> bool:
        """The task is this one, in either language."""
        return scene.task.startswith(tuple(self.tasks.values()))

    def next_turn(self, scene: Scene) -> Turn:
        """The next step."""
        return self.steps(scene)

    @property
    def expected(self) -> list[Expected]:
        """The figures that a right answer gives, by the packaged documents and sample data."""
        return [Expected("answer", ".", tuple(map(Decimal, self.figures)))]


def walkthrough(name: str) -> Walkthrough:
    """The walk-through of that name.

    Raises:
        ValueError: there is none of that name.
    """
    for one in WALKTHROUGHS:
        if one.name == name:
            return one
    raise ValueError(f"there is no example {name!r}: use one of {', '.join(one.name for one in WALKTHROUGHS)}")


def _everest(scene: Scene) -> Turn:
    say, last = _EVEREST[scene.language], scene.last
    if last is None:
        return Turn(say["search"], (moves.search(say["query"]),))
    result = "\n".join(last.results)
    if last.tool == "search":
        document = moves.document_on("Everest|珠穆朗玛峰", result)
        return Turn(say["fetch"], (moves.fetch(document),)) if document else Turn(answer=say["nothing"])
    latest = find_after(say["latest"], "m|米", scene.text)
    earlier = find_after(say["earlier"], "m|米", scene.text)
    seen = [say["seen"].format(plain(earlier))] if earlier is not None else []
    page = moves.next_page(result) if last.tool == "fetch" else None
    if page and None in (latest, earlier):
        document = str(last.turn.calls[0][1].get("document"))
        return Turn(" ".join([say["read_on"], *seen]), (moves.fetch(document, page),))
    if last.tool == "fetch":
        return Turn(" ".join([say["lookup"], *seen]), (moves.lookup(say["words"]),))
    if latest is None or earlier is None:
        return Turn(answer=say["nothing"])
    if last.tool == "lookup":
        return Turn(say["calculate"], (moves.calculate(f"{plain(latest)} - {plain(earlier)}"),))
    return Turn(say["done"], answer=say["answer"].format(plain(latest), plain(earlier), last_number(result)))


def _manual(scene: Scene) -> Turn:
    say = _MANUAL[scene.language]
    last = scene.last.tool if scene.last else ""
    recommended = find_after(say["label"], "", scene.text)
    if not last:
        return Turn(say["read"], (("read_manual", {"topic": say["topic"]}),))
    factor = find_after(_ASKED_FACTOR, "", scene.task)
    if recommended is None or factor is None:
        return Turn(answer=say["nothing"])
    if last == "read_manual":
        return Turn(say["calculate"], (moves.calculate(f"{plain(recommended)} * {plain(factor)}"),))
    if last == "calculator":
        result = last_number("\n".join(scene.last.results) if scene.last else "") or Decimal(0)
        body = say["body"].format(written(recommended), plain(factor), written(result))
        return Turn(say["save"], (moves.save_note(say["title"], body),))
    saved = scene.last.turn.calls[0][1].get("body", "") if scene.last else ""
    return Turn(say["done"], answer=f"{saved} {say['saved']}")


def _weather(scene: Scene) -> Turn:
    say = _WEATHER[scene.language]
    if scene.last is None:
        return Turn(say["look"], tuple(("get_weather", {"city": city}) for city in say["cities"].split("|")))
    if scene.last.tool == "get_weather":
        first, second = (find_after(say["label"], "°C", result) or Decimal(0) for result in scene.last.results[:2])
        said = say["calculate"].format(plain(first), plain(second))
        warm, cold = max(first, second), min(first, second)
        return Turn(said, (moves.calculate(f"{plain(warm)} - {plain(cold)}"),))
    difference = last_number("\n".join(scene.last.results)) or Decimal(0)
    return Turn(answer=f"{scene.last.turn.thought} {say['answer'].format(plain(difference))}")


_EVEREST: dict[Language, dict[str, str]] = {
    "en": {
        "search": "I need the surveys of Mount Everest.",
        "query": "Mount Everest height survey",
        "fetch": "The document on Mount Everest should have both heights.",
        "read_on": "It goes on.",
        "seen": "Used in 2010: {} m.",
        "lookup": "Which height was in use in 2010?",
        "words": "height officially used in 2010",
        "latest": r"latest\s+survey",
        "earlier": r"used\s+in\s+2010",
        "calculate": "I have both heights; now the difference.",
        "done": "I know the answer.",
        "answer": "By the latest survey Mount Everest is {0} m high, {2} m more than the {1} m that were used in 2010.",
        "nothing": "I did not find both heights.",
    },
    "zh": {
        "search": "先查找珠穆朗玛峰的测量资料。",
        "query": "珠穆朗玛峰 高程 测量",
        "fetch": "关于珠穆朗玛峰的文档应该有两个高程。",
        "read_on": "继续往下读。",
        "seen": "2010年官方使用的高程：{}米。",
        "lookup": "2010年使用的是哪个高程？",
        "words": "2010年官方使用的珠峰高程",
        "latest": "最新高程",
        "earlier": "年官方使用",
        "calculate": "两个高程都有了，计算差值。",
        "done": "已经知道答案。",
        "answer": "按最新测量，珠穆朗玛峰高 {0} 米，比2010年使用的 {1} 米高 {2} 米。",
        "nothing": "没有找到两个高程。",
    },
}
_MANUAL: dict[Language, dict[str, str]] = {
    "en": {
        "read": "The manual says which concurrency is recommended.",
        "topic": "recommended concurrency",
        "label": r"recommended\s+concurrency\s+is",
        "calculate": "Now the calculation.",
        "save": "Save it to the notes.",
        "title": "Recommended concurrency",
        "body": "The recommended concurrency is {0}; times {1} that is {2}.",
        "done": "All is done.",
        "saved": "It is saved in the notes.",
        "nothing": "The manual does not give the recommended concurrency.",
    },
    "zh": {
        "read": "手册里写着推荐的并发数。",
        "topic": "推荐并发数",
        "label": "推荐并发数[为是]",
        "calculate": "接着计算。",
        "save": "保存到笔记。",
        "title": "推荐并发数",
        "body": "推荐并发数是 {0}，乘以 {1} 等于 {2}。",
        "done": "全部完成。",
        "saved": "已保存到笔记。",
        "nothing": "手册里没有推荐的并发数。",
    },
}
_WEATHER: dict[Language, dict[str, str]] = {
    "en": {
        "look": "Look up both cities.",
        "cities": "Beijing|Shanghai",
        "label": "temperature",
        "calculate": "It is {0} °C in Beijing and {1} °C in Shanghai.",
        "answer": "The difference is {0} °C (sample data).",
    },
    "zh": {
        "look": "查询两座城市的天气。",
        "cities": "北京|上海",
        "label": "气温|温度",
        "calculate": "北京 {0} °C，上海 {1} °C。",
        "answer": "相差 {0} °C（示例数据）。",
    },
}

WALKTHROUGHS = (
    Walkthrough(
        "weather",
        "tools",
        {
            "en": "How warm is it in Beijing and in Shanghai now, and what is the difference?",
            "zh": "北京和上海现在的气温各是多少？相差多少？",
        },
        ("get_weather", "calculator"),
        ("25", "28", "3"),
        _weather,
    ),
    Walkthrough(
        "everest",
        "react",
        {
            "en": "How high is Mount Everest by the latest survey, and how much more is that than in 2010?",
            "zh": "按最新测量，珠穆朗玛峰有多高？比2010年的数字高多少？",
        },
        ("search", "fetch", "lookup", "calculator"),
        ("8848.86", "8844.43", "4.43"),
        _everest,
    ),
    Walkthrough(
        "manual",
        "react",
        {
            "en": "Read the recommended concurrency in the manual, times 2.5, and save the result to the notes.",
            "zh": "阅读手册中的推荐并发数，乘以 2.5，并把结果保存到笔记。",
        },
        ("read_manual", "calculator", "save_note"),
        ("128", "320"),
        _manual,
    ),
)
