"""Executes the notebooks of this folder from clean, two at a time, each in a kernel of its own; keeps what they print.

python notebooks/execute.py [NOTEBOOK …]
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

FOLDER = Path(__file__).parent
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
_TIMEOUT = 600  # seconds for one cell
# What a reader's editor needs to open the notebook; versions are left out, so that only the work itself changes it.
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "PYTHONWARNINGS": "ignore:IProgress not found",  # tqdm's, where no widgets are installed; nothing here shows a bar
}


async def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a new kernel that ran all its cells, in its own folder.

    Raises:
        CellExecutionError: a cell raised; the text shows the cell and the traceback.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        notebook,
        timeout=_TIMEOUT,
        coalesce_streams=True,
        kernel_name="python3",
        config=Config({"KernelManager": {"transport_encryption": "auto"}}),
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    await client.async_execute(env=os.environ | _ENVIRONMENT)
    notebook.metadata = nbformat.from_dict(_METADATA)
    return notebook


async def all_executed(paths: Sequence[Path]) -> dict[Path, nbformat.NotebookNode | BaseException]:
    """Several notebooks, two at a time: each as `executed` gives it, or what a cell of it raised."""
    two = asyncio.Semaphore(2)

    async def run(path: Path) -> nbformat.NotebookNode:
        async with two:
            print(path.name, flush=True)
            return await executed(path)

    found = await asyncio.gather(*map(run, paths), return_exceptions=True)
    return dict(zip(paths, found, strict=True))


def main(paths: Sequence[Path]) -> None:
    """Execute, and write those that run to their end."""
    failed: list[BaseException] = []
    for path, found in asyncio.run(all_executed(paths)).items():
        if isinstance(found, BaseException):
            failed.append(found)
        else:
            nbformat.write(found, path)
    if failed:
        raise BaseExceptionGroup("notebooks that did not run to their end", failed)


if __name__ == "__main__":
    main([Path(name).absolute() for name in sys.argv[1:]] or NOTEBOOKS)
