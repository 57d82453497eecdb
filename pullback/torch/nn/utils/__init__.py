"""`torch.nn.utils`: gradient clipping, parameter vectors, padded sequences, parametrizations."""

from . import parametrizations as parametrizations
from . import parametrize as parametrize
from . import rnn as rnn
from .clipping import clip_grad_norm_ as clip_grad_norm_
from .clipping import clip_grad_value_ as clip_grad_value_
from .clipping import clip_grads_with_norm_ as clip_grads_with_norm_
from .clipping import get_total_norm as get_total_norm
from .vectors import parameters_to_vector as parameters_to_vector
from .vectors import vector_to_parameters as vector_to_parameters

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
    "parameters_to_vector", "parametrizations", "parametrize", "rnn", "vector_to_parameters",
]
