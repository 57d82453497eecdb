"""Graphs: operations that are built first, and run afterwards.

In the manner of TensorFlow 1, on the same operations and rules as everything else here.
"""

from . import deferred_rules as deferred_rules
from . import layouts as layouts
from . import linearity_checks as linearity_checks
from . import shape_fallback as shape_fallback
from .arguments import TensorSpec as TensorSpec
from .control import cond as cond
from .control import switch_case as switch_case
from .folding import foldl as foldl
from .folding import foldr as foldr
from .folding import map_fn as map_fn
from .folding import scan as scan
from .function import ConcreteFunction as ConcreteFunction
from .function import Function as Function
from .function import function as function
from .gradients import gradients as gradients
from .graph import Graph as Graph
from .operation import Operation as Operation
from .py import assert_that as assert_that
from .py import numpy_function as numpy_function
from .py import print_op as print_op
from .py import py_function as py_function
from .session import InteractiveSession as InteractiveSession
from .session import Session as Session
from .session import get_default_session as get_default_session
from .sources import placeholder as placeholder
from .sources import placeholder_with_default as placeholder_with_default
from .tensor import GraphTensor as GraphTensor
from .variable import GraphVariable as GraphVariable
from .variable import initializer as initializer
from .while_ import while_loop as while_loop
