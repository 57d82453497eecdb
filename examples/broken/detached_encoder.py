"""An encoder and a decoder. The decoder learns, the encoder does not: why?"""

import pullback.torch as torch

torch.manual_seed(0)
data = torch.randn(32, 6)
encoder = torch.randn(6, 2, requires_grad=True)
decoder = torch.randn(2, 6, requires_grad=True)

for _ in range(3):
    code = torch.tanh(data @ encoder)
    code = code.detach()  # BROKEN
    loss = ((code @ decoder - data) ** 2).mean()
    loss.backward()
    for p in (encoder, decoder):
        if p.grad is not None:
            p.data -= 0.1 * p.grad
            p.grad = None
print("loss", loss.item())
