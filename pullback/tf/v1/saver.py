"""`tf.train.Saver`: save a session's variables to safetensors files, and restore them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import ArgumentError
from ...nn.saving import save
from ..train import SUFFIX, latest_checkpoint, list_variables, note_latest, variables_in
from .errors import not_found
from .graph import home
from .keys import GraphKeys

__all__ = ["Saver", "checkpoint_exists", "latest_checkpoint", "list_variables"]


class Saver:
    """Saves and restores variables.

    var_list     variables, or {name in the file: variable}; by default all global variables
    max_to_keep  the number of files to keep; 0 or None for all

    >>> import tempfile
    >>> import pullback.tf.v1 as tf
    >>> folder = tempfile.mkdtemp()
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable(1.0, name="v")
    ...     saver = tf.train.Saver()
    ...     v.load(5.0, sess)
    ...     path = saver.save(sess, folder + "/model", global_step=3)
    ...     v.load(0.0, sess)
    ...     saver.restore(sess, tf.train.latest_checkpoint(folder))
    ...     sess.run(v)
    np.float32(5.0)
    """

    def __init__(
        self, var_list: Any = None, reshape: bool = False, sharded: bool = False,
        max_to_keep: int | None = 5, keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None, restore_sequentially: bool = False, saver_def: Any = None,
        builder: Any = None, defer_build: bool = False, allow_empty: bool = False,
        **ignored: Any,
    ) -> None:
        self._variables = _named(var_list, allow_empty)
        self._limit = max_to_keep
        self.last_checkpoints: list[str] = []

    def save(
        self, sess: Any, save_path: str, global_step: Any = None,
        latest_filename: str | None = None, meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True, write_state: bool = True, **ignored: Any,
    ) -> str:
        """Save the session's values to a file, and return the path for `restore`.

        global_step  a number, variable or tensor, appended to the path
        """
        path = os.fspath(save_path)
        if global_step is not None:
            step = global_step if isinstance(global_step, int) else int(sess.run(global_step))
            path = f"{path}-{step}"
        if not Path(path).absolute().parent.is_dir():
            raise ArgumentError("Saver.save", "an existing directory", f"{Path(path).parent}")
        names = list(self._variables)
        values = sess.run([self._variables[n] for n in names])
        save(dict(zip(names, values, strict=True)), path + SUFFIX)
        self.last_checkpoints = [p for p in self.last_checkpoints if p != path] + [path]
        while self._limit and len(self.last_checkpoints) > self._limit:
            Path(self.last_checkpoints.pop(0) + SUFFIX).unlink(missing_ok=True)
        if write_state:
            note_latest(path, latest_filename)
        return path

    def restore(self, sess: Any, save_path: str) -> None:
        """Assign the values of a file to the variables in a session.

        Raises `NotFoundError` for a variable that the file lacks, and `ValueError` for a missing
        file or a value of another shape.
        """
        if save_path is None or not checkpoint_exists(save_path):
            raise ArgumentError("Saver.restore", "a path that save returned",
                                f"{save_path!r}, where there is no checkpoint")
        found = variables_in(save_path)
        missing = [n for n in self._variables if n not in found]
        if missing:
            raise not_found(f"Saver.restore of {os.fspath(save_path)!r}",
                            f"variables {', '.join(missing)}", f"a file with {', '.join(found)}",
                            "name the variables of the file: Saver({name: variable})")
        for name, variable in self._variables.items():
            variable.load(found[name]._data, sess)


def _named(var_list: Any, allow_empty: bool) -> dict[str, Any]:
    if var_list is None:
        var_list = home().get_collection(GraphKeys.GLOBAL_VARIABLES)
    given = isinstance(var_list, Mapping)
    found = dict(var_list) if given else {v.op.name: v for v in var_list}
    if not found and not allow_empty:
        raise ArgumentError("Saver", "variables to save", "none",
                            "create the Saver after the variables")
    return found


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """True if a Saver file with this path exists."""
    return Path(os.fspath(checkpoint_prefix) + SUFFIX).exists()
