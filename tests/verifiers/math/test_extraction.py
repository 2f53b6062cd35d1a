"""Where an answer is looked for, and what is none (contract, appendix "math", extraction)."""

from __future__ import annotations

import pytest
from tests.verifiers.math.runner import VERIFIER, auto, boxed, verdict

from assay.contract.references.math import MathReference
from assay.verifiers.candidate import Candidate

RIGHT = [
    ("42", "The answer is 42, because 40+2=42."),
    ("42", "x = 42\nQ.E.D."),
    ("12", "Thus we need 12 more days."),
    ("42", "The answer is forty-two (42)."),
    ("42", "答案：42"),
    ("42", "答案是 42。"),
    ("42", "答案为：42"),
    ("42", "故答案为42．"),
    ("A", "故选：A"),
    ("A", "故选A．"),
    ("A", "答案：A"),
    ("A", "选 (A)。"),
    ("\\frac{3}{4}", "所以概率是 $\\frac{3}{4}$。"),
    ("12", "因此共有 12 种方法。"),
    ("12", "因此共有12种。"),
    ("12", "12厘米"),
    ("12 厘米", "\\boxed{12\\text{厘米}}"),
    ("12\\text{ cm}", "\\boxed{12厘米}"),
    ("3,5", "\\boxed{3或5}"),
    ("3,5", "\\boxed{3 或 5}"),
    ("3,5", "\\boxed{3，5}"),
    ("3,5", "\\boxed{3和5}"),
    ("(3,5)", "\\boxed{（3，5）}"),
    ("0.5", "\\boxed{50％}"),
    ("20", "\\boxed{20 元}"),
    ("20", "最后需要付 20 元。"),
    ("20", "最终答案：20元"),
    ("x=3", "\\boxed{x＝3}"),
    ("甲", "\\boxed{甲}"),
    ("\\text{甲}", "答案：甲"),
    ("42", "最终答案：**42**"),
    ("42", "最终答案为：\n\\boxed{42}"),
    ("-3", "\\boxed{−3}"),
    ("90", "\\boxed{90度}"),
    ("90^\\circ", "\\boxed{90度}"),
    ("30000", "\\boxed{3万}"),
    ("42", "Therefore, the answer is:\n\n**42**"),
    ("42", "**Answer**\n\n42"),
    ("42", "### Final Answer\n42"),
    ("42", "### Final Answer\n\n$42$"),
    ("42", "Final answer: **42 apples**"),
    ("42", "The answer is $\\mathbf{42}$."),
    ("42", "The answer is \\(42\\)."),
    ("42", "The answer is 42 ."),
    ("42", "The answer is 42,"),
    ("42", "the answer is x = 42"),
    ("42", "The answer is: x=42."),
    ("\\frac12", "The answer is 1/2."),
    ("(1,2)", "The answer is (1, 2)."),
    ("\\{1,2\\}", "The answer is {1, 2}."),
    ("1,2", "The answers are 1 and 2."),
    ("1,2", "Answers: 1, 2"),
    ("42", "Answer = 42"),
    ("1000", "The answer is $1,000."),
    ("12.5\\%", "The answer is 12.5 percent."),
    ("42", "Our final answer is 42. I hope it is correct."),
    ("42", "The final answer is $\\boxed{42}$. I hope it is correct."),
    ("42", "I am confident that the answer is 42!"),
    ("42", "My answer is 42."),
    ("x^2+1", "The answer is x^2 + 1."),
    ("x^2+1", "The answer is $x^2 + 1$"),
    ("\\sqrt{2}", "The answer is sqrt(2)."),
    ("3\\sqrt{2}", "The answer is 3√2."),
    ("\\pi/2", "The answer is pi/2."),
    ("e^2", "The answer is e^2."),
    ("42", "Answer: 42 (units)"),
    ("12 cm", "\\boxed{12 \\text{ (cm)}}"),
    ("12", "\\boxed{12 \\text{ (mm)}}"),
    ("x=1,y=2", "\\boxed{x=1 \\\\ y=2}"),
    ("5", "The length is 5 m."),
    ("42", "So the total number of ways is therefore 42"),
    ("42", "So $n=42$ is the answer."),
    ("42", "Therefore 42."),
    ("3/7", "The probability is $\\frac{3}{7}$"),
    ("18", "A: 18"),
    ("18", "She makes $18 every day at the market."),
    ("18", "She makes 9 * 2 = $18 every day at the farmer's market."),
    ("18", "9 * 2 = <<9*2=18>>18"),
    ("(1,2)", "The point is $(1,2)$."),
    ("x=2", "so $x=2$"),
    ("6", "2+4=6"),
    ("\\frac{5}{6}", "$$\\frac{5}{6}$$"),
    ("42", "The answer is:\n\n42"),
    ("42", "The answer is\n$$42.$$"),
    ("A", "**A**"),
    ("C", "The answer is **(C) 12**."),
    ("42", "$$\\begin{aligned} x &= 40+2 \\\\ &= 42 \\end{aligned}$$"),
    ("42", "So x = 42. ∎"),
    ("42", "The answer is 42."),
    ("42", "So the answer is **42**."),
    ("42", "**Final Answer:** 42"),
    ("42", "**Final Answer**: $42$"),
    ("42", "Final Answer: The final answer is $42$. I hope it is correct."),
    ("42", "#### 42"),
    ("42", "blah\n#### 42\n"),
    ("1250", "#### $1,250"),
    ("42", "答案：42"),
    ("42", "答案：42（共 7 种情况）"),
    ("42", "最终答案是 42。"),
    ("42", "答案是42"),
    ("42", "Die Antwort ist 42."),
    ("42", "Antwort: 42"),
    ("42", "<answer>42</answer>"),
    ("42", "<answer> $42$ </answer>"),
    ("42", "<think>x</think> 42"),
    ("42", "So we get 42"),
    ("42", "So we get $x = 42$."),
    ("42", "So 42 apples remain."),
    ("1500000", "It is 1.5 million."),
    ("2\\sqrt{3}", "So the length is 2√3."),
    ("(3,7)", "So the pair is (3, 7)."),
    ("3x+1", "Then we have 3x+1."),
    ("-7", "So the value is −7."),
    ("3/4", "the probability is 3/4."),
    ("\\frac{3}{4}", "The probability is \\frac{3}{4}."),
    ("62500", "It costs $62,500."),
    ("62500", "It costs \\$62,500."),
    ("5", "The length is 5 cm."),
    ("5", "The length is 5 m."),
    ("0.5", "Hence p = 0.5"),
    ("x=5", "Therefore, x = 5."),
    ("5", "Therefore, x = 5."),
    ("B", "The answer is (B)."),
    ("B", "Answer: B"),
    ("B", "The correct option is B."),
    ("D", "So the answer is D) 12"),
    ("B", "Answer: B. Because 12 is even"),
    ("8", "The answer is $8$. Check: $8+1=9$."),
    ("42", "Answer:\n42"),
    ("42", "The final answer is:\n\\[42\\]"),
    ("42", "Therefore\n$$\n42\n$$"),
    ("42", "Therefore $$42$$"),
    ("12", "最终答案：12"),
    ("3,5", "答案是 3或5。"),
    ("42", "The answer is 42 (there are 7 cases)."),
    ("17", "Answer: 42. No wait, Answer: 17"),
    ("x", "So x."),
    ("5", "Final answer: x = 5"),
    ("6", "\\boxed{5} is wrong; \\boxed{6}"),
    ("5", "Answer: \\boxed{5}"),
    ("5", "The answer is $\\boxed{5}$. The answer is 6."),
    ("10:30", "The train arrives at 10:30."),
    ("\\text{Tuesday}", "The answer is Tuesday."),
    ("0.125", "The answer is 12.5%"),
    ("2^{10}", "The answer is 2^(10)"),
    ("1024", "The answer is 2**10"),
    ("\\pi", "The area is π."),
    ("4\\pi", "the area is 4*pi"),
    ("x>3", "So x > 3."),
    ("(3,\\infty)", "The solution set is (3, ∞)."),
    ("-5", "The answer is -5."),
    ("\\frac{1}{2}", "So the answer is $\\dfrac{1}{2}$"),
    ("1,2,3", "The solutions are 1, 2, and 3."),
    ("1000", "There are 1,000 of them."),
    ("1000", "There are 1000."),
]
WRONG = [
    ("42", "故选：A"),
    ("12\\text{ cm}", "\\boxed{12米}"),
    ("3", "\\boxed{3或5}"),
    ("50", "\\boxed{50％}"),
    ("甲", "\\boxed{乙}"),
    ("7", "答案：42（共 7 种情况）"),
    ("42", "答案不是42。"),
    ("42", "Answer: 四十二"),
    ("\\frac12", "The answer is one half."),
    ("10", "The answer is 10 (mod 7)."),
    ("42", "The answer is approximately 42."),
    ("42", "The answer is about 42."),
    ("42", "The answer is greater than 42."),
    ("42", "The answer is at most 42."),
    ("42", "The answer is less than 42."),
    ("42", "The answer is between 41 and 43."),
    ("42", "The answer is unknown."),
    ("42", "The answer is 42 or something."),
    ("42", "The answer is probably 42."),
    ("42", "The answer might be 42."),
    ("42", "Answer: I don't know, maybe 42"),
    ("42", "Answer: 42 42"),
    ("42", "Answer: 42; 43"),
    ("42", "Answer: 42 / 43"),
    ("42", "Answer: 42 (or 43)"),
    ("42", "Answer: 42 (not 43)"),
    ("5,7", "The value lies between 5 and 7."),
    ("5", "It is at least 5."),
    ("5", "It is more than 5."),
    ("5", "It is negative 5."),
    ("5", "The value is about 5."),
    ("12 cm", "\\boxed{12 \\text{ (m)}}"),
    ("12 cm", "\\boxed{12 \\text{ (mm)}}"),
    ("5", "\\boxed{5n}"),
    ("5", "\\boxed{5 n}"),
    ("5", "$x=5$ or $x=6$"),
    ("5", "The answer is $x=5$ or $x=6$."),
    ("5", "Either $x=5$ or $x=6$."),
    ("5", "So $x=6$, not $5$."),
    ("6", "So $x=6$, not $5$."),
    ("42", "Hence x = 42 \\qquad\\blacksquare"),
    ("7", "答案：42（共 7 种情况）"),
    ("41", "<answer>41</answer><answer>42</answer>"),
    ("42", "<think>so \\boxed{42}"),
    ("42", "It is not 42."),
    ("42", "The result isn't 42."),
    ("42", "The answer is not 42."),
    ("42", "I think it could be 42."),
    ("42", "Is it 42?"),
    ("42", "The answer is either 42 or 43."),
    ("42", "The answer is 42 or 43."),
    ("1.5", "It is 1.5 million."),
    ("2", "So the length is 2√3."),
    ("7", "So the pair is (3, 7)."),
    ("3", "Then we have 3x+1."),
    ("7", "So the value is -7."),
    ("512", "The values are 343 and 512."),
    ("5 cm", "The length is 5 m."),
    ("\\frac{3}{4}", "We must simplify $\\frac{6}{8}$."),
    ("16", "Compute $(2+2)^2$."),
    ("16", "I don't know $(2+2)^2$"),
    ("A", "A careful look shows that D is right."),
    ("9", "The answer is $8$. Check: $8+1=9$."),
    ("3", "所以 3或5。"),
    ("7", "The answer is 42 (there are 7 cases)."),
    ("42", "Answer: 42. No wait, Answer: 17"),
    ("I", "I am stuck."),
    ("A", "I need a hint."),
    ("5", "\\boxed{5} is wrong; \\boxed{6}"),
    ("5", "The answer is \\boxed{5"),
    ("5", "\\boxed{4} then \\boxed{5"),
    ("4", "\\boxed{4} then \\boxed{5"),
    ("42", ""),
    ("42", "\\boxed{}"),
    ("42", "\\boxed{ }"),
    ("3", "\\boxed{3} or \\boxed{4}"),
    ("4", "\\boxed{3} or \\boxed{4}"),
    ("\\text{Tuesday}", "It falls on Tuesday."),
    ("12.5", "The answer is 12.5%"),
    ("3", "So x > 3."),
    ("5", "The answer is -5."),
    ("3", "The total is 3 hours and 20 minutes."),
    ("20", "The total is 3 hours and 20 minutes."),
    ("3", "The solutions are 1, 2, and 3."),
    ("9", "Thank you for reading my solution to problem 9!"),
]


@pytest.mark.parametrize(("gold", "completion"), RIGHT)
def test_auto_reads_the_answer(gold: str, completion: str) -> None:
    assert auto(gold, completion)


@pytest.mark.parametrize(("gold", "completion"), WRONG)
def test_auto_pays_nothing_for_what_is_not_the_answer(gold: str, completion: str) -> None:
    assert not auto(gold, completion)


@pytest.mark.parametrize(
    "completion", ["Answer: 42", "#### 42", "$42$", "<answer>42</answer>", "\\boxed{42", "\\boxed{}"]
)
def test_boxed_last_reads_boxes_only(completion: str) -> None:
    assert verdict("42", completion).reason == "no_answer"


def test_final_line_reads_no_box_outside_its_line() -> None:
    assert verdict("42", "\\boxed{41} Answer: 42", extract="final_line").reward == 1.0
    assert verdict("42", "\\boxed{42}", extract="final_line").reason == "no_answer"
    assert verdict("42", "Answer: $\\boxed{42}$.", extract="final_line").reward == 1.0


def test_spans_count_code_points_of_the_judged_text() -> None:
    text = "<think>é\\boxed{1}</think> So \\boxed{ 42 } is it"
    found = verdict("42", text)
    assert found.span is not None and text[slice(*found.span)] == " 42 " and found.extracted == "42"
    found = verdict("42", "Ünï. The answer is **42**.", extract="auto")
    assert found.span is not None and "42" in "Ünï. The answer is **42**."[slice(*found.span)]


def test_thinking_that_never_closed_has_no_answer() -> None:
    assert verdict("42", "<think> \\boxed{42}").reason == "no_answer"
    spec = VERIFIER.prepare(MathReference(answer="42"))
    assert VERIFIER.verify(spec, Candidate.of("\\boxed{42}", prefill="<think>")).reason == "no_answer"
    assert VERIFIER.verify(spec, Candidate.of("</think>\\boxed{42}", prefill="<think>")).reward == 1.0


def test_no_answer_is_found_in_the_prompt() -> None:
    spec = VERIFIER.prepare(MathReference(answer="42", extract="auto"))
    assert VERIFIER.verify(spec, Candidate.of("", prompt="The answer is \\boxed{42}.")).reason == "no_answer"


def test_spam_and_truncation_are_flagged_and_change_nothing() -> None:
    spam = " ".join(f"\\boxed{{{n}}}" for n in range(40))
    assert "answer_spam" in verdict("39", spam).flags and verdict("39", spam).reward == 1.0
    assert "multiple_answers" in verdict("2", "\\boxed{1} \\boxed{2}").flags
    spec = VERIFIER.prepare(MathReference(answer="4"))
    truncated = VERIFIER.verify(spec, Candidate.of("\\boxed{4", truncated=True))
    assert truncated.flags == ("truncated",) and truncated.reward == 0.0


def test_one_answer_written_twice_is_one_answer() -> None:
    assert verdict("42", "\\boxed{42}, yes \\boxed{42}").flags == ()


def test_boxes_joined_by_or_are_a_hedge() -> None:
    assert verdict("4", "\\boxed{3} or \\boxed{4}").reason == "hedged"
    assert verdict("4", "$\\boxed{3}$ or $\\boxed{4}$").reason == "hedged"
    assert boxed("4", "4") and verdict("4", "\\boxed{4} or \\boxed{4}").reward == 1.0


@pytest.mark.parametrize(
    "completion",
    [
        "The answer is half of 5.",
        "It is twice 5.",
        "The result is the square root of $5$.",
        "It can be up to 5.",
        "It won’t be 5.",
        "The answer is anything but 5.",
        "It is false that the answer is 5.",
        "It would be wrong to say the answer is 5.",
        "The answer differs from 5.",
    ],
)
def test_words_that_change_or_deny_the_value_spoil_it(completion: str) -> None:
    assert not auto("5", completion)
