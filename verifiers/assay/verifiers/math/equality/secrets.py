"""Numbers that nobody outside this process knows: where expressions are compared, and modulo which primes.

Drawn once per process from the system's randomness. A completion that knew them could be made to agree with a gold
there without being equal to it. The same name gives the same number throughout a process.
"""

from __future__ import annotations

import hashlib
import os

_KEY = os.urandom(32)
_PRIME_BITS = 127
_ROUNDS = 40
"""Rounds of Miller-Rabin: a composite passes with a chance below 4^-40; it would only shrink the bound's exponent."""
_SMALL = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)


def drawn(name: str, size: int) -> int:
    """A number below 256^`size` (at most 64) that depends on `name` and on this process alone."""
    digest = hashlib.blake2b(name.encode("utf-8", "replace"), key=_KEY, digest_size=size).digest()
    return int.from_bytes(digest, "big")


def drawn_prime() -> int:
    """A random prime of 127 bits."""
    while True:
        candidate = int.from_bytes(os.urandom(16), "big") >> 1 | 1 << (_PRIME_BITS - 1) | 1
        if _is_prime(candidate):
            return candidate


def _is_prime(number: int) -> bool:
    if any(number % small == 0 for small in _SMALL):
        return False
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(_passes(number, odd, twos) for _ in range(_ROUNDS))


def _passes(number: int, odd: int, twos: int) -> bool:
    """One round of Miller-Rabin with a random base."""
    power = pow(int.from_bytes(os.urandom(24), "big") % (number - 3) + 2, odd, number)
    if power in (1, number - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % number
        if power == number - 1:
            return True
    return False
