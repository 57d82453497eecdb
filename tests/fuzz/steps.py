"""The lines of which random programs consist, as text: one text runs on both libraries.

A line reads and writes variables whose shapes are known. `t` is `pullback.torch` or PyTorch; `lib`
holds the hand-written rules, written once for either (`rules.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Shape = tuple[int, ...]
Shapes = dict[str, Shape]

UNARY = [
    "t.sin({x})", "t.tanh({x})", "t.exp(-{x} * {x})", "t.relu({x})", "{x}.sigmoid()", "{x} ** 2",
    "t.sqrt({x} * {x} + 1)", "{x}.clamp(-0.7, 0.9)", "-{x}", "{x} * 0.5 + 1", "1 / ({x} * {x} + 1)",
    "t.nn.functional.softplus({x})", "t.nn.functional.elu({x})", "t.abs({x})", "t.atan({x})",
    "t.nn.functional.gelu({x})", "t.log1p({x} * {x})", "{x}.square()", "t.cos({x}) * {x}",
    "t.nn.functional.hardtanh({x})", "t.where({x} > 0.1, {x}, {x} * 0.3)", "t.round({x}) + {x}",
    "t.nn.functional.leaky_relu({x})", "t.erf({x})", "t.special.expit({x})",
]
COPIES = ["{x}.clone()", "{x}.detach()", "{x}.contiguous()", "{x} + 0", "t.flip({x}, (0,))",
          "{x}.to(t.float64)", "{x}.detach().clone()", "{x}.flatten()", "{x}.ravel()"]
BINARY = [
    "{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / ({y} * {y} + 1)", "t.maximum({x}, {y})",
    "t.minimum({x}, {y})", "t.where({x} > {y}, {x}, {y} * 2)", "t.atan2({x}, {y} * {y} + 1)",
    "t.addcmul({x}, {x}, {y})", "t.lerp({x}, {y}, 0.3)", "t.hypot({x}, {y} + 3)",
]
REDUCE = [
    "{x}.sum()", "{x}.mean()", "{x}.sum({d})", "{x}.mean({d}, keepdim=True)", "{x}.amax({d})",
    "{x}.logsumexp({d})", "{x}.cumsum({d})", "t.softmax({x}, {d})", "{x}.prod({d})",
    "t.linalg.vector_norm({x} + 2)", "{x}.var({d}, unbiased=False)", "{x}.max({d}).values",
    "{x}.sort({d}).values", "{x}.cumprod({d})", "t.nn.functional.log_softmax({x}, {d})",
]
VIEWS_1 = [
    "{x}[{i}]", "{x}[{i}:]", "{x}[::2]", "{x}[...]", "{x}.unsqueeze(0)", "{x}.unsqueeze(-1)",
    "{x}.view(-1)", "{x}.reshape(-1)", "{x}.select({d}, {i})", "{x}.narrow({d}, 0, 1)",
    "{x}.squeeze()", "{x}[None]", "{x}.expand(2, *{x}.shape)", "{x}.chunk(2, {d})[0]",
    "{x}.unbind({d})[-1]", "{x}.view_as({x})", "t.split({x}, 1, {d})[0]", "{x}.detach()",
]
VIEWS_2 = [
    "{x}.t()", "{x}.T", "{x}.transpose(0, 1)", "{x}.diagonal()", "{x}[:, {i}]", "{x}.mT",
    "{x}.movedim(0, 1)", "{x}.permute(1, 0)", "{x}[{i}, :]", "{x}[:, ::2]", "{x}.flatten()",
    "{x}.swapaxes(0, 1)", "t.einsum('ij->ji', {x})", "{x}.unfold(0, 2, 1)",
]
PICKS = [
    "{x}[[0, -1]]", "{x}[{x} > 0]", "t.cat([{x}, {x} * 2])", "t.stack([{x}, {y}])",
    "{x}.index_select(0, t.tensor([0, 0]))", "t.nn.functional.pad({x}, (1, 0))",
    "{x}.repeat_interleave(2, {d})", "t.roll({x}, 1, {d})", "t.take({x}, t.tensor([0]))",
    "{x}.gather({d}, t.zeros({x}.shape, dtype=t.int64))",
]
WRITES = [
    "{x}.add_({y})", "{x}.mul_({y})", "{x}.sub_({y}, alpha=0.5)", "{x} += {y}", "{x} *= {y}",
    "{x}.copy_({y})", "{x}[{i}] = {y0}", "{x}[...] = {y}", "{x}[{i}:] *= 2", "{x}[{i}].mul_(3)",
    "{x}.sin_()", "{x}.relu_()", "{x}.mul_(0.5)", "{x}.zero_()", "{x}.fill_(0.3)", "{x}.neg_()",
    "{x}.clamp_(-1, 1)", "{x}.masked_fill_({x} > 0, 0.2)", "{x}[{x} > 0] = 0.4", "{x}.tanh_()",
    "{x}.view(-1)[0] = {y0}", "{x}.T.mul_(2)", "{x}.detach().add_(1)", "{x}.unsqueeze(0).add_(1)",
    "{x}.index_add_(0, t.tensor([0]), {x}[:1] * 2)", "{x}.exp_()",
    "{x}.sigmoid_()", "{x}.square_()", "{x}.addcmul_({y}, {y})", "{x}.transpose(0, -1).add_({y0})",
]
RULES = [
    "lib.Scaled.apply({x})", "lib.Product.apply({x}, {y})", "lib.Clipped.apply({x})",
    "lib.OfOutput.apply({x})", "lib.Both.apply({x})[0]", "lib.Both.apply({x})[1]",
    "lib.Doubled.apply({x})", "lib.checkpoint(lib.block, {x}, use_reentrant=False)",
    "lib.checkpoint(lambda z: lib.block(z) * {y}, {x}, use_reentrant=False)",
    "lib.Scaled.apply({x}[{i}:])", "lib.Straight.apply({x})",
    "lib.hooked({x})",
]
MODES = ["with t.no_grad(): {line}", "with t.enable_grad(): {line}", "with t.no_grad(): {write}"]


class Writer:
    """Writes lines for the variables there are.

    shapes  the shape of each variable; the caller adds those of new ones
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.shapes: Shapes = {}
        self._count = 0

    def line(self) -> str:
        """A line; it may be one that PyTorch refuses."""
        kinds: list[tuple[Callable[[], str], int]] = [
            (lambda: self._new(UNARY), 5), (lambda: self._new(BINARY), 4),
            (lambda: self._new(REDUCE), 2), (lambda: self._new(VIEWS_1), 5),
            (lambda: self._new(VIEWS_2, 2), 2), (lambda: self._new(PICKS), 2),
            (lambda: self._new(COPIES), 2), (lambda: self._new(RULES), 3),
            (lambda: self._filled(self._pick(WRITES)), 7), (self._in_a_mode, 1),
        ]
        makers, weights = zip(*kinds, strict=True)
        made: str = self.random.choices(makers, weights)[0]()
        return made

    def _pick(self, templates: list[str]) -> str:
        return self.random.choice(templates)

    def _in_a_mode(self) -> str:
        template = self._pick(MODES)
        if "{write}" in template:
            return template.replace("{write}", self._filled(self._pick(WRITES)))
        return template.replace("{line}", self._new(UNARY))

    def _new(self, templates: list[str], rank: int = 0) -> str:
        if not any(len(shape) >= rank for shape in self.shapes.values()):
            templates = UNARY
        made = self._filled(self._pick(templates), rank)
        self._count += 1
        return f"v{self._count} = {made}"

    def _filled(self, template: str, rank: int = 0) -> str:
        """A template with variables, the first of at least a rank if there is one."""
        random = self.random
        names = [n for n in self.shapes if len(self.shapes[n]) >= rank] or list(self.shapes)
        x = random.choice(names[-4:] if random.random() < 0.7 else names)
        shape = self.shapes[x]
        alike = [n for n in names if self.shapes[n] in (shape, (), shape[1:], shape[-1:])]
        y = random.choice([n for n in alike if n != x] or names)
        scalars = [n for n in names if self.shapes[n] == ()]
        return template.format(
            x=x, y=y, y0=random.choice(scalars) if scalars and random.random() < 0.6 else "1.5",
            d=random.randrange(-1, max(len(shape), 1)),
            i=random.randrange(-1, shape[0]) if shape and shape[0] else 0,
        )
