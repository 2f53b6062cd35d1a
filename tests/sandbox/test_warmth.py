"""What a zygote holds warm costs a run nothing, and what it rehearsed leaves no trace in one."""

from __future__ import annotations

import marshal
from collections.abc import Callable

from assay.sandbox import RunResult
from assay.sandbox.guest.zygote import program

Run = Callable[..., RunResult]

READ_EVERYTHING = """
import gc, resource, sys
names = [vars(module) for module in list(sys.modules.values())]
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(3):
    for known in names:
        for item in known.values():
            held = [item]
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_reading_what_is_warm_copies_no_page(python: Run) -> None:
    assert int(python(READ_EVERYTHING).stdout) < 60  # about 600 where reading is counted


def test_what_a_program_makes_is_freed_as_ever(python: Run) -> None:
    source = (
        "import sys\nclass A:\n    def __del__(self): print('freed')\n"
        "a = A()\nprint(sys.getrefcount(a))\ndel a\nprint('end')"
    )
    assert python(source).stdout == b"2\nfreed\nend\n"


def test_practice_leaves_no_trace(python: Run) -> None:
    source = (
        "import gc, os, sys, threading\n"
        "print([name for name in sys.modules if 'practice' in name or name.startswith('assay')])\n"
        "print(gc.isenabled(), gc.get_count()[2], len(sys.argv), threading.main_thread().is_alive())\n"
        "print(sorted(os.listdir('/proc/self/fd'))[:3], os.listdir('.'), __name__)"
    )
    assert python(source).stdout.decode().splitlines() == [
        "[]",
        "True 0 1 True",
        "['0', '1', '2'] ['main.py'] __main__",
    ]


def test_two_runs_do_not_draw_the_same_numbers(python: Run) -> None:
    source = "import random, uuid\nprint(random.random(), uuid.uuid4(), random.Random().random())"
    drawn = [python(source).stdout.split() for _ in range(3)]
    assert all(len(set(column)) == 3 for column in zip(*drawn, strict=True))


def test_code_that_an_earlier_run_cut_short_is_compiled_anew() -> None:
    source = b"x = [1, 'a', (2, 3)]\ndef f(): return x\n"
    whole = marshal.dumps(compile(source, "main.py", "exec"))
    for length in range(len(whole)):
        names: dict[str, object] = {}
        exec(program.compiled({"source": 0, "code": 1}, [source, whole[:length]], "main.py"), names)
        assert names["x"] == [1, "a", (2, 3)]
