"""One idea, a gradient written by hand, in every spelling people know: one file a way."""
