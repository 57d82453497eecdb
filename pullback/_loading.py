"""Loads the largest rooms with the garbage collector off.

What an import makes stays, so a collection finds nothing, and takes a tenth of the time.
"""

import gc

_collecting = gc.isenabled()
gc.disable()
try:
    from . import custom as custom
    from . import ops as ops
    from . import transforms as transforms
finally:
    if _collecting and not gc.get_freeze_count():
        gc.freeze()  # and back: now all of it is old, and the next collection does not look at it
        gc.unfreeze()
    if _collecting:
        gc.enable()
