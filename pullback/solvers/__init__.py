"""Solvers with implicit derivatives: of the solution, not of the steps; all modes and orders."""

from .linear import cg as cg
from .linear import gmres as gmres
from .linear import linear_solve as linear_solve
from .ode import odeint as odeint
from .root import fixed_point as fixed_point
from .root import root as root
