import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
if str(HERE) not in sys.path:  # worker processes import the keepers of these tests by name
    sys.path.insert(0, str(HERE))


@pytest.fixture(scope="session")
def sample() -> Path:
    """The folder of real runs that the repository carries."""
    return HERE.parents[1] / "data" / "transcripts"
