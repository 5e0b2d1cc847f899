"""The notebooks run from clean, and print what they are committed with."""

from __future__ import annotations

import asyncio
import getpass
import importlib.util
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parent.parent
LARGEST = 450_000  # bytes of one notebook with its outputs


def _execute() -> Any:
    spec = importlib.util.spec_from_file_location("execute", ROOT / "notebooks" / "execute.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXECUTE = _execute()


def printed(notebook: Any) -> list[tuple[int, str]]:
    """What each cell gave, with the cell's number: its text, and a mark for each picture."""
    out: list[tuple[int, str]] = []
    for number, cell in enumerate(notebook.cells, 1):
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            text = output.get("text") or data.get("text/plain", "")
            out.append((number, "(picture)" if "image/png" in data else text))
    return out


def test_there_are_six() -> None:
    assert [path.name[0] for path in EXECUTE.NOTEBOOKS] == list("123456")


@pytest.mark.parametrize("path", EXECUTE.NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_committed_may_be_published(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    shown = "\n".join(part for _, part in printed(nbformat.reads(text, as_version=4)))
    assert "(picture)" in shown, "run `make notebooks`: the outputs are missing"
    assert len(text) < LARGEST
    private = [str(ROOT), str(Path.home()) + "/", f"/{getpass.getuser()}/", "site-packages", "127.0.0.1"]
    assert [mark for mark in private if mark in shown] == []


@pytest.fixture(scope="module")
def new_runs(request: pytest.FixtureRequest) -> dict[Path, Any]:
    """The notebooks that are asked for, run anew."""
    asked = [item.callspec.params["path"] for item in request.session.items if "new_runs" in item.fixturenames]
    return asyncio.run(EXECUTE.all_executed(asked))


@pytest.mark.parametrize("path", EXECUTE.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_new_run_prints_the_same(path: Path, new_runs: dict[Path, Any]) -> None:
    new = new_runs[path]
    if isinstance(new, BaseException):
        raise new
    warned = [o["text"] for cell in new.cells for o in cell.get("outputs", ()) if o.get("name") == "stderr"]
    assert warned == []
    assert printed(new) == printed(nbformat.read(path, as_version=4))  # `make notebooks` keeps what is new
