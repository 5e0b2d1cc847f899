"""The demo's tasks: a long comparison, and a question that its outcome answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..formats.base import Language
from . import stations
from .check import Expected, expected_comparison, expected_followup


@dataclass(frozen=True, slots=True)
class DemoTask:
    """A task, and what a right answer must say by the documents in a folder."""

    text: str
    expected: Callable[[Path], list[Expected]]


_COMPARE = {
    "en": (
        "Compare these hydropower stations: {}.\n"
        "For each one, find the installed capacity (总装机容量) and the average annual generation (多年平均发电量) in "
        "the documents; there is one document for each. Then calculate each capacity factor in percent, to one decimal "
        "place: the generation as a share of what the capacity would give in a year of 8,760 hours. Add up capacity "
        "and generation and calculate the capacity factor of all together. Save the table as a note and answer with "
        "it: a line for each station, as in 'Name: capacity MW, generation TWh, factor %', then a line with the total."
    ),
    "zh": (
        "比较下列水电站：{}。\n"
        "在文档中查找每座电站的总装机容量和多年平均发电量，每座电站有一篇文档。然后计算容量系数（百分数，保留一位小数）："
        "发电量与全年 8,760 小时满发电量之比。把装机容量和发电量分别相加，并求合计的容量系数。"
        "把表格存为笔记并作答：每行一座电站，写成“名称: 装机容量 MW, 发电量 TWh, 容量系数 %”，最后一行写合计。"
    ),
}
_FOLLOW_UP = {
    "en": (
        "Of the hydropower stations compared before: how many TWh a year more would {} generate at the capacity factor "
        "of {}, and how many percent of the generation of {} would that be? A year has 8,760 hours; round to one "
        "decimal place. Save the answer as a note."
    ),
    "zh": (
        "前面比较过各水电站的总装机容量、多年平均发电量和容量系数。如果{}达到{}的容量系数，每年可以多发多少 TWh？"
        "这相当于{}年发电量的百分之几？"
        "一年按 8,760 小时计算，保留一位小数。把答案存为笔记。"
    ),
}
_NAMES: dict[Language, Sequence[str]] = {"en": stations.EN, "zh": stations.ZH}
_ASKED_FOR: dict[Language, tuple[str, str, str]] = {
    "en": ("Hoover Dam", "Churchill Falls", "Itaipu"),
    "zh": ("三峡", "向家坝", "白鹤滩"),
}


def comparison(language: Language) -> DemoTask:
    """The first task: more than forty steps in English, fewer with the Chinese documents alone."""
    names, between = _NAMES[language], "; " if language == "en" else "；"
    return DemoTask(_COMPARE[language].format(between.join(names)), lambda folder: expected_comparison(names, folder))


def follow_up(language: Language) -> DemoTask:
    """The second task."""
    asked = _ASKED_FOR[language]
    return DemoTask(_FOLLOW_UP[language].format(*asked), lambda folder: expected_followup(*asked, folder))
