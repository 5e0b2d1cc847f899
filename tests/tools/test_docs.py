"""docs/tools.md lists every packaged tool with its risk."""

import re
from pathlib import Path
from typing import Any

from carryforward.tools import Tool, Toolbox
from carryforward.tools.calculator import calculator
from carryforward.tools.convert import convert_tool
from carryforward.tools.corpus import Corpus, corpus_tools
from carryforward.tools.examples import get_weather, read_manual
from carryforward.tools.fetch_page import fetch_page_tool
from carryforward.tools.files import file_tools
from carryforward.tools.memory_tools import facts_tool, lookup_tool, recall_tool
from carryforward.tools.notes import note_tools
from carryforward.tools.now import now_tool
from carryforward.tools.python_tool import python_tool
from carryforward.tools.web_search import LocalCorpus, web_search_tool


def packaged(folder: Path) -> list[Tool]:
    memory: Any = None
    return [
        calculator,
        convert_tool,
        *corpus_tools(),
        web_search_tool(LocalCorpus(Corpus())),
        fetch_page_tool(),
        *file_tools([folder]),
        *note_tools(folder),
        python_tool(),
        lookup_tool(memory),
        recall_tool(memory),
        facts_tool(memory),
        now_tool,
        get_weather,
        read_manual,
    ]


def test_every_packaged_tool_is_listed_with_its_risk(tmp_path: Path):
    text = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \| .*? \| (read|write|execute) \|", text, re.MULTILINE)
    listed = {name: risk for names, risk in rows for name in re.findall(r"`(\w+)`", names)}
    assert listed == {tool.name: tool.risk for tool in packaged(tmp_path)}


def test_names_fit_the_api_and_descriptions_say_when_not(tmp_path: Path):
    box = Toolbox(packaged(tmp_path))
    for schema in box.schemas():
        function = schema["function"]
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", function["name"])
        assert function["description"].startswith("Use it ")
        assert "Returns" in function["description"]
        assert all(property["description"] for property in function["parameters"]["properties"].values())
