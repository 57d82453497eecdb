"""checkpoint: what its second run reads must not be written in place after the call."""

from __future__ import annotations

import pytest

import pullback as pb


def test_a_captured_tensor_that_was_written_since_the_call_is_named_so() -> None:
    x = pb.tensor([1.0, -2.0], requires_grad=True)
    kept = x * 2.0
    y = pb.checkpoint(lambda z: pb.sin(z) * kept)(x * 1.0)
    kept += 1.0
    with pytest.raises(pb.errors.CaptureError, match="written in place") as caught:
        pb.sum(y).backward()
    assert "argument" in caught.value.fix


@pytest.mark.parametrize("write", ["itself", "detached", "a view"])
def test_an_argument_without_a_gradient_must_not_be_written_since_the_call(write: str) -> None:
    x, constant = pb.tensor([1.0, -2.0], requires_grad=True), pb.tensor([0.5, 3.0]) * 1.0
    y = pb.checkpoint(lambda x, c: pb.sin(c) * x)(x, constant)
    view = {"itself": constant, "detached": constant.detach(), "a view": constant[:1]}[write]
    view += 1.0
    with pytest.raises(pb.errors.InplaceError, match="argument"):
        pb.sum(y).backward()
