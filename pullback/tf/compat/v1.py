"""`import pullback.tf.compat.v1 as tf`: the module `pullback.tf.v1` itself."""

import sys
from importlib import import_module

sys.modules[__name__] = import_module("...v1", __name__)
