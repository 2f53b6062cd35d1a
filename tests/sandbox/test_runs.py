# ruff: noqa: E501
"""What a run reports: how it ended, what it used, what it printed, and never more than its bounds."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from assay.sandbox import LimitTooHigh, RunResult, Status

Run = Callable[..., RunResult]


def test_a_program_reads_stdin_and_prints(python: Run) -> None:
    result = python("print(int(input()) * 2)", "21\n")
    assert (result.status, result.exit_code, result.stdout) == (Status.OK, 0, b"42\n")


def test_usage_is_measured(python: Run) -> None:
    result = python("x = bytearray(50 << 20)\nx[::4096] = b'x' * len(x[::4096])\nsum(range(10**6))")
    assert result.memory_kb > 50_000
    assert 0 < result.cpu_s <= result.wall_s * 2 + 0.1


@pytest.mark.parametrize("code", [1, 3, 137, 255])
def test_an_exit_code_is_a_runtime_error_and_is_kept(python: Run, code: int) -> None:
    result = python(f"import os\nprint('right', flush=True)\nos._exit({code})")
    assert (result.status, result.exit_code, result.signal) == (Status.RUNTIME_ERROR, code, None)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGTERM", "SIGXFSZ", "SIGUSR1"])
def test_a_program_that_signals_itself_dies_of_it(python: Run, name: str) -> None:
    result = python(
        f"import os, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nos.kill(os.getpid(), signal.{name})"
    )
    assert (result.status, result.signal) == (Status.RUNTIME_ERROR, getattr(signal, name))


def test_wall_time_is_bounded_whatever_the_program_ignores(python: Run) -> None:
    source = "import signal, time\nfor s in range(1, 32):\n  try: signal.signal(s, signal.SIG_IGN)\n  except Exception: pass\ntime.sleep(60)"
    result = python(source, wall_s=0.5)
    assert result.status is Status.TIMEOUT
    assert result.wall_s < 5


def test_cpu_time_is_bounded(python: Run) -> None:
    result = python("while True: pass", wall_s=20, cpu_s=1)
    assert result.status is Status.TIMEOUT
    assert result.cpu_s < 2


def test_a_stopped_program_times_out(python: Run) -> None:
    assert python("import os\nos.kill(os.getpid(), 19)", wall_s=0.5).status is Status.TIMEOUT


def test_output_beyond_the_bound_ends_the_run(python: Run) -> None:
    result = python("while True: print('a' * 10000)", output_mb=1)
    assert result.status is Status.OUTPUT_LIMIT
    assert len(result.stdout) == 1 << 20 and result.stdout_truncated


def test_stderr_beyond_the_bound_is_drained_and_harmless(python: Run) -> None:
    result = python("import sys\nsys.stderr.write('e' * (1 << 20))\nprint('fine')")
    assert (result.status, result.stdout) == (Status.OK, b"fine\n")
    assert len(result.stderr) == 64 << 10 and result.stderr_truncated


def test_memory_beyond_the_bound_ends_the_run(python: Run) -> None:
    result = python("x = bytearray(1 << 30)\nx[::4096] = b'x' * len(x[::4096])\nprint('fits')", memory_mb=128)
    assert not result.ok and b"fits" not in result.stdout


def test_what_was_printed_before_the_end_is_kept(python: Run) -> None:
    assert python("print('a')\nraise SystemExit(2)").stdout == b"a\n"


def test_the_run_ends_with_its_main_process(python: Run) -> None:
    result = python("import os, time\nif os.fork() == 0: time.sleep(60)\nprint('main')", wall_s=20)
    assert result.ok and result.wall_s < 10 and result.stdout == b"main\n"


def test_binary_output_stays_bytes(python: Run) -> None:
    assert python("import sys\nsys.stdout.buffer.write(bytes(range(256)))").stdout == bytes(range(256))


def test_a_limit_above_the_ceiling_is_refused(python: Run) -> None:
    with pytest.raises(LimitTooHigh, match="wall_s"):
        python("pass", wall_s=1e6)


@pytest.mark.parametrize("repeat", range(3))
def test_runs_do_not_see_each_other(python: Run, repeat: int) -> None:
    source = (
        "import os, builtins, sys\n"
        "places = ['.', '/tmp', '/dev/shm', '/var/tmp', os.path.expanduser('~')]\n"
        "seen = [p for p in places if os.path.exists(p + '/mark')]\n"
        "for p in places: open(p + '/mark', 'w').close()\n"
        "print(seen, hasattr(builtins, 'mark'), os.environ.get('MARK'), 'mark' in sys.modules)\n"
        "builtins.mark = 1; os.environ['MARK'] = '1'; sys.modules['mark'] = sys\n"
    )
    assert python(source).stdout == b"[] False None False\n"


def test_stdin_can_be_reopened_by_name(python: Run) -> None:
    assert python("print(open('/dev/stdin').read())", "xyz").stdout == b"xyz\n"


def test_stdout_can_be_reopened_by_name(python: Run) -> None:
    assert python("print('a', flush=True)\nopen('/dev/stdout', 'w').write('b')").stdout == b"a\nb"
