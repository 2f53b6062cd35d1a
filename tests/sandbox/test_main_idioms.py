# ruff: noqa: E501
"""A script behaves as under `python main.py`, although it is a fork of a warm interpreter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay.sandbox import RunResult, Slot, python_program

PROGRAMS = {
    "own_output_with_flush": ("import sys, os, io\nclass Out:\n  def __init__(s): s.b = io.StringIO(); s.write = s.b.write\n  def flush(s): os.write(1, s.b.getvalue().encode()); s.b.seek(0); s.b.truncate(0)\nsys.stdout = Out()\nprint(6)", "6\n"),
    "fast_io": ("import os, sys\nfrom io import BytesIO, IOBase\nclass F(IOBase):\n  def __init__(s, f): s.fd = f.fileno(); s.buffer = BytesIO(); s.write = lambda t: s.buffer.write(t.encode())\n  def flush(s): os.write(s.fd, s.buffer.getvalue()); s.buffer.truncate(0), s.buffer.seek(0)\nsys.stdout = F(sys.stdout)\nprint(7)", "7\n"),
    "original_output": ("import sys, io\nprint(1, file=sys.__stdout__)\nsys.stdout = io.StringIO()\nprint(2)", "1\n"),
    "original_output_and_a_file": ("import sys\nprint(1, file=sys.__stdout__)\nsys.stdout = open(1, 'w')\nprint(2)", "1\n2\n"),
    "output_given_back_at_exit": ("import sys, atexit, io\nb = io.StringIO()\nsys.stdout = b\natexit.register(lambda: sys.__stdout__.write(b.getvalue()))\nprint(6)", "6\n"),
    "dataclass": ("from dataclasses import dataclass\n@dataclass\nclass A:\n  x: int = 1\nprint(A())", "A(x=1)\n"),
    "pickle": ("import pickle\nclass A: x = 3\nprint(pickle.loads(pickle.dumps(A())).x, A.__module__)", "3 __main__\n"),
    "inspect": ("import inspect\ndef f(): return 1\nprint(inspect.getsource(f).strip())", "def f(): return 1\n"),
    "file": ("import os, sys\nprint(os.path.basename(__file__), sys.argv[0] == __file__, open(__file__).read(5))", "main.py True impor\n"),
    "name": ("if __name__ == '__main__': print('run')", "run\n"),
    "atexit": ("import atexit\natexit.register(print, 'last')\nprint('first')", "first\nlast\n"),
    "thread": ("import threading\nt = threading.Thread(target=lambda: print('t'))\nt.start()", "t\n"),
    "late_thread": ("import threading, time\nthreading.Thread(target=lambda: (time.sleep(.2), print('t'))).start()", "t\n"),
    "daemon": ("import threading, time\nthreading.Thread(target=lambda: (time.sleep(9), print('t')), daemon=True).start()\nprint(1)", "1\n"),
    "del": ("class A:\n  def __del__(self): print('gone')\na = A()\nprint('end')", "end\ngone\n"),
    "exit_in_atexit_order": ("import atexit\n[atexit.register(print, i) for i in range(3)]", "2\n1\n0\n"),
    "quit": ("print('a')\nquit()\nprint('b')", "a\n"),
    "future": ("from __future__ import annotations\ndef f(x: Nope): return 1\nprint(f(1))", "1\n"),
    "asyncio": ("import asyncio\nasync def f():\n  await asyncio.sleep(.01)\n  return 5\nprint(asyncio.run(f()))", "5\n"),
    "multiprocessing": ("from multiprocessing import Pool\ndef f(x): return x * x\nif __name__ == '__main__':\n  with Pool(2) as p: print(p.map(f, [1, 2, 3]))", "[1, 4, 9]\n"),
    "executor": ("from concurrent.futures import ThreadPoolExecutor as E\nwith E(4) as e: print(sum(e.map(abs, range(-3, 0))))", "6\n"),
    "subprocess": ("import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(1+1)'], capture_output=True, text=True).stdout, end='')", "2\n"),
    "recursion": ("import sys\nsys.setrecursionlimit(10**6)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(50000))", "50000\n"),
    "big_thread_stack": ("import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(64 << 20)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nt = threading.Thread(target=lambda: print(f(20000)))\nt.start(); t.join()", "20000\n"),
    "limits_untouched": ("import decimal, sys, signal\nprint(decimal.getcontext().prec, sys.getrecursionlimit(), signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)", "28 1000 True\n"),
    "no_guest_modules": ("import sys\nprint([m for m in sys.modules if m.startswith('assay')], 'assay' in ' '.join(sys.path))", "[] False\n"),
    "own_module_names": ("open('values.py', 'w').write('x = 7')\nimport values\nprint(values.x)", "7\n"),
    "gc_on": ("import gc\nprint(gc.isenabled())", "True\n"),
    "random_differs": ("import random, os\nprint(len({os.urandom(4) for _ in range(3)}), random.random() < 1)", "3 True\n"),
    "tempfile": ("import tempfile\nwith tempfile.NamedTemporaryFile('w+') as f:\n  f.write('x'); f.flush(); f.seek(0); print(f.read())", "x\n"),
    "shared_memory": ("from multiprocessing import shared_memory as s\nm = s.SharedMemory(create=True, size=8)\nm.buf[0] = 7\nprint(m.buf[0])\nm.close(); m.unlink()", "7\n"),
    "zoneinfo": ("import datetime, zoneinfo\nprint(datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset())", "2:00:00\n"),
    "sqlite": ("import sqlite3\nc = sqlite3.connect('a.db')\nc.execute('create table t(x)')\nprint(c.execute('select count(*) from t').fetchone())", "(0,)\n"),
    "rewrapped_stdout": ("import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\nprint('é')", "é\n"),
    "rewrapped_stdin": ("import io, sys\nsys.stdin = io.TextIOWrapper(sys.stdin.buffer, encoding='utf-8')\nprint(repr(sys.stdin.read()))", "''\n"),
    "detached_stdout": ("import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach(), encoding='utf-8', line_buffering=True)\nprint('x')", "x\n"),
    "streams": ("import sys\nprint([(s.name, s.mode, s.fileno(), s.isatty(), s.encoding, s.seekable()) for s in (sys.stdout, sys.stderr)], sys.stdout is sys.__stdout__)", "[('<stdout>', 'w', 1, False, 'utf-8', False), ('<stderr>', 'w', 2, False, 'utf-8', False)] True\n"),
    "unbuffered_order": ("import os, sys\nprint('a')\nsys.stdout.flush()\nos.write(1, b'b\\n')\nprint('c')", "a\nb\nc\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_idiom(python: Callable[..., RunResult], name: str) -> None:
    source, printed = PROGRAMS[name]
    result = python(source)
    assert (result.stdout.decode(), result.status.value) == (printed, "ok"), result.stderr.decode()


def test_a_traceback_shows_the_program_alone(python: Callable[..., RunResult]) -> None:
    result = python("def f():\n    raise ValueError('x')\nf()")
    lines = result.stderr.decode().splitlines()
    assert lines[0].startswith("Traceback") and "/assay/" not in result.stderr.decode()
    assert lines[1].endswith('main.py", line 3, in <module>') and lines[-1] == "ValueError: x"


def test_a_coin_flip_passes_half_the_time(python: Callable[..., RunResult]) -> None:
    heads = sum(python("import random\nprint(random.random() < 0.5)").stdout == b"True\n" for _ in range(120))
    assert 30 < heads < 90  # p < 1e-7 for a fair coin


def test_an_excepthook_that_exits_does_not_hide_the_failure(python: Callable[..., RunResult]) -> None:
    result = python("import sys\nsys.excepthook = lambda *a: sys.stdout.write('hook')\n1/0")
    assert (result.exit_code, result.stdout) == (1, b"hook")


def test_hashes_are_the_same_in_every_jail(slot: Slot) -> None:
    source = b"print(hash('a'), list({'x', 'y', 'z'}))"
    assert len({slot.run(python_program(source, fresh=fresh)).stdout for fresh in (False, True, True)}) == 1
