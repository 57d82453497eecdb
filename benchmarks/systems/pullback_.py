"""pullback."""

from __future__ import annotations

import numpy

import pullback as pb

from ..data import RATE, entries, filters, images, network, prey


def small_ops(elements, ops):
    x = pb.tensor(numpy.full(elements, 0.5, numpy.float32), requires_grad=True)
    a = pb.tensor(numpy.full(elements, 0.999, numpy.float32))
    b = pb.tensor(numpy.full(elements, 0.001, numpy.float32))

    def run():
        y = x
        for _ in range(ops // 2):
            y = y * a
            y = y + b
        return pb.autograd.grad(pb.sum(y), x)

    return run, ops


class Reversal(pb.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return -g


class Square(pb.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


def function_reversal(calls):
    return _functions(Reversal.apply, calls)


def function_square(calls):
    return _functions(Square.apply, calls)


def _functions(function, calls):
    x = pb.tensor(numpy.ones(1, numpy.float32), requires_grad=True)

    def run():
        y = x
        for _ in range(calls):
            y = function(y)
        return pb.autograd.grad(pb.sum(y), x)

    return run, calls


@pb.custom_gradient
def reversal(x):
    def grad(g):
        return -g

    return x, grad


@pb.custom_gradient
def square(x):
    def grad(g):
        return g * 2 * x

    return x * x, grad


def custom_reversal(calls):
    return _custom(reversal, calls)


def custom_square(calls):
    return _custom(square, calls)


def _custom(function, calls):
    x = pb.tensor(numpy.ones(1, numpy.float32))

    def run():
        with pb.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(calls):
                y = function(y)
        return tape.gradient(y, x)

    return run, calls


def elementwise(count):
    x = pb.tensor(entries(count), requires_grad=True)

    def run():
        y = pb.sum(pb.tanh(x) * pb.exp(-x * x) + pb.relu(x))
        return pb.autograd.grad(y, x)

    return run, 1


def mlp_step(batch, layers):
    x, classes, arrays = network(batch, layers)
    x, classes = pb.tensor(x), pb.tensor(classes)
    parameters = [pb.tensor(a, requires_grad=True) for a in arrays]
    optimizer = pb.optim.SGD(parameters, lr=RATE)

    def run():
        h = x
        for i in range(0, len(parameters) - 2, 2):
            h = pb.relu(h @ parameters[i] + parameters[i + 1])
        loss = pb.cross_entropy(h @ parameters[-2] + parameters[-1], classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return run, 1


def convolution(batch, channels, size, outputs, window, stride, groups):
    x = pb.tensor(images(batch, channels, size), requires_grad=True)
    w = pb.tensor(filters(outputs, channels // groups, window), requires_grad=True)
    how = {"stride": stride, "padding": window // 2, "groups": groups}
    cotangent = pb.conv2d(x, w, **how).detach()

    def run():
        return pb.autograd.grad(pb.conv2d(x, w, **how), (x, w), cotangent)

    return run, 1


def cnn_step(batch, size):
    x, classes = pb.tensor(images(batch, 1, size)), pb.tensor(network(batch, (1, 10))[1])
    last = network(1, (32 * (size // 4) ** 2, 10))[2]
    arrays = [filters(16, 1, 3), filters(32, 16, 3), *last]
    parameters = [pb.tensor(a, requires_grad=True) for a in arrays]
    optimizer = pb.optim.SGD(parameters, lr=RATE)

    def run():
        first, second, weight, bias = parameters
        h = pb.max_pool2d(pb.relu(pb.conv2d(x, first, padding=1)), 2)
        h = pb.max_pool2d(pb.relu(pb.conv2d(h, second, padding=1)), 2)
        loss = pb.cross_entropy(h.reshape(batch, -1) @ weight + bias, classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return run, 1


def mlp_step_tape(batch, layers):
    x, classes, arrays = network(batch, layers)
    x, classes = pb.tensor(x), pb.tensor(classes)
    parameters = [pb.Variable(a) for a in arrays]
    optimizer = pb.optim.SGD(parameters, lr=RATE)

    def run():
        with pb.GradientTape() as tape:
            h = x
            for i in range(0, len(parameters) - 2, 2):
                h = pb.relu(h @ parameters[i] + parameters[i + 1])
            loss = pb.cross_entropy(h @ parameters[-2] + parameters[-1], classes)
        optimizer.step(tape.gradient(loss, parameters))

    return run, 1


def mlp_step_function(batch, layers):
    run, count = mlp_step_tape(batch, layers)
    return pb.function(run), count


def function_call(calls):
    square = pb.function(lambda x: x * x)
    x = pb.tensor(numpy.ones(1, numpy.float32))

    def run():
        for _ in range(calls):
            with pb.GradientTape() as tape:
                tape.watch(x)
                y = square(x)
            tape.gradient(y, x)

    return run, calls


def graph_chain(elements, ops):
    a, b = numpy.full(elements, 0.999, numpy.float32), numpy.full(elements, 0.001, numpy.float32)
    with pb.graphs.Graph().as_default() as graph:
        x = y = pb.graphs.placeholder(numpy.float32, [elements])
        for _ in range(ops // 2):
            y = y * a
            y = y + b
    session = pb.graphs.Session(graph)
    feed = {x: numpy.full(elements, 0.5, numpy.float32)}
    return lambda: session.run(y, feed), ops


def memory_chain(count):
    x = pb.tensor(entries(count), requires_grad=True)

    def run():
        y = x
        for _ in range(10):
            y = pb.exp(pb.tanh(y)) * 0.3
        return pb.autograd.grad(pb.sum(y), x)

    return run, 1


def rosenbrock(x):
    return pb.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def hessian(count):
    x = pb.tensor(entries(count).astype(numpy.float64))
    second = pb.hessian(rosenbrock)
    return lambda: second(x), 1


def hessian_loop(count):
    x = pb.tensor(entries(count).astype(numpy.float64), requires_grad=True)
    basis = [pb.tensor(row) for row in numpy.eye(count)]

    def run():
        (g,) = pb.autograd.grad(rosenbrock(x), x, create_graph=True)
        return pb.stack([
            pb.autograd.grad(g, x, e, retain_graph=True)[0] for e in basis
        ])

    return run, 1


def _loss(parameters, x, label):
    h = x
    for i in range(0, len(parameters) - 2, 2):
        h = pb.relu(h @ parameters[i] + parameters[i + 1])
    return pb.cross_entropy(h @ parameters[-2] + parameters[-1], label)


def per_example(batch, layers):
    x, classes, arrays = network(batch, layers)
    gradients = pb.vmap(pb.grad(_loss), in_axes=(None, 0, 0))
    x, classes, parameters = pb.tensor(x), pb.tensor(classes), [pb.tensor(a) for a in arrays]
    return lambda: gradients(parameters, x, classes), 1


def per_example_loop(batch, layers):
    x, classes, arrays = network(batch, layers)
    x, classes = pb.tensor(x), pb.tensor(classes)
    parameters = [pb.tensor(a, requires_grad=True) for a in arrays]

    def run():
        rows = [
            pb.autograd.grad(_loss(parameters, x[i], classes[i]), parameters)
            for i in range(batch)
        ]
        return [pb.stack(list(column)) for column in zip(*rows, strict=True)]

    return run, 1


def mapped_step(batch, layers):
    x, classes, arrays = network(batch, layers)
    x, classes, parameters = pb.tensor(x), pb.tensor(classes), [pb.tensor(a) for a in arrays]
    losses = pb.vmap(_loss, in_axes=(None, 0, 0))
    slopes = pb.grad(lambda p: pb.mean(losses(p, x, classes)))

    def run():
        gs = slopes(parameters)
        parameters[:] = [p - RATE * g for p, g in zip(parameters, gs, strict=True)]

    return run, 1


def penalty_step(batch, layers):
    x, _, arrays = network(batch, layers)
    x = pb.tensor(x, requires_grad=True)
    parameters = [pb.tensor(a, requires_grad=True) for a in arrays]
    optimizer = pb.optim.SGD(parameters, lr=RATE)

    def run():
        h = x
        for i in range(0, len(parameters) - 2, 2):
            h = pb.tanh(h @ parameters[i] + parameters[i + 1])
        score = pb.sum(h @ parameters[-2] + parameters[-1])
        (slope,) = pb.autograd.grad(score, x, create_graph=True)
        lengths = pb.sqrt(pb.sum(slope * slope, axis=1))
        optimizer.zero_grad()
        pb.mean((lengths - 1) ** 2).backward(inputs=parameters)
        optimizer.step()

    return run, 1


def _prey(y, t, p):
    both = y[0] * y[1]
    return pb.stack([p[0] * y[0] - p[1] * both, p[3] * both - p[2] * y[1]])


def equation(count):
    start, rates, times = prey(count)
    rates = pb.tensor(rates)
    return lambda: pb.odeint(_prey, start, times, rates), 1


def equation_gradient(count):
    start, rates, times = prey(count)
    slopes = pb.grad(lambda p: pb.sum(pb.odeint(_prey, start, times, p) ** 2))
    rates = pb.tensor(rates)
    return lambda: slopes(rates), 1


def forward_ops(elements, ops):
    x = numpy.full(elements, 0.5, numpy.float32)
    t = numpy.ones(elements, numpy.float32)
    a = pb.tensor(numpy.full(elements, 0.999, numpy.float32))
    b = pb.tensor(numpy.full(elements, 0.001, numpy.float32))

    def chain(y):
        for _ in range(ops // 2):
            y = y * a
            y = y + b
        return y

    return lambda: pb.jvp(chain, (x,), (t,)), ops
