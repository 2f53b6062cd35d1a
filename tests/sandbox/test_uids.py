"""No two supervisors of one host share the uids of their jails."""

import subprocess
import sys

from assay.sandbox.host.uids import BLOCK, claim_block

BASE = 900_000_000
CLAIM = f"from assay.sandbox.host.uids import claim_block; print(claim_block({BASE}), flush=True); input()"


def claimer() -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", CLAIM], stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def first_line(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def test_each_process_has_a_block_of_its_own_and_death_frees_it() -> None:
    with claimer() as one, claimer() as two:
        blocks = {first_line(one), first_line(two)}
        assert blocks == {BASE, BASE + BLOCK}
        one.kill()
        two.kill()
        one.wait()
        two.wait()
    with claimer() as three:
        assert first_line(three) == BASE
        three.kill()


def test_a_process_may_hold_several() -> None:
    assert claim_block(BASE + 10 * BLOCK) != claim_block(BASE + 10 * BLOCK)
