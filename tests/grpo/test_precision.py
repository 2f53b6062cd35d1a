"""The head's product is fp32 wherever it runs: a generator is under autocast, the loss is not."""

import pytest
import torch

from assay.trainer_adapter.grpo.objective.precision import product32


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_product_is_the_same_under_autocast_as_outside(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(5, 64).to(dtype), torch.randn(64, 7).to(dtype)
    outside = product32(a, b)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = product32(a, b)
    exact = a.double() @ b.double()
    assert inside.dtype == torch.float32 and torch.equal(inside, outside)
    assert float((inside - exact).abs().max()) < 1e-4
