# ruff: noqa: E501
"""Nothing that a program does makes a `no_verdict`: every row here gets a reward, and the next item runs.

The attacks aim at each part that stands between a program and its verdict: the zygote, the jail's
memory and files, the tests' jail, the relay, checkers and interactors, the reader of output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from assay.verifiers.base import Verdict

Score = Callable[..., Verdict]
STDIO = [{"stdin": "1\n", "expected_stdout": "2\n"}]
CALL = [{"entry_point": "f", "args": [1], "expected": 2}]
ASSERT = [{"test_code": "assert f(1) == 2"}]
TOUCH = "x = bytearray({0} << 20)\nx[::4096] = b'x' * len(x[::4096])\n"
ATTACKS: dict[str, tuple[str, list[dict[str, Any]], str, dict[str, Any]]] = {
    "kill_parent": ("import os\nos.kill(os.getppid(), 9)", STDIO, "stdio", {}),
    "kill_all": ("import os\nos.kill(-1, 9)", STDIO, "stdio", {}),
    "kill_init": ("import os\nfor s in range(1, 65):\n  try: os.kill(1, s)\n  except OSError: pass", STDIO, "stdio", {}),
    "exit_111": ("import os\nos._exit(111)", STDIO, "stdio", {}),
    "exit_112_before_output": ("import os\nos._exit(112)", STDIO, "stdio", {}),
    "close_everything": ("import os\nos.closerange(0, 1000)", STDIO, "stdio", {}),
    "memory_at_once": (TOUCH.format(2000), STDIO, "stdio", {}),
    "memory_in_children": ("import os\nfor _ in range(6): os.fork()\n" + TOUCH.format(30), STDIO, "stdio", {"memory_mb": 128}),
    "memory_in_tmpfs": ("for n in range(99):\n  open(f'/dev/shm/{n}', 'wb').write(bytes(8 << 20))", STDIO, "stdio", {"memory_mb": 64}),
    "memory_in_memfds": ("import os\nfds = [os.memfd_create('m') for _ in range(200)]\nfor fd in fds: os.write(fd, bytes(8 << 20))", STDIO, "stdio", {"memory_mb": 64}),
    "memory_in_pipes": ("import os, fcntl\nwhile True:\n  r, w = os.pipe()\n  fcntl.fcntl(w, 1031, 1 << 20)\n  os.write(w, bytes(1 << 20))", STDIO, "stdio", {"memory_mb": 64}),
    "memory_in_sysv": ("import ctypes\nl = ctypes.CDLL(None)\nl.shmat.restype = ctypes.c_void_p\nfor k in range(99):\n  i = l.shmget(k, 32 << 20, 0o1600)\n  p = l.shmat(i, None, 0)\n  ctypes.memset(p, 1, 32 << 20)", STDIO, "stdio", {"memory_mb": 64}),
    "memory_of_the_kernel": ("import os\nwhile True:\n  try: os.pipe()\n  except OSError: os.fork()", STDIO, "stdio", {"memory_mb": 64}),
    "inodes": ("n = 0\nwhile True:\n  open(f'{n}', 'w').close(); n += 1", STDIO, "stdio", {}),
    "deep_folders": ("import os\nwhile True:\n  os.mkdir('d'); os.chdir('d')", STDIO, "stdio", {"wall_s": 2}),
    "fork_chain": ("import os\nwhile True:\n  if os.fork(): os._exit(0)", STDIO, "stdio", {}),
    "vfork_storm": ("import subprocess, sys\nwhile True: subprocess.Popen([sys.executable, '-c', 'while True: pass'])", STDIO, "stdio", {"processes": 20}),
    "stop_self": ("import os\nos.kill(os.getpid(), 19)", STDIO, "stdio", {"wall_s": 1}),
    "stderr_flood": ("import sys\nwhile True: sys.stderr.write('x' * 65536)", STDIO, "stdio", {"wall_s": 1}),
    "stdout_flood": ("while True: print('x' * 65536)", STDIO, "stdio", {}),
    "uninterruptible": ("import os, ctypes\nl = ctypes.CDLL(None)\nos.setsid\nl.vfork()\nl.pause()", STDIO, "stdio", {"wall_s": 1}),
    "ptrace_self": ("import ctypes, os\nctypes.CDLL(None).ptrace(0, 0, 0, 0)\nos.kill(os.getpid(), 5)", STDIO, "stdio", {}),
    "nul_source": ("print(2)\0", STDIO, "stdio", {}),
    "surrogate_source": ("print('\ud800')", STDIO, "stdio", {}),
    "huge_source": ("#" * 2_000_000, STDIO, "stdio", {}),
    "recursion_in_parser": ("x = " + "(" * 5000, STDIO, "stdio", {}),
    "bad_encoding_cookie": ("# -*- coding: nonsense -*-\nprint(2)", STDIO, "stdio", {}),
    "seccomp_kill": ("import ctypes\nctypes.CDLL(None).syscall(0x40000000 + 1)", STDIO, "stdio", {}),
    "answers_flood": ("import os\ndef f(x):\n  while True: os.write(3, b'[' * 65536)", CALL, "function", {}),
    "answer_closed": ("import os\nos.close(3)\ndef f(x): return 2", CALL, "function", {}),
    "answer_huge": ("def f(x): return 'a' * (20 << 20)", CALL, "function", {}),
    "answer_of_surrogates": ("def f(x): return '\\ud800' * 10", CALL, "function", {}),
    "answer_raises_in_repr": ("class E(Exception):\n  def __str__(self): raise self\n  __repr__ = __str__\ndef f(x): raise E", CALL, "function", {}),
    "answer_of_nested_types": ("def f(x):\n  t = int\n  for n in range(3000): t = type('T%d' % n, (), {'t': t})\n  return t()", CALL, "function", {}),
    "kill_in_call": ("import os\ndef f(x): os.kill(-1, 9); os.kill(os.getpid(), 9)", CALL, "function", {}),
    "thread_left_behind": ("import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()\ndef f(x): return 3", CALL, "function", {}),
    "t_jail_memory": ("def f(x): return 'x' * (7 << 20)", [{"test_code": "k = [f(n) for n in range(400)]\nassert k[0] == 2"}], "asserts", {}),
    "t_jail_time": ("def f(x): return 10 ** 10", [{"test_code": "n = 0\nwhile n < f(1): n += 1\nassert n"}], "asserts", {"wall_s": 1}),
    "t_jail_recursion": ("def f(x): return [x]", [{"test_code": "def g(x): return g(f(x))\nassert g(1)"}], "asserts", {"wall_s": 3}),
    "relay_flood": ("import os\nwhile True: os.write(4, b'x' * 65536)", ASSERT, "asserts", {}),
    "relay_junk": ("import os\nos.write(4, bytes(range(256)) + b'\\n')\ndef f(x): return 2", ASSERT, "asserts", {}),
    "relay_closed": ("import os\nos.close(3)\nos.close(4)", ASSERT, "asserts", {}),
    "relay_silent": ("import time\ntime.sleep(99)", ASSERT, "asserts", {"wall_s": 1}),
    "relay_unknown_handles": ("import os\nos.write(4, b'{\"names\":[{\"name\":\"f\",\"value\":{\"h\":[1,\"fn\",\"\"]}}]}\\n{\"q\":\"op\",\"h\":99,\"n\":\"call\"}\\n')\nimport time; time.sleep(9)", ASSERT, "asserts", {"wall_s": 2}),
    "relay_bad_class_offer": ("import os\nos.write(4, b'{\"names\":[{\"name\":\"f\",\"class\":7,\"bases\":3,\"raised\":4}]}\\n')\nimport time; time.sleep(9)", ASSERT, "asserts", {"wall_s": 2}),
    "relay_answer_to_nothing": ("import os\nos.write(4, b'{\"names\":{}}\\n{\"r\":1}\\n')\nimport time; time.sleep(9)", ASSERT, "asserts", {"wall_s": 2}),
    "relay_endless_callbacks": ("def f(g):\n  while True: g(1)", [{"test_code": "assert f(lambda x: x)"}], "asserts", {"wall_s": 1}),
    "relay_exception_bomb": ("class E(Exception):\n  def __init__(s, *a): s.x = s\ndef f(x): raise E(E(E()))", ASSERT, "asserts", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_it_gets_a_reward_of_zero(score: Score, name: str) -> None:
    code, tests, mode, limits = ATTACKS[name]
    verdict = score(code, tests, mode, limits={"wall_s": 5, **limits})
    assert verdict.reward == 0
    assert score("print(int(input()) * 2)", STDIO).reward == 1


CHECKER = "def check(stdin, stdout, expected):\n    if 'boom' in stdout: raise MemoryError\n    while 'hang' in stdout: pass\n    return stdout == expected"


@pytest.mark.parametrize("printed", ["boom", "boom " * 100000, "\\udcff", "\\x00" * 9])
def test_a_checker_cannot_be_crashed_into_an_excuse(score: Score, printed: str) -> None:
    checker = {"language": "python", "source": CHECKER, "protocol": "python"}
    code = f"import sys\nsys.stdout.buffer.write('{printed}'.encode('utf-8', 'surrogateescape'))"
    assert score(code, [{"stdin": "", "expected_stdout": "2"}], checker=checker).reward == 0


@pytest.mark.parametrize(
    "code",
    ["while True: print('x' * 10000)", "import os\nos.close(0); os.close(1)\nimport time; time.sleep(60)", "1/0"],
)
def test_an_interactor_cannot_be_crashed_into_an_excuse(score: Score, code: str) -> None:
    source = "def interact(stdin, read, write):\n    kept = []\n    while (line := read()) is not None: kept.append(int(line))\n    return sum(kept) == 5"
    interactor = {"language": "python", "source": source, "protocol": "python"}
    assert score(code, [{"stdin": ""}], interactor=interactor, limits={"wall_s": 2}).reward == 0
