"""The causes that an explanation can name, each as a key of one to three words."""

from __future__ import annotations

from typing import Final

CAUSES: Final[dict[str, str]] = {
    # None
    "unwatched": "the source needs no gradient: no tape watches it, and it has no requires_grad",
    "replaced": "the source is a result that replaced a variable: w = w - lr * g",
    "result": "the source is a result of an operation: backward() fills `.grad` of leaves only",
    "outside": "computed while the tape was not recording: before, after, or in stop_recording",
    "recording off": "computed under no_grad or inference_mode",
    "left": "the values left the library: float, item, numpy, tolist",
    "integer": "integers and booleans have no derivative",
    "stopped": "stop_gradient, detach, or a new tensor without history: tensor(x), .data, assign",
    "no derivative": "an operation without a derivative: argmax, comparisons",
    "rule": "a custom gradient returned None or zeros",
    "inside": "an operation inside a traced or checkpointed function",
    "overwritten": "an in-place assignment replaced the values",
    "unused": "the target was not computed from the source",
    "freed": "an earlier backward pass freed the values that this one needs",
    # zero
    "flat": "the derivative is zero wherever it exists: round, sign, floor",
    "dead": "all units are inactive: ReLU of negative values",
    "saturated": "the function is flat for values this large: sigmoid, tanh, softmax, exp",
    "clipped": "all entries lie outside the bounds of clip",
    "masked": "the entries that depend on the source were not selected",
    "zero factor": "multiplied by zeros",
    "cancelled": "the gradients of several paths add up to zero",
    "zero": "the gradient is zero for another reason",
    # NaN and infinity
    "where": "the branch that `where` did not select has an infinite derivative: 0 * inf",
    "sqrt(0)": "the derivative of a root at zero",
    "log(0)": "a logarithm of zero",
    "0/0": "a division by zero",
    "norm(0)": "the derivative of a norm at zero",
    "bound": "the derivative at the end of the domain is infinite: acos(1), asin(1), atanh(1)",
    "0*inf": "zero times infinity",
    "rule not finite": "a custom gradient returned NaN or infinity for finite values",
    "domain": "the function is not defined there: a logarithm or a root of a negative number",
    "overflow": "a number too large for its dtype",
    "not finite": "the source, the cotangent or a constant was already NaN or infinite",
    # another number than the derivative
    "partly lost": "one path to the source is there, another was cut: detach, no_grad",
    # nothing wrong
    "unknown": "in a graph: the path is connected, and the values are known when the graph runs",
    "fine": "the gradient is finite and not zero",
}
"""cause -> its meaning."""

CURES: Final[dict[str, str]] = {
    "unwatched": "x.requires_grad_()   # or tape.watch(x), before computing with x",
    "replaced": "w.assign_sub(lr * g)   # or: with pb.no_grad(): w -= lr * g",
    "result": "h.retain_grad()   # before backward()",
    "outside": "with tape:   # compute it inside the block of this tape",
    "recording off": "with pb.enable_grad():   # or move the line out of no_grad",
    "left": "compute with the library's operations: pb.sin(x), not math.sin(float(x))",
    "integer": "x = pb.astype(x, pb.float64)   # before computing with x",
    "stopped": "remove detach() or stop_gradient() from this line",
    "no derivative": "use a smooth substitute (softmax for argmax, a loss for a count), or "
    "pb.straight_through",
    "rule": "return a gradient for this argument from the custom gradient",
    "inside": "explain(f.python_function, x)   # the function without pb.function",
    "overwritten": "y = pb.set_at(y, value, index)   # a new tensor; or write before computing",
    "unused": "compute the target from the source itself",
    "freed": "pb.GradientTape(persistent=True)   # or backward(retain_graph=True)",
    "flat": "pb.straight_through(pb.round)(x)",
    "dead": "pb.leaky_relu(x)   # or smaller steps, another initialization",
    "saturated": "scale the input down, or use a loss that takes logits",
    "clipped": "pb.straight_through(lambda x: pb.clip(x, low, high))(x)",
    "masked": "select entries that depend on the source",
    "zero factor": "start from factors that are not zero",
    "cancelled": "remove the terms that cancel each other from the target",
    "where": "y = pb.safe_where(cond, f, g, x)",
    "sqrt(0)": "pb.safe_where(x > 0, pb.sqrt, pb.zeros_like, x)   # or pb.sqrt(x + 1e-12)",
    "log(0)": "pb.log(x + 1e-12)   # or a loss that takes logits",
    "0/0": "pb.safe_where(b != 0, lambda b: a / b, pb.zeros_like, b)",
    "norm(0)": "pb.sqrt(pb.sum(x * x) + 1e-12)",
    "bound": "pb.acos(pb.clip(x, -1 + 1e-7, 1 - 1e-7))   # or atan2, which is smooth",
    "0*inf": "keep infinities out with pb.safe_where(cond, f, g, x)",
    "rule not finite": "return a finite gradient: pb.where(ok, g / pb.where(ok, y, 1.0), 0.0)",
    "domain": "keep the argument in the domain with pb.clip, or pb.safe_where(cond, f, g, x)",
    "overflow": "scale the numbers down, subtract the maximum before exp, or use float64",
    "not finite": "check the inputs: find where the NaN or infinity comes from",
}
"""cause -> the fix, as code."""

ANEW: Final[dict[str, str]] = {
    ".data": "use the tensor itself, without .data",
    "tensor()": "pb.asarray(x)   # keeps the history, also of tensors in a list",
    "Variable()": "compute with the tensor itself; a new variable has no history",
    "Parameter()": "compute with the tensor itself; a new parameter has no history",
    "assign": "compute with the value itself, and assign it after the gradient",
}
"""Calls that make a tensor without history from one that has a history -> the fix."""
