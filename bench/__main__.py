"""Run benchmarks by name."""

import importlib
import pkgutil
import sys

import bench

NOT_BY_DEFAULT = ("gpu", "regimes")
"""They need a GPU, or the environment of the training loop."""
names = sys.argv[1:] or [
    m.name for m in pkgutil.iter_modules(bench.__path__) if not m.name.startswith("_") and m.name not in NOT_BY_DEFAULT
]
for name in names:
    print(f"== {name}", flush=True)
    importlib.import_module(f"bench.{name}").main()
