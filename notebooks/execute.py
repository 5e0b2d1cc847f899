"""Executes the notebooks of this folder from clean, each in a kernel of its own, and keeps what they print.

python notebooks/execute.py [NOTEBOOK …]
"""

from __future__ import annotations

import os
import sys
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


def executed(path: Path) -> nbformat.NotebookNode:
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
    client.execute(env=os.environ | _ENVIRONMENT)
    notebook.metadata = nbformat.from_dict(_METADATA)
    return notebook


def main(paths: list[Path]) -> None:
    """Execute and write."""
    for path in paths:
        print(path.name, flush=True)
        nbformat.write(executed(path), path)


if __name__ == "__main__":
    main([Path(name).absolute() for name in sys.argv[1:]] or NOTEBOOKS)
