"""Hazards: common mistakes in custom gradients, one file per family."""

from . import batching as batching
from . import capturing as capturing
from . import cotangents as cotangents
from . import differing as differing
from . import edges as edges
from . import layouts as layouts
from . import leaking as leaking
from . import lengths as lengths
from . import needing as needing
from . import paths as paths
from . import precision as precision
from . import ranks as ranks
from . import repeating as repeating
from . import threads as threads
from . import writing as writing
