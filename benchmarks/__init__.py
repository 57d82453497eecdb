"""How fast pullback is beside its peers: `python -m benchmarks`, see docs/performance.md."""
