"""Policies: what leaves a context that is too long. See README.md beside this file."""

from .base import Desk, Policy, Watermarks
from .clamp import Clamp
from .fold import Fold
from .keep import KeepAll, KeepEnds, KeepLast
from .mask import MaskObservations
from .relevance import Relevance
from .tiered import Tiered

__all__ = [
    "Clamp",
    "Desk",
    "Fold",
    "KeepAll",
    "KeepEnds",
    "KeepLast",
    "MaskObservations",
    "Policy",
    "Relevance",
    "Tiered",
    "Watermarks",
]
