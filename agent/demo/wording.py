"""What the stand-in says while it works, in English and Chinese."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..formats.base import Language
from .reading import NUMBER


@dataclass(frozen=True, slots=True)
class Wording:
    """The sentences of one language; `{}` take names and figures."""

    find: str
    read: str
    look_up: str
    calculate: str
    so_far: str
    add: str
    total: str
    note: str
    title: str
    totals: str
    ranking: str
    missing: str
    factor: str
    gain: str
    share: str
    gained_title: str
    gained: str

    @property
    def calculated_with(self) -> re.Pattern[str]:
        """Finds the two figures in a thought made with `calculate` or `total`."""
        return re.compile(rf"({NUMBER}) MW, ({NUMBER}) TWh")


_EN = Wording(
    find="Find the document on {}.",
    read="Read {} for {}.",
    look_up="The {} of {} is not in sight; look it up.",
    calculate="{}: {} MW, {} TWh.",
    so_far="So far: ",
    add="Add up capacity and generation.",
    total="All together: {} MW, {} TWh.",
    note="Save the result.",
    title="Capacity factors of the hydropower stations:",
    totals="Total: {} MW, {} TWh, capacity factor {} %.",
    ranking="Used most: {} with {} %. Used least: {} with {} %.",
    missing="Not found: {}.",
    factor="The capacity factor of {}.",
    gain="What {} would gain.",
    share="The gain is {} TWh; its share.",
    gained_title="Gain at a higher capacity factor",
    gained="At the capacity factor of {1}, {0} would generate {3} TWh a year more. "
    "That is {4} % of the generation of {2}.",
)

_ZH = Wording(
    find="查找{}的文档。",
    read="阅读 {}，了解{}。",
    look_up="上下文中看不到{1}的{0}，回查一下。",
    calculate="{}: {} MW, {} TWh。",
    so_far="目前结果：",
    add="把装机容量和发电量分别相加。",
    total="合计：{} MW, {} TWh。",
    note="保存结果。",
    title="各水电站的容量系数：",
    totals="合计：{} MW, {} TWh，容量系数 {} %。",
    ranking="利用最充分：{}，{} %。利用最少：{}，{} %。",
    missing="未找到：{}。",
    factor="{}的容量系数。",
    gain="{}可以多发多少电。",
    share="多发 {} TWh，求它所占的比例。",
    gained_title="容量系数提高后的收益",
    gained="如果{0}达到{1}的容量系数，每年可以多发 {3} TWh，相当于{2}年发电量的 {4} %。",
)


def wording(language: Language) -> Wording:
    """The sentences of that language."""
    return _ZH if language == "zh" else _EN
