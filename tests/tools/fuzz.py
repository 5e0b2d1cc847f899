"""Coverage-guided fuzzing of what strangers write: expressions, arguments, pages.

    python tests/tools/fuzz.py calculator|arguments|html [options of libFuzzer, such as -runs=100000]

For each input: nothing but `ToolError` is raised, and that in one line; it takes less than a second of processor time;
and nothing is run, opened or connected to, as the interpreter's audit events tell (PEP 578). What fails is kept as a
file in the current folder; named as an option, it is run again. Needs the extra `fuzz` (atheris).
"""

import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["carryforward.tools", "trafilatura"]):
    import trafilatura  # noqa: F401 - loaded late by the tool, and then not instrumented
    from carryforward.tools import Tool, ToolError
    from carryforward.tools.arguments import fit_arguments, usage
    from carryforward.tools.calculator import calculate
    from carryforward.tools.calculator_functions import CONSTANTS, FUNCTIONS
    from carryforward.tools.fetch_page import page_text
    from carryforward.tools.web_client import Page

_SECONDS = 1.0
_ENDLESS = 60  # seconds by the clock, after which libFuzzer ends an input that does not come back
_ACTS = ("exec", "compile", "import", "open", "os.", "subprocess.", "socket.", "ctypes.", "shutil.", "urllib.")
_watched: list[str] = []
"""The audit events that the input now running may not cause; none between two inputs."""


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched and event.startswith(tuple(_watched)):
        forbidden = f"{event} {arguments!r:.200}"
        _watched.clear()
        raise AssertionError(f"the input caused {forbidden}")


def _check(function: Callable[[], Any], watched: tuple[str, ...] = _ACTS) -> Any:
    """What the function returns, or None where it refuses the input as it should."""
    _watched[:] = watched
    started = time.thread_time()
    try:
        return function()
    except ToolError as error:
        assert len(str(error).splitlines()) == 1, f"the refusal is not one line: {error!r}"
        assert len(str(error)) < 4_000, f"the refusal has {len(str(error)):,} characters"
        return None
    finally:
        _watched.clear()
        took = time.thread_time() - started
        assert took < _SECONDS, f"the input took {took:.1f} s"


# --- the calculator


def calculator(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    answer = _check(lambda: calculate(text))
    assert answer is None or set(answer) <= set("0123456789.-+e"), f"{answer!r} is not a number"


# --- arguments

_LIST = {"type": "array", "items": {"type": "integer"}, "maxItems": 5}
_POINT = {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x"]}
_TREE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "below": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
}
_NEST = {"type": ["array", "integer"], "items": {"$ref": "#/$defs/nest"}}
_KINDS: list[Any] = [
    *({"type": kind} for kind in ("string", "integer", "number", "boolean", "null", "array", "object")),
    {"type": ["integer", "null"]},
    {"type": ["number", "string"]},
    {"enum": ["fast", "slow", 1, None]},
    {"anyOf": [_LIST, {"type": "string", "maxLength": 5}]},
    {"oneOf": [_POINT, {"type": "boolean"}]},
    {"type": "string", "pattern": "^[a-z]+$"},
    {"type": "object", "additionalProperties": {"type": "integer"}},
    {"type": "array", "prefixItems": [{"type": "integer"}], "uniqueItems": True},
    {"$ref": "#/$defs/tree"},
    {"$ref": "#/$defs/nest"},
    {"$ref": "#/$defs/loop"},
    {"$ref": "#/$defs/none"},
    {"$ref": "http://127.0.0.1:9/schema"},
    {"type": "array", "items": [{"type": "integer"}]},
    {"type": "int"},
    {"pattern": "("},
    _LIST,
    _POINT,
    {},
    True,
]
_KEYS = ["a", "b", "c", "x", "y", "name", "below"]
_TEXTS = ["", "1", "-2.5", "1e400", "true", "NULL", "fast", "[1, 2]", '{"x": "3"}', "[" * 50, "9" * 400, "nan", "１"]
_TOOLS = [
    Tool(
        "tool",
        "",
        {
            "$schema": draft,
            "type": "object",
            "properties": {"a": kind, "b": other},
            "required": ["b"],
            "$defs": {"tree": _TREE, "nest": _NEST, "loop": {"$ref": "#/$defs/loop"}},
        },
        print,
    )
    for draft in ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema")
    for kind, other in zip(_KINDS, _KINDS[7:] + _KINDS[:7], strict=True)
]


def arguments(data: bytes) -> None:
    dice = atheris.FuzzedDataProvider(data)
    tool = dice.PickValueInList(_TOOLS)
    sent = {dice.PickValueInList(_KEYS[:3]): _value(dice, 4) for _ in range(dice.ConsumeIntInRange(0, 3))}
    before = json.dumps(sent)
    fitted = _check(lambda: fit_arguments(tool, sent))
    assert json.dumps(sent) == before, "the caller's arguments were changed"
    assert "\n" not in usage(tool)
    if fitted is not None:
        again = fit_arguments(tool, fitted)
        assert json.dumps(again) == json.dumps(fitted), f"fitted twice, {fitted} becomes {again}"


def _value(dice: Any, depth: int) -> Any:
    """A JSON value, or JSON written as a text, as models send it."""
    match dice.ConsumeIntInRange(0, 9 if depth else 6):
        case 0:
            return dice.PickValueInList([None, True, False])
        case 1:
            return dice.ConsumeInt(8)
        case 2:
            return dice.ConsumeFloat()
        case 3:
            return dice.ConsumeUnicode(12)
        case 4 | 5:
            return dice.PickValueInList(_TEXTS)
        case 6:
            return dice.PickValueInList([10**300, 1.0, 2.0**60, "x" * 5_000, float("inf"), float("nan")])
        case 7:
            return [_value(dice, depth - 1) for _ in range(dice.ConsumeIntInRange(0, 3))]
        case 8:
            count = dice.ConsumeIntInRange(0, 3)
            return {dice.PickValueInList(_KEYS): _value(dice, depth - 1) for _ in range(count)}
        case _:
            return json.dumps(_value(dice, depth - 1))


# --- pages

_TYPES = ["text/html", "application/xhtml+xml", ""]
_CHARSETS = [None, None, "utf-8", "gb18030", "utf-16", "utf-7", "idna", "hex", "no-such"]
_WORDS = """
    html head title meta body main article nav section div p span a b i em h1 h2 ul ol li dl dt dd table thead
    tbody tr td th pre code blockquote br hr img script style svg form select option iframe template noscript
"""
_TAGS = re.findall(r"\w+", _WORDS)
_OTHERS = ["<!--", "-->", "<![CDATA[", "]]>", "<!DOCTYPE html>", "<?xml version='1.0'?>", "&#0;", "&amp;", "&#x110000;"]
_ATTRIBUTES = ["href=", "src=", "class=", "charset=", "colspan='999999999'", "rowspan='9'", "content=", "='http://["]
_HTML_SEEDS = [
    "<html><head><meta charset=utf-8><title>T</title></head><body><nav>Menu</nav><main><h1>Tides</h1><p>The tide "
    "rises 16.3 m twice a day.</p><table><tr><th>Bay<th>Range<tr><td>Fundy<td>16.3 m</table></main></body></html>",
    "<ul><li>one<ul><li>two</ul></ul><pre><code>x = 1</code></pre><a href='http://x.test/y'>link</a><img src=i.png>",
    '<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><html><body><p>潮差 &e; and more words</p></body></html>',
]


def html(data: bytes) -> None:
    """A page of the bytes, some of it repeated, so that what grows faster than its input shows."""
    dice = atheris.FuzzedDataProvider(data)
    kind, charset = dice.PickValueInList(_TYPES), dice.PickValueInList(_CHARSETS)
    times = dice.PickValueInList([1] * 40 + [10] * 5 + [100, 1_000])
    body = dice.ConsumeBytes(2_000)
    repeated = dice.ConsumeBytes(60) * times
    page = Page("http://x.test/", kind, charset, body + repeated, cut=False)
    text = _check(lambda: page_text(page), ("os.", "subprocess.", "socket.", "ctypes.", "shutil.", "urllib.Request"))
    assert text is None or "root:" not in text or b"root:" in page.body, "a file of this machine is in the text"


TARGETS: dict[str, tuple[Callable[[bytes], None], list[str], list[str]]] = {
    # the test, what libFuzzer may insert, and inputs to begin with
    "calculator": (
        calculator,
        [*FUNCTIONS, *CONSTANTS, "**", "//", " of ", "1e3", "×", "÷", "√", "²", "⁻", "％", "１", "，", "__", "()", ","],
        ["15% of 80", "(8848.86 - 8844.43) * 2", "sqrt(2)^3", "2^-3!", "1,250.5 × 2", "log(9, 3) // 7 % 3", "5²"],
    ),
    "arguments": (arguments, _TEXTS, ["\1\2\3" * 9, "abc" * 20]),
    "html": (html, [f"<{tag}>" for tag in _TAGS] + [f"</{tag}>" for tag in _TAGS] + _OTHERS + _ATTRIBUTES, _HTML_SEEDS),
}


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"usage: {sys.argv[0]} {'|'.join(TARGETS)} [options of libFuzzer]")
    test, words, seeds = TARGETS[sys.argv[1]]
    for seed in seeds:  # imports what is imported at the first call
        test(seed.encode())
    sys.addaudithook(_audit)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        for number, seed in enumerate(seeds):
            (corpus / str(number)).write_bytes(seed.encode())
        dictionary = Path(folder, "words")
        dictionary.write_text("".join(f'"{_escaped(word)}"\n' for word in words if word))
        options = [f"-dict={dictionary}", f"-timeout={_ENDLESS}", "-max_len=4096", *sys.argv[2:]]
        atheris.Setup([sys.argv[0], *options, str(corpus)], test)
        atheris.Fuzz()


def _escaped(word: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word.encode()[:64])


if __name__ == "__main__":
    main()
