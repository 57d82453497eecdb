"""`pullback explain` on scripts: broken ones are explained at the marked line, right ones not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pullback.core.state import state
from pullback.tools.debug.journal import current
from pullback.tools.explain.script import explain_script, shown
from tests.house.sources import ROOT

BROKEN = {
    "accuracy_as_loss.py": "no derivative",
    "dead_units.py": "dead",
    "detached_encoder.py": "stopped",
    "numpy_in_the_loss.py": "left",
    "variable_replaced.py": "replaced",
}
RIGHT = {
    "tape": """
import pullback as pb
x, w = pb.tensor([1.0, 2.0]), pb.Variable([0.5, 0.5])
for _ in range(3):
    with pb.GradientTape() as tape:
        loss = pb.mean((w * x - 1.0) ** 2)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    print(float(loss))
""",
    "torch": """
import pullback.torch as torch
x, w = torch.ones(4, 3), torch.ones(3, 1, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = ((x @ w - 1) ** 2).mean()
    loss.backward()
    optimizer.step()
    print(loss.item(), (x @ w).detach().numpy().shape)
""",
    "two networks": """
import pullback.torch as torch
maker, judge = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
steps = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (maker, judge)]
for _ in range(2):
    made = maker(torch.randn(4, 2))
    loss = judge(made.detach()).sigmoid().mean()
    steps[1].zero_grad(); loss.backward(); steps[1].step()
    loss = -judge(made).mean()
    steps[0].zero_grad(); loss.backward(); steps[0].step()
    print(loss.item())
""",
    "straight through": """
import pullback as pb
w = pb.tensor([0.3, 1.7], requires_grad=True)
for _ in range(3):
    q = w + pb.stop_gradient(pb.round(w) - w)
    loss = pb.sum((q - 2.0) ** 2 * (w > 0))
    loss.backward()
    with pb.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
""",
    "grad": """
import pullback as pb
w = pb.tensor([1.0, 2.0])
for _ in range(3):
    w = w - 0.1 * pb.grad(lambda w: pb.sum(pb.sin(w) ** 2))(w)
""",
}


def test_every_broken_script_is_tested() -> None:
    assert {p.name for p in (ROOT / "examples" / "broken").glob("*.py")} == set(BROKEN)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_script_is_explained(name: str) -> None:
    path = ROOT / "examples" / "broken" / name
    lines = path.read_text(encoding="utf-8").splitlines()
    marked = next(i for i, text in enumerate(lines, 1) if "# BROKEN" in text)
    before, argv, paths = state(), list(sys.argv), list(sys.path)
    found, _ = explain_script(str(path))
    assert [(a.explanation.cause, a.explanation.line) for a in found] == [(BROKEN[name], marked)]
    assert Path(found[0].explanation.file).name == name
    assert (state(), sys.argv, sys.path) == (before, argv, paths)
    assert current() is None
    assert not state().observers


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_script_is_left_in_peace(name: str, tmp_path: Path) -> None:
    path = tmp_path / "right.py"
    path.write_text(RIGHT[name], encoding="utf-8")
    found, ended = explain_script(str(path))
    assert ended is None, shown(found, ended)
    assert found == [], shown(found, ended)


EXAMPLES = {
    "binarised_digits_graph.py": ["--epochs", "1"],
    "domain_adversarial_digits.py": ["--steps", "5"],
}


@pytest.mark.full
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_right_example_is_left_in_peace(name: str) -> None:
    """In a process of its own: the names of gradients are registered once."""
    script = str(ROOT / "examples" / name)
    ran = subprocess.run(
        [sys.executable, "-m", "pullback", "explain", "--json", script, *EXAMPLES[name]],
        capture_output=True, text=True, cwd=ROOT,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert '"explained": []' in ran.stdout


def test_a_new_tensor_for_a_parameter_is_explained_by_the_error_it_ends_with(
    tmp_path: Path,
) -> None:
    path = tmp_path / "step.py"
    path.write_text("""
import pullback.torch as torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
for _ in range(2):
    (w * w).sum().backward()
    w = w - 0.1 * w.grad
""", encoding="utf-8")
    found, ended = explain_script(str(path))
    assert isinstance(ended, TypeError)
    (asked,) = found
    assert (asked.explanation.cause, asked.line, asked.explanation.line) == ("replaced", 6, 6)


def test_an_exception_of_the_script_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "raises.py"
    path.write_text("import sys\nraise KeyError(sys.argv[1])\n", encoding="utf-8")
    found, ended = explain_script(str(path), ["hello"])
    assert isinstance(ended, KeyError)
    assert "hello" in shown(found, ended)
    assert current() is None
    assert not state().observers
