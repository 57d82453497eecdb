"""Memory and time of a graph: saved arrays, profiles, and the peak with and without checkpoints."""

from .kept import Kept as Kept
from .kept import Residuals as Residuals
from .kept import residuals as residuals
from .peaks import Comparison as Comparison
from .peaks import Peak as Peak
from .peaks import peak as peak
from .profiler import Profile as Profile
from .profiler import profile as profile
