"""Tables of results: pooled over transcripts, kept in files, and as plain text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .measures import DISTANCES

if TYPE_CHECKING:
    import pandas as pd

_LISTS = ("demands_by_distance", "kept_by_distance")
# Shares of a transcript, and the column that weighs them when transcripts are pooled.
_WEIGHTS = {
    "survival": "demands",
    "survival_far": "demands_far",
    "reachable": "demands",
    "valid": "steps",
    "within_budget": "steps",
    "cached_share": "prompt_tokens",
    "price_index": "full_price",
}
_SUMS = (
    "steps",
    "demands",
    "demands_far",
    "prompt_tokens",
    "uncached_tokens",
    "compactions",
    "summary_calls",
    "seconds",
)
_COLUMNS = (
    "policy", "budget", "survival", "survival_far", "reachable", "price_index", "cached_share", "prompt_tokens",
    "valid", "within_budget", "compactions", "seconds",
)  # fmt: skip


def pool(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row for each policy and budget, over all transcripts: sums, and shares weighted by what they are shares of.

    `errors` counts the transcripts on which the policy raised.
    """
    groups: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["policy"], row["budget"]), []).append(row)
    return [_pooled(policy, budget, group) for (policy, budget), group in groups.items()]


def _pooled(policy: str, budget: int, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {"policy": policy, "budget": budget, "transcripts": len(rows)}
    for column, weight in _WEIGHTS.items():
        total = sum(row[weight] for row in rows)
        parts = (row[column] * row[weight] for row in rows if row[weight])
        out[column] = sum(parts) / total if total else math.nan
    for column in _SUMS:
        out[column] = sum(row[column] for row in rows)
    for column in _LISTS:
        out[column] = tuple(map(sum, zip(*(row[column] for row in rows), strict=True)))
    out["errors"] = sum(isinstance(row["error"], str) for row in rows)
    return out


def error_lines(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for each policy and budget that raised: on how many transcripts, and what on the first of them."""
    groups: dict[tuple[str, int], list[Any]] = {}
    for row in rows:
        groups.setdefault((row["policy"], row["budget"]), []).append(row["error"])
    lines: list[str] = []
    for (policy, budget), found in groups.items():
        errors = [error for error in found if isinstance(error, str)]
        if errors:
            lines.append(
                f"{policy} at {budget:,}: raised on {len(errors)} of {len(found)} transcripts, first {errors[0]}"
            )
    return lines


def compared(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A comparison's rows as dicts.

    Raises:
        ValueError: the table is another one.
    """
    return _records(frame, ("transcript", "demands"), "a comparison, as compare gives it, not its summary")


def stepwise(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of `Replay.frame()` as dicts.

    Raises:
        ValueError: the table is another one.
    """
    return _records(frame, ("call", "full_tokens"), "the steps of a replay, as replay(...).frame() gives them")


def _records(frame: pd.DataFrame, columns: Sequence[str], what: str) -> list[dict[str, Any]]:
    if not set(columns) <= set(getattr(frame, "columns", ())):
        raise ValueError(f"this takes {what}: there is no column {' or '.join(columns)}")
    return cast(list[dict[str, Any]], frame.to_dict("records"))


def summarize(frame: pd.DataFrame) -> pd.DataFrame:
    """`pool` of a comparison, as a frame; `error_lines` tell what its `errors` were.

    Raises:
        ValueError: the table is no comparison.
    """
    import pandas as pd

    return pd.DataFrame(pool(compared(frame)))


def format_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """Rows as a plain text table: shares with three digits, counts with thousands separators, missing as `-`.

    Without `columns` it has those of most use, with `errors` where a policy raised.
    """
    rows = list(rows)
    if columns is None:
        columns = (*_COLUMNS, "errors") if any(row.get("errors") for row in rows) else _COLUMNS
    table = [list(columns), *([_cell(row.get(column)) for column in columns] for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    )


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def save_comparison(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a comparison, with the settings that made it, as Parquet.

    Raises:
        ImportError: pyarrow is not installed.
    """
    frame.to_parquet(path, engine="pyarrow", index=False)


def load_comparison(path: str | Path) -> pd.DataFrame:
    """Read what `save_comparison` wrote: the same table, and `attrs["settings"]`.

    Raises:
        ImportError: pyarrow is not installed.
        FileNotFoundError: there is no such file.
        ValueError: the file is no Parquet.
    """
    import pandas as pd

    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except ValueError as error:
        raise ValueError(f"{path} holds no comparison: give a Parquet file of save_comparison ({error})") from error
    for column in _LISTS:
        if column in frame:
            frame[column] = [tuple(int(n) for n in counts) for counts in frame[column]]
    return frame


def distance_labels() -> list[str]:
    """Names of the bins of `demands_by_distance`, in thousands of tokens."""
    edges = [0, *(edge // 1000 for edge in DISTANCES)]
    return [f"{a}-{b}k" for a, b in pairwise(edges)] + [f"{edges[-1]}k+"]
