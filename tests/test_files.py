"""Every function that saves writes its file whole or not at all, with the mode of `open`."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback as pb
import pullback.torch as torch
from pullback import tf
from pullback._files import write_file
from pullback.tf import v1


def checkpoint(path: Path) -> None:
    tf.train.Checkpoint(v=tf.Variable(1.0)).write(str(path.with_suffix("")))


def saver(path: Path) -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        v = v1.Variable(1.0, name="v")
        session.run(v.initializer)
        v1.train.Saver().save(session, str(path.with_suffix("")))




SAVERS: dict[str, Callable[[Path], Any]] = {
    "write_file": lambda path: write_file(path, b"new"),
    "nn.save": lambda path: pb.nn.save({"a": pb.ones(2)}, path),
    "torch.save": lambda path: torch.save([1, 2], path),
    "Checkpoint": checkpoint,
    "Saver": saver,
}

every_saver = pytest.mark.parametrize("save", SAVERS.values(), ids=SAVERS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.safetensors"


@pytest.fixture(params=[0o022, 0o077, 0o002])
def umask(request: Any) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@every_saver
def test_the_mode_is_that_of_open(save: Callable[[Path], Any], path: Path, umask: int) -> None:
    save(path)
    assert mode(path) == 0o666 & ~umask
    path.chmod(0o640)
    save(path)
    assert mode(path) == 0o640


@every_saver
def test_links_stay_links(save: Callable[[Path], Any], path: Path) -> None:
    folder = path.parent / "elsewhere"
    folder.mkdir()
    path.symlink_to(folder / "target")
    for _ in range(2):  # a link to nothing, and to a file
        save(path)
        assert path.is_symlink()
        assert [p.name for p in folder.iterdir()] == ["target"]
    assert (folder / "target").stat().st_size


@every_saver
@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_an_interrupted_write_leaves_the_old_file(
    save: Callable[[Path], Any], path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(b"old")

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, broken, stop)
    with pytest.raises(KeyboardInterrupt):
        save(path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@every_saver
def test_the_content_is_on_the_disk_before_the_rename(
    save: Callable[[Path], Any], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *args, name=name, real=real: (calls.append(name), real(*args))[1])
    save(path)
    assert calls[:2] == ["fsync", "replace"]


def test_long_names_text_and_bytes(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path / ("n" * 255))
    write_file(name, "é")
    assert Path(os.fsdecode(name)).read_bytes() == "é".encode()


def test_folders_are_refused_and_missing_ones_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="irectory"):
        write_file(tmp_path, b"")
    with pytest.raises(FileNotFoundError, match="there"):
        write_file(tmp_path / "not" / "there", b"")


def test_a_file_that_is_no_regular_one_is_written() -> None:
    write_file(os.devnull, b"text")
    assert not stat.S_ISREG(os.stat(os.devnull).st_mode)


def test_only_one_function_writes_files() -> None:
    own = Path(pb.__file__).parent
    writers = (".write_text(", ".write_bytes(", "mkstemp(", "os.replace(")
    found = [
        str(p.relative_to(own)) for p in own.rglob("*.py")
        if any(w in p.read_text("utf-8") for w in writers)
    ]
    assert found == ["_files.py"]


# The front end's own ------------------------------------------------------------------------------


def test_a_damaged_checkpoint_is_data_loss(tmp_path: Path) -> None:
    v = tf.Variable([1.0, 2.0])
    written = tf.train.Checkpoint(v=v).save(tmp_path / "model")
    file = Path(f"{written}.safetensors")
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(tf.errors.DataLossError, match="damaged") as caught:
        tf.train.Checkpoint(v=v).restore(written)
    assert isinstance(caught.value, pb.errors.FileFormatError)
    assert v.numpy().tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", ['quo"te', "back\\slash", "é", "plain"])
def test_names_of_the_latest_checkpoint(tmp_path: Path, name: str) -> None:
    written = tf.train.Checkpoint(v=tf.Variable(1.0)).save(tmp_path / name)
    assert tf.train.latest_checkpoint(tmp_path) == written
    (tmp_path / "checkpoint").write_bytes(b'model: "\xff\\')
    assert tf.train.latest_checkpoint(tmp_path) is None


def test_two_variables_at_one_path_are_an_error(tmp_path: Path) -> None:
    twice = tf.train.Checkpoint(v={"a": {"b": tf.Variable(1.0)}, "a/b": tf.Variable(2.0)})
    with pytest.raises(pb.errors.ArgumentError, match="v/a/b"):
        twice.save(tmp_path / "model")
    with pytest.raises(pb.errors.ArgumentError, match="v/1"):
        tf.train.Checkpoint(v={1: tf.Variable(1.0), "1": tf.Variable(2.0)}).write(tmp_path / "m")
    assert not np.any(list(tmp_path.iterdir()))
