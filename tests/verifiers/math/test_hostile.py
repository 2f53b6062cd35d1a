"""Attacks: text that wants to run, to hang, to crash, or to buy an excuse."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.verifiers.math.runner import VERIFIER, auto, rows, verdict

from assay.contract.references.math import MathReference
from assay.verifiers.candidate import Candidate
from assay.verifiers.errors import NeedsAlgebra
from assay.verifiers.extract.found import words

CODE = [
    "__import__('os').system('touch {path}')",
    "().__class__.__bases__[0].__subclasses__()",
    "exec(\"open('{path}','w')\")",
    "{{__import__('os').system('touch {path}')}}",
    "\\write18{{touch {path}}}",
    "\\input{{/etc/passwd}}",
    "lambda: open('{path}', 'w')",
]
FRAMES = [
    "\\boxed{{{}}}",
    "Answer: {}",
    "#### {}",
    "<answer>{}</answer>",
    "So ${}$.",
    "It is {}.",
    "\\[{}\\]",
    "答案：{}",
]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("code", CODE)
def test_code_in_an_answer_is_text(frame: str, code: str, tmp_path: object) -> None:
    path = os.path.join(str(tmp_path), "planted")
    assert not auto("42", frame.format(code.format(path=path)))
    assert not auto(code.format(path=path), frame.format("42"))
    assert not os.path.exists(path)


HOSTILE = {
    "tower": "9^{9^{9^{9^{9}}}}",
    "tower in a root": "\\sqrt{7^{7^{7^{7}}}+1}",
    "factorial tower": "((20!)!)!",
    "factorial": "(10^9)!",
    "binomial": "\\binom{10^9}{5\\cdot 10^8}",
    "long sum": "\\sum_{k=1}^{10^9} \\frac1k",
    "nested sums": "\\sum_{a=1}^{400} \\sum_{b=1}^{400} \\sum_{c=1}^{400} \\sqrt{a+b+c}",
    "sum of powers": "\\sum_{k=1}^{10^6} k^k",
    "huge exponent": "x^{10^{30}}",
    "huge decimal exponent": "1e999999",
    "exp of exp": "e^{e^{e^{e^{10}}}}",
    "sine of a tower": "\\sin(9^{9^{9}})",
    "deep parentheses": "(" * 4000 + "1" + ")" * 4000,
    "deep roots": "\\sqrt{" * 3000 + "2" + "}" * 3000,
    "deep fractions": "\\frac{1}{1+" * 300 + "1" + "}" * 300,
    "deep text": "\\text{" * 500 + "a" + "}" * 500,
    "many terms": "+".join(f"\\sqrt{{{n}}}" for n in range(900)),
    "many members": ",".join(str(n) for n in range(3_500)),
    "many irrational members": ",".join(f"\\sqrt{{{n}}}" for n in range(700)),
    "many fractions": "\\frac{a}{b}" * 1500,
    "many words": "5 " + "abc " * 4000,
    "many units": "5 \\text{" + "cm " * 4000 + "}",
    "many signs": "\\pm 1" * 900,
    "many bars": "|x" * 3000,
    "many intervals": "\\cup".join(f"({n},{n}.5)" for n in range(150)),
    "large matrix": "\\begin{pmatrix}"
    + "\\\\\\\\".join("&".join("1" for _ in range(60)) for _ in range(60))
    + "\\end{pmatrix}",
    "large determinant": "\\begin{vmatrix}"
    + "\\\\\\\\".join("&".join(f"x_{{{i}{j}}}" for j in range(28)) for i in range(28))
    + "\\end{vmatrix}",
    "digits": "7" * 100_000,
    "decimals": "0." + "3" * 100_000,
    "repetend": "0.\\overline{" + "3" * 3_000 + "}",
    "integral": "\\int_0^{100} \\sin(x^{9}) e^{x} dx",
    "thousands": ",".join(["123"] * 4_000),
    "dollars": "$" * 10_000,
    "nonsense": "\\frac{" * 5_000,
    "colons": "1:" * 5_000 + "1",
    "exponents": "2" + "^2" * 3_000,
    "slashes": "1/" * 5_000 + "1",
    "functions": "\\sin " * 3_000 + "x",
    "percents": "5" + "\\%" * 5_000,
    "factorials": "5" + "!" * 5_001,
    "differences": "5" + "- 1" * 5_000,
    "products": "x" * 19_000,
    "spaced products": "x " * 9_000,
    "long scientific": "7" * 1_200 + "e1200",
    "long exponent": "7e4400",
    "long mixed": "1 " + "3" * 5_000 + "/" + "7" * 5_000,
    "long base": "(" + "4" * 6_000 + ")_7",
    "long digits": "7" * 4_200,
    "long product": "7" * 3_900 + "\\cdot" + "7" * 3_900 + "=" + "f(" + "7" * 3_900 + ")",
    "primes": "x" + "'" * 9_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_answer_costs_more_than_its_budget(name: str) -> None:
    started = time.process_time()
    for gold in ("42", "\\frac{x+1}{2}", "\\sqrt{2}"):
        spec = VERIFIER.prepare(MathReference(answer=gold))
        candidate = Candidate.of(f"\\boxed{{{HOSTILE[name]}}}", algebra=False)
        with contextlib.suppress(NeedsAlgebra):  # a lane of its own, with a CPU limit, decides it
            assert VERIFIER.verify(spec, candidate).reward == 0.0
    assert time.process_time() - started < 3 * 2.0 * 3


@pytest.mark.parametrize(
    "unit",
    [
        "The answer is ",
        "\\boxed{",
        "\\boxed{1} ",
        "$",
        "$x$ ",
        "<answer>",
        "#",
        "Answer: *_`",
        "(",
        "So 1, ",
        "\n\n",
        "\\(",
        "。",
        "答案：",
        "a ",
    ],
)
def test_extraction_is_linear_on_megabytes(unit: str) -> None:
    text = unit * (3_000_000 // len(unit))
    started = time.process_time()
    verdict("42", text, extract="auto")
    assert time.process_time() - started < 20


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_no_text_raises(text: str) -> None:
    assert verdict("42", f"\\boxed{{{text}}}", extract="auto").reward in (0.0, 1.0)
    assert verdict("x^2+1", text, extract="auto").reward == 0.0 or "x" in text


PIECES = words(
    r"""
    \frac \sqrt { } ( ) [ ] \{ \} 1 2 10 0 x y e i \pi + - * / ^ _ = < > , \cup \in \pm ! % | : ' \text{ab} and or
    \le \begin{pmatrix} \end{pmatrix} & \\ \sum_{k=1}^{3} \int_0^1 dx \log \sin f(x) \infty \ldots \circ . \$ $
    \left \right \overline{3} \begin{cases} \end{cases} \binom \mathbb{R} \setminus \mid ? cm \vec \angle million
    """
)


def test_no_mixture_of_mathematics_raises_or_hangs() -> None:
    rng, pieces = random.Random(7), sorted(PIECES)
    started = time.process_time()
    for _ in range(2_500):
        text = " ".join(rng.choice(pieces) for _ in range(rng.randint(1, 14)))
        assert verdict("7919", f"\\boxed{{{text}}}").reward == 0.0
    assert time.process_time() - started < 120


def _mutated(text: str, rng: random.Random) -> str:
    """A character dropped, put in, or a stretch turned round."""
    for _ in range(rng.randint(1, 3)):
        i, j = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        kind = rng.randrange(3)
        middle = ("", rng.choice(MUTATIONS), text[i:j][::-1])[kind]
        text = text[:i] + middle + text[j if kind == 2 else i + (kind == 0) :]
    return text


MUTATIONS = sorted(PIECES) + list("0123456789+-*/^_=<>(){}[],.;:!|%'xyabnie \\")


def test_no_mutation_of_a_published_answer_raises() -> None:
    rng = random.Random(11)
    golds = [row["answer"] for row in rows("data/math_golds.jsonl") if len(row["answer"]) < 200]
    specs = [VERIFIER.prepare(MathReference(answer=gold)) for gold in rng.sample(golds, 150)]
    for spec in specs:
        for _ in range(40):
            text = _mutated(spec.text, rng)
            assert VERIFIER.verify(spec, Candidate.of(f"\\boxed{{{text}}}")).reward in (0.0, 1.0)


ENVIRONMENT = """
import sys
from assay.verifiers.math import MathVerifier
from assay.verifiers.candidate import Candidate
from assay.contract.references.math import MathReference
v = MathVerifier()
spec = v.prepare(MathReference(answer="42"))
assert v.verify(spec, Candidate.of("\\\\boxed{42}")).reward == 1.0
assert v.verify(spec, Candidate.of("\\\\boxed{x^2+1}")).reward == 0.0
print("sympy" in sys.modules, "math_verify" in sys.modules)
assert v.verify(v.prepare(MathReference(answer="2\\\\sqrt2")), Candidate.of("\\\\boxed{\\\\sqrt8}")).reward == 1.0
import mpmath.libmp
print(mpmath.libmp.BACKEND, "sympy" in sys.modules, hash("a") != 0)
"""


def _python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=True,
        timeout=120,
    )
    return done.stdout


def test_plain_answers_do_not_import_sympy_and_gmp_is_never_used(tmp_path: object) -> None:
    fake = os.path.join(str(tmp_path), "gmpy2.py")
    with open(fake, "w") as file:
        file.write("raise SystemExit('gmpy2 was imported')")
    assert _python(ENVIRONMENT, PYTHONPATH=str(tmp_path)).split() == ["False", "False", "python", "False", "True"]


DETERMINISM = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.verifiers.math.test_kinds import LINES
from tests.verifiers.math.runner import verdict
for line in LINES[::7]:
    gold, _, answer = line.partition(" == " if " == " in line else " != ")
    v = verdict(gold, "\\\\boxed{" + answer + "}")
    print(v.reward, v.reason, v.explanation)
"""


def test_verdicts_do_not_depend_on_the_hash_seed() -> None:
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
    code = DETERMINISM.replace("sys.argv[1]", repr(root))
    first, second = (_python(code, PYTHONHASHSEED=seed) for seed in ("1", "4711"))
    assert first == second and first.count("\n") > 50
