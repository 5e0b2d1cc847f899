"""Policies: what leaves a context that is too long. See README.md beside this file.

For a policy of one's own: `Watermarks` as its base, `Desk`, `View` and `Line` as what it is given, and the parts that
those here are made of, `clamp_line`, `mask_oldest`, `fold_oldest` and `drop_oldest`.
"""

from ..view import Line, View
from .base import Desk, Policy, Watermarks
from .clamp import Clamp, clamp_line
from .fold import Fold, fold_oldest
from .keep import KeepAll, KeepEnds, KeepLast, drop_oldest
from .mask import MaskObservations, mask_oldest
from .relevance import Relevance
from .tiered import Tiered

__all__ = [
    "Clamp",
    "Desk",
    "Fold",
    "KeepAll",
    "KeepEnds",
    "KeepLast",
    "Line",
    "MaskObservations",
    "Policy",
    "Relevance",
    "Tiered",
    "View",
    "Watermarks",
    "clamp_line",
    "drop_oldest",
    "fold_oldest",
    "mask_oldest",
]
