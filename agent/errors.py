"""What can go wrong between the agent and its model server: one small tree.

Every message is one line, names the address, the model and the status as far as they are known, says what
to do, and never holds a key.
"""

from __future__ import annotations


class ModelError(Exception):
    """The model server gave no usable reply.

    Attributes:
        status: HTTP status, or None when there was none.
        retryable: whether the same request may well succeed a little later. Retryable errors that reach
            the caller have already been tried again as often as the client is allowed to.
        retry_after: seconds the server asked to wait, or None.
    """

    retryable = False

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(" ".join(message.split()))
        self.status = status
        self.retry_after = retry_after
        if retryable is not None:
            self.retryable = retryable


class UnreachableError(ModelError):
    """No connection to the server: wrong address, not running, or the network is down."""

    retryable = True


class AuthenticationError(ModelError):
    """The server refuses the key or the account."""


class RequestError(ModelError):
    """The server refuses this request and would refuse it again: unknown model, invalid parameter."""


class ToolsUnsupportedError(RequestError):
    """The server or model takes no native tool calls; a text format works there."""


class ContextTooLongError(ModelError):
    """The messages do not fit the model's window; the same call with fewer may succeed."""


class RateLimitError(ModelError):
    """Too many requests or tokens, or the account's quota is used up (then not retryable)."""

    retryable = True


class ServerError(ModelError):
    """The server failed, broke off, or took too long."""

    retryable = True


class ProtocolError(ModelError):
    """The answer is no chat completion: a web page, broken JSON, or an object without choices."""
