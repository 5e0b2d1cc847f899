"""A text of the same length in which every notation has one spelling, so that each rule is written once."""

from __future__ import annotations

import re

_FULL_WIDTH = {chr(0xFF01 + i): chr(0x21 + i) for i in range(94)}
_SAME = {
    "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2007": " ", "\u3000": " ", "\u2005": " ", "\u200a": " ",
    "−": "-", "﹣": "-", "‐": "-", "‑": "-", "—": "–", "―": "–", "～": "~", "〜": "~", "∼": "~",
    "’": "'", "‘": "'", "´": "'", "“": '"', "”": '"', "。": "。", "º": "°", "µ": "μ", "￥": "¥", "￡": "£", "＄": "$",
}  # fmt: skip
_SIMPLE = dict(
    zip(
        "萬億點兩個負幾餘佰仟拾壹貳贰參叁肆伍陸陆柒捌玖貮弍〇對鐘歲後週時間頭塊噸畝攝華圓歐鎊幣錢禮張條隻雙層輛棟戶項種場單顆組隊級輪頁電話號碼編訂帳賬過約達於從將",
        "万亿点两个负几余百千十一二二三三四五六六七八九二二零对钟岁后周时间头块吨亩摄华圆欧镑币钱礼张条只双层辆栋户项种场单颗组队级轮页电话号码编订账账过约达于从将",
        strict=True,
    )
)
_PLAIN = {**_FULL_WIDTH, **_SAME, **_SIMPLE}
_NAMED = re.compile(r"([A-Za-z][\w.-]{0,30})：(?=\d)", re.ASCII)  # PM2.5：35 is a name and its value
_ODD = re.compile(f"[{re.escape(''.join(_PLAIN))}]")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # ECMA-48 colour and cursor sequences of terminals


def plain(text: str) -> str:
    """The text with full-width forms, odd spaces and dashes, formal and traditional Chinese numerals and
    units in their everyday spelling. The length stays the same, so every offset holds in both texts.
    """
    if "\x1b" in text:
        text = _ANSI.sub(_blank, text)
    if text.isascii():
        return text
    return _ODD.sub(_everyday, _NAMED.sub(r"\1;", text) if "：" in text else text)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _everyday(match: re.Match[str]) -> str:
    return _PLAIN[match[0]]
