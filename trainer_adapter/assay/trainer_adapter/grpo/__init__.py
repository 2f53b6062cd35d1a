"""The bundled GRPO loop: advantages, weights, losses, kernels, and `assay train`. The one part that imports torch.

Read in this order: `advantages`, `weights`, `losses`, `presets` (the mathematics, torch, any precision);
`objective` (from hidden states to a loss) and `kernels` (the same in Triton); then `loop` and what it calls.
"""
