"""Mathematical answers: extraction, typed values, and comparison by kind (contract, "math").

extraction   where the answer stands        tokens, parser   text -> tree
shapes       tree -> typed value            compare          typed values, by kind
scalar       exact -> modulo primes -> numeric
"""

from assay.verifiers.math.verifier import MathVerifier

__all__ = ["MathVerifier"]
