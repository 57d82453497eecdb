"""A classifier trained on its accuracy. It raises: why?"""

import pullback.torch as torch

torch.manual_seed(0)
inputs = torch.randn(20, 3)
labels = (inputs[:, 0] > 0).long()
weight = torch.randn(3, 2, requires_grad=True)

scores = inputs @ weight
guesses = scores.argmax(dim=1)  # BROKEN
loss = 1.0 - (guesses == labels).float().mean()
loss.backward()
weight.data -= 0.1 * weight.grad
