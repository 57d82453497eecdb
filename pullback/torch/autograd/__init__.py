"""`torch.autograd`: backward passes, custom functions, and gradient checks."""

from __future__ import annotations

from typing import Any

from ...autograd import backward as _backward
from ...autograd import gradients as _gradients
from ...core.tensor import Tensor as _CoreTensor
from ...custom.function import Function as Function
from ...recording import enable_grad as enable_grad
from ...recording import inference_mode as inference_mode
from ...recording import is_grad_enabled as is_grad_enabled
from ...recording import no_grad as no_grad
from ...recording import set_grad_enabled as set_grad_enabled
from ..errors import guarded_pull
from . import anomaly_mode as anomaly_mode
from . import forward_ad as forward_ad
from . import function as function
from . import functional as functional
from . import grad_mode as grad_mode
from . import graph as graph
from .anomaly_mode import detect_anomaly as detect_anomaly
from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
from .grad_mode import set_multithreading_enabled as set_multithreading_enabled
from .gradcheck import GradcheckError as GradcheckError
from .gradcheck import gradcheck as gradcheck
from .gradcheck import gradgradcheck as gradgradcheck
from .variable import Variable as Variable

__all__ = [
    "Function", "GradcheckError", "Variable", "anomaly_mode", "backward", "detect_anomaly",
    "enable_grad", "forward_ad", "function", "functional", "grad", "grad_mode", "gradcheck",
    "gradgradcheck", "graph", "inference_mode", "is_grad_enabled", "no_grad", "set_detect_anomaly",
    "set_grad_enabled", "set_multithreading_enabled",
]


@guarded_pull
def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None,
    create_graph: bool = False, grad_variables: Any = None, inputs: Any = None,
) -> None:
    """Adds the gradient of the tensors' sum to the `grad` of every leaf.

    grad_variables  older name of grad_tensors
    inputs          accumulate only into these leaves: tensors, edges, or a dictionary of them

    >>> import pullback.torch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward([x * 2], [torch.ones(2)])
    >>> x.grad
    tensor([2., 2.])
    """
    tensors, inputs = graph.as_tensors(tensors), graph.as_tensors(inputs)
    grad_tensors = grad_variables if grad_tensors is None else grad_tensors
    if isinstance(tensors, _CoreTensor):
        tensors = [tensors]
        grad_tensors = [grad_tensors] if isinstance(grad_tensors, _CoreTensor) else grad_tensors
    _backward(list(tensors), grad_tensors, retain_graph, create_graph, inputs)


@guarded_pull
def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
    create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
    is_grads_batched: bool = False, materialize_grads: bool = False,
) -> Any:
    """Returns the gradients of the sum of outputs with respect to each input; `grad` is unchanged.

    outputs, inputs   tensors or edges; for a dictionary of inputs the result is a dictionary
    is_grads_batched  `grad_outputs` have an extra first axis; so do the results: one gradient per
                      entry along it, computed in one batched backward pass

    >>> import pullback.torch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.grad((x * x).sum(), x)
    (tensor([2., 4.]),)
    """
    how: dict[str, Any] = {
        "retain_graph": retain_graph, "create_graph": create_graph, "allow_unused": allow_unused,
        "materialize_grads": materialize_grads,
    }
    outputs, names = graph.as_tensors(outputs), list(inputs) if isinstance(inputs, dict) else None
    inputs = graph.as_tensors(inputs)
    found = _grad(outputs, inputs, grad_outputs, is_grads_batched, how)
    return found if names is None else dict(zip(names, found, strict=True))


def _grad(
    outputs: Any, inputs: Any, grad_outputs: Any, batched: bool, how: dict[str, Any]
) -> tuple[Any, ...]:
    if not batched:
        return _gradients(outputs, inputs, grad_outputs, **how)
    outputs = [outputs] if isinstance(outputs, _CoreTensor) else list(outputs)
    inputs = [inputs] if isinstance(inputs, _CoreTensor) else list(inputs)
    single = grad_outputs is None or isinstance(grad_outputs, _CoreTensor)
    return functional.batched_gradients(
        outputs, inputs, [grad_outputs] if single else list(grad_outputs), **how
    )
