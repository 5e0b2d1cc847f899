"""The lab: recorded runs put through truncation policies, without a model, and measured. See docs/lab.md."""

from .comparison import compare
from .contestants import NAMES as POLICY_NAMES
from .cost import INDEX, PROVIDERS, Pricing, UsageCheck, check_usage
from .explanation import explain
from .files import Transcripts, load_transcripts
from .frontier import plot_frontier
from .measures import DISTANCES, Measures, StepRecord
from .plots import plot_context, plot_misses, plot_seconds, plot_survival, plot_timeline
from .reading import Demand, Reading
from .replays import Replay, replay
from .tables import error_lines, format_table, load_comparison, pool, save_comparison, summarize
from .transcripts import Transcript, TranscriptError, Usage

__all__ = [
    "DISTANCES",
    "INDEX",
    "POLICY_NAMES",
    "PROVIDERS",
    "Demand",
    "Measures",
    "Pricing",
    "Reading",
    "Replay",
    "StepRecord",
    "Transcript",
    "TranscriptError",
    "Transcripts",
    "Usage",
    "UsageCheck",
    "check_usage",
    "compare",
    "error_lines",
    "explain",
    "format_table",
    "load_comparison",
    "load_transcripts",
    "plot_context",
    "plot_frontier",
    "plot_misses",
    "plot_seconds",
    "plot_survival",
    "plot_timeline",
    "pool",
    "replay",
    "save_comparison",
    "summarize",
]
