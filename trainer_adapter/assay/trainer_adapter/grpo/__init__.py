"""The bundled GRPO loop: advantages, weights, losses, kernels, and `assay train`. The one part that imports torch.

Read in this order: `objective.advantages`, `objective.weights`, `objective.losses`, `objective.presets` (the
mathematics, in torch, any precision); `objective.backend` (from hidden states to a loss) and `kernels` (the same in
Triton); then `run.loop`, `rollout` and `policy`.
"""
