"""What can go wrong in long-term memory; every error says what happened, to which input, and what to do."""


class LongTermMemoryError(Exception):
    """Root of every error of long-term memory."""


class OutcomeError(LongTermMemoryError, ValueError):
    """An outcome, or a filter on outcomes, that cannot be stored or read."""


class NamespaceError(LongTermMemoryError, ValueError):
    """An operation would have crossed the wall between two namespaces, or the name is unusable."""


class OutcomeNotFoundError(LongTermMemoryError, KeyError):
    """No outcome of this id is stored in this namespace."""

    def __str__(self) -> str:
        return str(self.args[0])


class EmbedderError(LongTermMemoryError):
    """The embedding model could not be loaded, did not answer, or gave vectors that cannot be used."""


class StoreError(LongTermMemoryError):
    """The store on disk could not be read or written."""


class ServerError(LongTermMemoryError):
    """The Chroma server could not be reached or refused the request."""
