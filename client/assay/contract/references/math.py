"""The reference of `math`: the right answer, and how a completion's answer is extracted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from assay.contract.base import ContractModel, Reference


class MathTolerance(ContractModel):
    """Maximum distance of a real number from the gold: max(abs, rel * |gold|). Without it numbers are exact."""

    abs: Annotated[float, Field(ge=0, description="Absolute tolerance.")] = 0.0
    rel: Annotated[float, Field(ge=0, le=1, description="Tolerance relative to the gold's size.")] = 0.0


_ANSWER = """The right answer: LaTeX, ASCII or Unicode mathematics, or words. Surrounding `$` are ignored.
One capital letter is a choice. An answer that is blank, cut off or undefined refuses the row."""
_EXTRACT = """How the completion's answer is found. `boxed_last`: the last complete `\\boxed` or `\\fbox`.
`final_line`: the last `<answer>` tag, else the answer of the last answer marker (`Answer:`, `####`).
`auto`: the first of these that exists, else the one value that the last statement asserts, read as prose: a number
in an adjunct (`in 4 weeks`) or one that the item's `prompt` gives does not compete with another; two values that
form no list, a bound or a doubt are no answer."""
_PROFILE = """`strict` (for training) accepts equal values only. `lenient` (for evaluation) also accepts
decimals that round to the value, `\\approx`, 45 for 45 %, {5} for 5, <1,2> for (1,2), another name of the
unknown; of several values in prose it takes the main clause's."""
_UNITS = """`same_if_both`: a unit on one side only is ignored, two units must be the same.
`required`: the answer has the gold's unit, and none if it has none. `ignored`: units never count."""
_PERCENT = "`exact`: p % is p/100 and nothing else. `free`: p equals p %, too. Default: by profile."
_TOL = "Tolerance for real numbers, also inside tuples and lists. Default: exact."


Policy = Literal["boxed_last", "final_line", "auto"]
UnitRule = Literal["same_if_both", "required", "ignored"]


class MathReference(Reference):
    """A mathematical answer, compared by value and kind (contract, appendix "math")."""

    answer: Annotated[str, Field(min_length=1, max_length=20_000, description=_ANSWER)]
    extract: Annotated[Policy, Field(description=_EXTRACT)] = "boxed_last"
    profile: Annotated[Literal["strict", "lenient"], Field(description=_PROFILE)] = "strict"
    units: Annotated[UnitRule, Field(description=_UNITS)] = "same_if_both"
    percent: Annotated[Literal["exact", "free"] | None, Field(description=_PERCENT)] = None
    tol: Annotated[MathTolerance | None, Field(description=_TOL)] = None

    @model_validator(mode="after")
    def _not_blank(self) -> MathReference:
        if not self.answer.strip():
            raise ValueError("answer is blank")
        return self
