"""One file a system, the same function names in each, to be read side by side.

A function makes everything that its workload needs and returns (what to call, how many units of
work one call is). A workload that a system has no function for is left out for it.
"""
