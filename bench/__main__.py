"""Run benchmarks by name."""

import importlib
import pkgutil
import sys

import bench

names = sys.argv[1:] or [
    m.name for m in pkgutil.iter_modules(bench.__path__) if not m.name.startswith("_") and m.name != "gpu"
]
for name in names:
    print(f"== {name}", flush=True)
    importlib.import_module(f"bench.{name}").main()
