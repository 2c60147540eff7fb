"""The unit of rounding errors, in which every safe bound is measured."""

UNIT = 1.2e-16
"""Just above the unit round-off 2⁻⁵³, so that first-order error bounds also cover the higher orders."""

NORM_SLACK = 1.0 + 1e-6
"""Covers the rounding of a computed norm, which is of relative size ``m · UNIT``."""
