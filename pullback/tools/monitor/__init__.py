"""`monitor`: measures a training loop; shows its numbers live, in files and as plots."""

from .curves import Curve as Curve
from .curves import History as History
from .monitor import Monitor as Monitor
from .monitor import monitor as monitor
