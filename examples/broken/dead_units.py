"""A network with one hidden layer whose loss never changes: why?"""

import pullback as pb

pb.random.seed(0)
inputs = pb.random.uniform((16, 4))
wanted = pb.random.uniform((16, 1))
first = pb.tensor([[0.1] * 8] * 4, requires_grad=True)
bias = pb.tensor([-5.0] * 8, requires_grad=True)
second = pb.tensor([[0.5]] * 8, requires_grad=True)

for _ in range(3):
    hidden = pb.relu(inputs @ first + bias)  # BROKEN
    loss = pb.mean((hidden @ second - wanted) ** 2)
    loss.backward()
    for p in (first, bias, second):
        with pb.no_grad():
            p -= 0.1 * p.grad
        p.grad = None
    print(float(loss))
