"""Function transformations with JAX's names: derivatives in every mode and order, and batching."""

from .checkpoint import checkpoint as checkpoint
from .checkpoint import checkpoint_sequential as checkpoint_sequential
from .forward import hessian as hessian
from .forward import hvp as hvp
from .forward import jacfwd as jacfwd
from .forward import jvp as jvp
from .forward import linear_transpose as linear_transpose
from .forward import linearize as linearize
from .mapping import vmap as vmap
from .reverse import grad as grad
from .reverse import jacrev as jacrev
from .reverse import value_and_grad as value_and_grad
from .reverse import vjp as vjp
from .selecting import safe_where as safe_where

jacobian = jacrev
