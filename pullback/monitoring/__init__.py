"""Training in sight: numbers of a loop, live, in files and as pictures."""

from .curves import Curve as Curve
from .curves import History as History
from .monitor import Monitor as Monitor
from .monitor import monitor as monitor
