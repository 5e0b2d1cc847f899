"""The dependency rule between the packages, and what importing them loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_USE = {"memory": {"memory"}, "tools": {"tools"}, "agent": {"agent", "tools", "memory"}}
HEAVY = ("torch", "chromadb", "transformers", "sentence_transformers", "pandas", "matplotlib", "pint")


def packages_used(path: Path) -> set[str]:
    """The project's packages that a file imports, by relative import or by full name."""
    inside = path.relative_to(ROOT).parts
    used: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = ("carryforward", *inside[:-1])[: len(inside) + 1 - node.level]
            names = [node.module] if node.module else [alias.name for alias in node.names]
            used |= {".".join((*base, name)).split(".")[1] for name in names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            used |= _of_project(node.module)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                used |= _of_project(alias.name)
    return used


def _of_project(module: str) -> set[str]:
    first, _, rest = module.partition(".")
    return {rest.split(".")[0]} if first == "carryforward" else set()


@pytest.mark.parametrize("package", sorted(MAY_USE))
def test_dependencies_point_one_way(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    wrong = {str(f.relative_to(ROOT)): packages_used(f) - MAY_USE[package] for f in files}
    assert {name: used for name, used in wrong.items() if used} == {}


@pytest.mark.parametrize("package", ["memory", "memory.lab", "tools", "agent", "agent.cli"])
def test_importing_loads_nothing_heavy(package: str) -> None:
    code = f"import sys, carryforward.{package}; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == []


@pytest.mark.parametrize("package", ["memory", "agent", "tools"])
def test_each_package_ships_its_types(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


def test_every_public_name_of_the_memory_is_there() -> None:
    import carryforward.memory as memory

    assert [name for name in memory.__all__ if getattr(memory, name, None) is None] == []


def test_every_folder_of_code_is_installed() -> None:
    import tomllib

    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    folders = {f.parent.relative_to(ROOT) for p in MAY_USE for f in (ROOT / p).rglob("*.py")}
    assert {"carryforward." + ".".join(f.parts) for f in folders} == listed
