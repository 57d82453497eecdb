"""`tf.config`: whether functions are traced."""

from .function import functions_run_eagerly as functions_run_eagerly
from .function import run_functions_eagerly as run_functions_eagerly
