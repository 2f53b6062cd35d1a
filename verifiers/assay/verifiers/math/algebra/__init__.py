"""Sums, products, limits, integrals and derivatives that the package's own evaluation cannot decide: by sympy."""
