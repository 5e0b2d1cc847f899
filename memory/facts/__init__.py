"""Working facts: the figures, dates and identifiers of a run, read exactly and kept with their source."""

from .extract import extract_facts
from .fact import Fact, Figure
from .model_extractor import ModelExtractor
from .store import WorkingFacts
from .support import check_figures, unsupported_figures

__all__ = [
    "Fact",
    "Figure",
    "ModelExtractor",
    "WorkingFacts",
    "check_figures",
    "extract_facts",
    "unsupported_figures",
]
