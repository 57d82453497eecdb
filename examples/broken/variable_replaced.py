"""Gradient descent by hand. The second step fails: why?"""

import pullback as pb

x = pb.tensor([1.0, 2.0, 3.0])
y = pb.tensor([2.0, 4.0, 6.0])
w = pb.Variable(0.0, name="w")

for step in range(3):
    with pb.GradientTape() as tape:
        loss = pb.mean((w * x - y) ** 2)
    gradient = tape.gradient(loss, w)
    if gradient is None:
        break
    w = w - 0.1 * gradient  # BROKEN
    print(step, float(loss))
