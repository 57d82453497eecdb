"""`tf.Session`: the core's session, with TensorFlow's errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ArgumentTypeError, PullbackError
from ...graphs.session import InteractiveSession as CoreInteractive
from ...graphs.session import Session as CoreSession
from ...graphs.session import get_default_session
from . import errors as _errors
from .graph import get_default_graph

__all__ = ["InteractiveSession", "Session", "get_default_session"]


class _Running:
    """Behaviour shared by both kinds of session, as in TensorFlow."""

    def _graph(self) -> Any:
        return get_default_graph()

    def run(
        self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None, options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """Runs the graph; returns the values of tensors and variables, and None for operations.

        Raises `FailedPreconditionError` for a variable without a value, `InvalidArgumentError` for
        a placeholder that is not fed and for values that an operation does not accept, `ValueError`
        for a feed of another shape, `RuntimeError` if the session is closed.
        """
        if feed_dict is not None and not isinstance(feed_dict, Mapping):
            raise ArgumentTypeError("`feed_dict` of Session.run", "a mapping {tensor: value}",
                                    f"a {type(feed_dict).__name__}")
        inherited: Any = super()
        try:
            return inherited.run(fetches, feed_dict, options, run_metadata)
        except PullbackError as error:
            found = _errors.of_running(error)
            if found is error:
                raise
            raise found from error

    def list_devices(self) -> list[Any]:
        """An empty list: a graph runs where its arrays are."""
        return []


class Session(_Running, CoreSession):
    """Runs a graph, and stores the values of its variables.

    target, config  accepted and ignored
    graph           the graph to run; by default the default graph

    >>> import pullback.tf.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [])
    ...     sess.run({"square": x * x}, feed_dict={x: 3.0})
    {'square': np.float32(9.0)}
    """


class InteractiveSession(_Running, CoreInteractive):
    """A session that is the default session until it is closed."""
