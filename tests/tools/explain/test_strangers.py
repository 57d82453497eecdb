"""Scripts as people write them, with harmless cuts nearby: the one that matters is named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

import pullback as pb
from pullback.tools.explain import explain
from pullback.tools.explain.script import explain_script, shown

SCRIPTS: dict[str, tuple[str, str, str]] = {
    "block": ("stopped", "detach", """
import pullback.torch as torch
nn = torch.nn
class Block(nn.Module):
    def __init__(self, n, stop):
        super().__init__()
        self.lin, self.stop = nn.Linear(n, n), stop
    def forward(self, x):
        y = torch.relu(self.lin(x)) + x
        if self.stop:
            y = y.detach()  # HERE
        return y
net = nn.Sequential(*[Block(4, i == 2) for i in range(5)], nn.Linear(4, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x, t = torch.randn(6, 4), torch.randint(0, 2, (6,))
for epoch in range(3):
    optimizer.zero_grad()
    out = net(x)
    accuracy = (out.argmax(1) == t).float().mean().item()
    loss = nn.functional.cross_entropy(out, t)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        test = (net(x).argmax(1) == t).float().mean()
    print(epoch, float(loss), accuracy, out.detach().numpy().shape)
Y, X = loss, net[0].lin.weight
"""),
    "plotted": ("stopped", "detach", """
import pullback.torch as torch
encoder, decoder = torch.nn.Linear(3, 4), torch.nn.Linear(4, 3)
x, plots = torch.randn(5, 3), []
for _ in range(2):
    z = torch.tanh(encoder(x))
    plots.append(z.detach().numpy().copy())
    code = z.detach()  # HERE
    norm = float(z.abs().mean())
    loss = ((decoder(code) - x) ** 2).mean()
    loss.backward()
Y, X = loss, encoder.weight
"""),
    "data": ("stopped", ".data", """
import pullback.torch as torch
w, b = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
h = torch.exp(w).data * 2  # HERE
Y, X = (h + b).sum(), w
Y.backward()
"""),
    "new tensor": ("stopped", "tensor()", """
import pullback.torch as torch
w, b = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
h = torch.tensor(torch.exp(w))  # HERE
Y, X = (h + b).sum(), w
Y.backward()
"""),
    "list": ("stopped", "tensor()", """
import pullback as pb
w, b = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor(1.0, requires_grad=True)
h = pb.tensor([pb.sum(w * i) for i in range(3)])  # HERE
Y, X = pb.sum(h * b), w
Y.backward()
"""),
    "parameter": ("stopped", "Parameter()", """
import pullback.torch as torch
w = torch.ones(2, requires_grad=True)
p = torch.nn.Parameter(w * 2)  # HERE
Y, X = (p * p).sum(), w
Y.backward()
"""),
    "through numpy": ("stopped", "detach", """
import numpy as np
import pullback.torch as torch
w, b = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
h = torch.from_numpy(np.log1p(torch.exp(w).detach().numpy()))  # HERE
Y, X = (h * b).sum(), w
Y.backward()
"""),
    "indices": ("no derivative", "argsort", """
import pullback.torch as torch
w, b = torch.tensor([3.0, 1.0, 2.0], requires_grad=True), torch.ones(3, requires_grad=True)
values, places = torch.topk(w, 2)  # HERE
Y, X = b[places].sum(), w
Y.backward()
"""),
    "variable": ("stopped", "Variable()", """
import pullback.tf as tf
w, b = tf.Variable([1.0, 2.0]), tf.Variable(1.0)
with tf.GradientTape() as tape:
    h = tf.Variable(w * 2.0)  # HERE
    loss = tf.reduce_sum(h * b)
tape.gradient(loss, [w, b])
Y, X = loss, w
"""),
    "assigned": ("stopped", "assign", """
import pullback.tf as tf
w, state = tf.Variable([1.0, 2.0]), tf.Variable([0.0, 0.0])
with tf.GradientTape() as tape:
    state.assign(w * 2.0)  # HERE
    loss = tf.reduce_sum(state ** 2)
tape.gradient(loss, w)
Y, X = loss, w
"""),
    "numpy function": ("left", "numpy_function", """
import numpy as np
import pullback.tf as tf
w, b = tf.Variable([1.0, 2.0]), tf.Variable(1.0)
with tf.GradientTape() as tape:
    h = tf.numpy_function(np.sqrt, [w * 2.0], tf.float32)  # HERE
    loss = tf.reduce_sum(h * b)
tape.gradient(loss, [w, b])
Y, X = loss, w
"""),
    "vmap": ("flat", "round", """
import pullback as pb
w = pb.tensor([[0.4, 1.2], [2.2, 3.1]], requires_grad=True)
def row(r):
    return pb.sum(pb.round(r) * 2)  # HERE
Y, X = pb.sum(pb.vmap(row)(w)), w
Y.backward()
"""),
    "graph": ("stopped", "stop_gradient", """
import pullback.tf.v1 as tf
with tf.Graph().as_default():
    x = tf.placeholder(tf.float32, [None, 2])
    w, v = tf.Variable([[1.0], [2.0]]), tf.Variable([[0.5]])
    h = tf.stop_gradient(tf.matmul(x, w))  # HERE
    Y, X = tf.reduce_mean(tf.square(tf.matmul(h, v))), w
    gradients = tf.gradients(Y, [w, v])
"""),
    "traced": ("stopped", "stop_gradient", """
import pullback.tf as tf
w, b = tf.Variable([1.0, 2.0]), tf.Variable(1.0)
@tf.function
def model(x):
    h = tf.stop_gradient(x * w)  # HERE
    return tf.reduce_sum(h * b)
with tf.GradientTape() as tape:
    loss = model(tf.constant([1.0, 2.0]))
tape.gradient(loss, [w, b])
Y, X = loss, w
"""),
    "step in no_grad": ("replaced", "subtract", """
import pullback.torch as torch
w = torch.ones(2, requires_grad=True)
for _ in range(2):
    try:
        (w * w).sum().backward()
    except RuntimeError:
        break
    with torch.no_grad():
        w = w - 0.1 * w.grad  # HERE
Y, X = (w * w).sum(), w
"""),
    "saturated": ("saturated", "sigmoid", """
import pullback as pb
w = pb.tensor([1000.0, 2000.0], requires_grad=True)
activation = lambda z: pb.sigmoid(z)  # HERE
Y, X = pb.mean((activation(w) - 0.5) ** 2), w
Y.backward()
"""),
    "zero over zero": ("0/0", "divide", """
import pullback.torch as torch
w = torch.zeros(2, requires_grad=True)
h = w * 2
n = h / h.sum()  # HERE
Y, X = (n ** 2).sum(), w
Y.backward()
"""),
    "one argument of two": ("rule", "swish", """
import pullback as pb
@pb.custom_gradient
def swish(x, beta):
    return x * pb.sigmoid(beta * x), lambda g: (g, None)
x, beta = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor(1.5, requires_grad=True)
Y, X = pb.sum(swish(x, beta) * x), beta  # HERE
Y.backward()
"""),
}
"""name -> cause, operation, script: the gradient of Y with respect to X is asked for."""


def written(folder: Path, text: str) -> tuple[Path, int]:
    path = folder / "script.py"
    path.write_text(text, encoding="utf-8")
    return path, 1 + next(i for i, line in enumerate(text.splitlines()) if "# HERE" in line)


@pytest.fixture(autouse=True)
def _quiet_numpy() -> Any:
    with numpy.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_explained(name: str, tmp_path: Path) -> None:
    cause, operation, text = SCRIPTS[name]
    path, line = written(tmp_path, text)
    found, ended = explain_script(str(path))
    assert ended is None, shown(found, ended)
    told = {(e.cause, e.operation, e.line, e.file) for e in (a.explanation for a in found)}
    assert told == {(cause, operation, line, str(path))}, shown(found, ended)


@pytest.mark.parametrize("name", SCRIPTS)
def test_so_is_its_gradient_after_it_ran_in_debug(name: str, tmp_path: Path) -> None:
    cause, operation, text = SCRIPTS[name]
    path, line = written(tmp_path, text)
    names: dict[str, Any] = {"__name__": "__main__"}
    with pb.debug():
        exec(compile(text, str(path), "exec"), names)
    found = explain(names["Y"], names["X"])
    assert (found.cause, found.operation, found.line) == (cause, operation, line), str(found)


def test_the_innermost_line_is_named_in_a_module_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    (tmp_path / "own_layers.py").write_text("""
import pullback.tf as tf
def frozen(x):
    return tf.stop_gradient(x)
def average(x):
    return frozen(x) * 0.9
""", encoding="utf-8")
    path = tmp_path / "script.py"
    path.write_text("""
import pullback.tf as tf
from own_layers import average
w, v = tf.Variable([1.0, 2.0]), tf.Variable(0.5)
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(average(w * 2.0) * v)
tape.gradient(loss, [w, v])
""", encoding="utf-8")
    (asked,), _ = explain_script(str(path))
    assert (Path(asked.explanation.file).name, asked.explanation.line) == ("own_layers.py", 4)
    assert asked.how == "tape.gradient of `w`"


def test_parameters_that_are_copies_are_explained(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("""
import pullback.torch as torch
w = torch.tensor([1.0, 2.0], requires_grad=True)
copies = [w.clone().detach().requires_grad_()]
optimizer = torch.optim.SGD(copies, lr=0.1)
for _ in range(2):
    (w * w).sum().backward()
    optimizer.step()
""", encoding="utf-8")
    (asked,), _ = explain_script(str(path))
    assert asked.explanation.cause in ("stopped", "unused")


def test_the_script_frees_what_it_would_free_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("""
import pullback as pb
x = pb.tensor([1.0, 2.0], requires_grad=True)
y = pb.sum(x * x)
y.backward()
y.backward()
""", encoding="utf-8")
    found, ended = explain_script(str(path))
    assert isinstance(ended, pb.errors.GraphFreedError)
    assert found == []


def test_after_a_pull_values_are_known_in_debug_only() -> None:
    x = pb.tensor([0.2, 0.3], requires_grad=True)
    for explained in (True, False):
        with pb.debug() if explained else pb.enable_grad():
            y = pb.sum(pb.relu(x - 1.0))
            y.backward()
        assert explain(y, x).cause == ("dead" if explained else "freed")
    assert "zero" in explain(y, x).text


def test_where_several_places_fit_the_answer_says_that_it_guesses() -> None:
    x, b = pb.tensor([0.2, 0.3], requires_grad=True), pb.tensor(1.0, requires_grad=True)
    h = pb.tensor(pb.exp(x).tolist())
    g = pb.exp(x).detach()
    found = explain(pb.sum(h * b + g), x)
    assert "guess" in found.text
    assert ".tolist()" in found.text
    assert "pullback.debug()" in found.text
    with pb.debug():
        h = pb.exp(x).detach()
        pb.exp(x).tolist()
        assert "guess" not in explain(pb.sum(h * b), x).text
