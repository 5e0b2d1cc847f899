"""Units, the clock, search services over HTTP, and the tools on memory."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from carryforward.tools import Toolbox, ToolError
from carryforward.tools.convert import convert, convert_tool
from carryforward.tools.corpus import Corpus
from carryforward.tools.examples import get_weather, read_manual
from carryforward.tools.memory_tools import facts_tool, lookup_tool, recall_tool
from carryforward.tools.now import now_tool
from carryforward.tools.web_search import Brave, Engine, LocalCorpus, SearXNG, Tavily, engine_from, web_search_tool
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("value", "source", "target", "answer"),
    [
        (5, "mile", "km", "5 mile = 8.04672 kilometer"),
        ("1,250", "英尺", "米", "1250 foot = 381 meter"),
        (25, "°C", "°F", "25 degree_Celsius = 77 degree_Fahrenheit"),
        (1, "inch", "cm", "1 inch = 2.54 centimeter"),
        (36, "km/h", "m/s", "36 kilometer / hour = 10 meter / second"),
        (1, "km²", "公顷", "1 kilometer ** 2 = 100 hectare"),
        (1, "kWh", "MJ", "1 kilowatt_hour = 3.6 megajoule"),
    ],
)
def test_converts_exactly(value: float | str, source: str, target: str, answer: str):
    assert convert(value, source, target) == answer


@pytest.mark.parametrize(
    ("value", "source", "target", "said"),
    [
        (1, "m", "kg", "two units of one kind"),
        (1, "furlongs_per_zorb", "m", "not defined"),
        (1, "9**9**9", "m", "not a unit"),
        (1, "m**99999999", "m", "not a unit"),
        (1, "__import__('os')", "m", "not a unit"),
        ("many", "m", "km", "not a number"),
        ("1e99999999", "m", "km", "not a number"),
        ("nan", "m", "km", "not a number"),
        (1, "", "km", "not a unit"),
    ],
)
def test_says_why_it_cannot_convert(value: Any, source: str, target: str, said: str):
    with pytest.raises(ToolError, match=said):
        convert(value, source, target)


@given(st.floats() | st.text(max_size=12), st.text("mkgs*/^(). 29°C%米·²", max_size=12), st.text(max_size=12))
def test_any_units_give_a_result_or_one_line(value: float | str, source: str, target: str):
    try:
        answer = Toolbox([convert_tool]).call("convert", {"value": value, "from_unit": source, "to_unit": target})
    except ToolError as error:
        answer = str(error)
        assert "failed" not in answer
    assert "\n" not in answer


def test_now_knows_time_zones():
    box = Toolbox([now_tool])
    assert box.call("now", {}).endswith(" UTC")
    assert box.call("now", {"timezone": "Asia/Shanghai"}).endswith("Asia/Shanghai (UTC+0800)")
    for wrong in ("Mars/Base", "../etc/passwd", "\0"):
        with pytest.raises(ToolError, match="no time zone"):
            box.call("now", {"timezone": wrong})


class _Service(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        rows = [{"title": f"<b>Page</b> {n} &amp; more", "url": f"https://x.test/{n}"} for n in range(7)]
        if self.path.startswith("/searx/search?q=tides&format=json"):
            self._answer({"results": [row | {"content": "c" * 900} for row in rows]})
        elif (
            self.path.startswith("/brave/res/v1/web/search?q=tides") and self.headers["X-Subscription-Token"] == "key-1"
        ):
            self._answer({"web": {"results": [row | {"description": "d"} for row in rows[:2]]}})
        elif self.path.startswith("/text/"):
            self._answer("no json", raw=True)
        elif self.path.startswith("/odd/"):
            self._answer({"results": "none"})
        else:
            self.send_error(403)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] == "Bearer key-2" and asked["query"] == "tides":
            self._answer({"results": [{"title": "T", "url": "https://t.test", "content": "a\nb"}]})
        else:
            self.send_error(401)

    def _answer(self, body: Any, raw: bool = False) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body.encode() if raw else json.dumps(body).encode())

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def search(engine: Engine, query: str = "tides") -> str:
    return Toolbox([web_search_tool(engine)]).call("web_search", {"query": query})


def test_search_services_give_short_results(service: str):
    searx = search(SearXNG(f"{service}/searx/"))
    assert searx.splitlines()[0] == "1. Page 0 & more [https://x.test/0]"
    assert len(searx.splitlines()[1].strip()) == 200
    assert searx.splitlines()[-1].startswith("2 more left out")
    assert "[https://x.test/1]" in search(Brave("key-1", f"{service}/brave"))
    assert search(Tavily("key-2", service)).splitlines()[1] == "   a b"


def test_a_service_that_fails_is_one_line_without_the_key(service: str):
    cases = [
        (Brave("wrong-key", f"{service}/brave"), "the key or its settings are wrong"),
        (Tavily("wrong-key", service), "status 401"),
        (SearXNG(f"{service}/text"), "JSON"),
        (SearXNG(f"{service}/odd"), "unknown form"),
        (SearXNG("http://127.0.0.1:1"), "does not answer"),
    ]
    for engine, said in cases:
        with pytest.raises(ToolError, match=said) as failed:
            search(engine)
        assert "wrong-key" not in str(failed.value) + repr(engine)


def test_the_environment_chooses_the_service():
    assert engine_from({"SEARXNG_URL": "http://s", "BRAVE_API_KEY": "b"}) == SearXNG("http://s")
    assert engine_from({"TAVILY_API_KEY": "t"}) == Tavily("t")
    assert "[mount-everest]" in search(engine_from({}), "Mount Everest height")
    assert isinstance(engine_from({}), LocalCorpus)
    assert "Nothing was found" in search(LocalCorpus(Corpus()), "qqqq")


@dataclass
class Ended:
    goal: str
    status: str
    result: str
    lessons: tuple[str, ...]


@dataclass
class Found:
    outcome: Ended


@dataclass
class Figure:
    label: str | None
    text: str
    source: str | None


class Remembers:
    def lookup(self, ref_or_words: str, *, page: int = 1) -> str:
        return f"{ref_or_words}, page {page}"

    def recall(self, goal: str) -> list[Found]:
        return [Found(Ended("climb", "failed", "too\nhigh", ("take rope",)))] if goal == "climb" else []

    def find(self, words: str) -> list[Figure]:
        return [Figure("height", f"{n} m", f"m{n}") for n in range(50)] if words == "height" else []


def test_memory_can_be_asked():
    box = Toolbox([lookup_tool(Remembers()), recall_tool(Remembers()), facts_tool(Remembers())])
    assert box.call("lookup", {"ref_or_words": "m21", "page": "2"}) == "m21, page 2"
    assert box.call("recall", {"goal": "climb"}) == "- climb (failed): too high\n   lesson: take rope"
    assert box.call("recall", {"goal": "swim"}) == "No earlier task was like this."
    figures = box.call("working_facts", {"words": "height"}).splitlines()
    assert figures[0] == "- height: 0 m (m0)"
    assert figures[-1] == "10 more left out; use narrower words."
    assert "No figure" in box.call("working_facts", {"words": "x"})


def test_the_tutorial_tools_answer_in_the_language_of_the_question():
    box = Toolbox([get_weather, read_manual])
    assert box.call("get_weather", {"city": "Beijing"}).endswith("(sample data)")
    assert "气温 25 °C" in box.call("get_weather", {"city": "北京市"})
    with pytest.raises(ToolError, match="there is some for Beijing"):
        box.call("get_weather", {"city": "Atlantis"})
    assert "recommended concurrency is 128" in box.call("read_manual", {"topic": "Recommended concurrency"})
    assert box.call("read_manual", {"topic": "推荐并发数"}) == "并发：每个节点的推荐并发数为128，超过256时延迟上升。"
    assert len(box.call("read_manual", {}).splitlines()) == 4
