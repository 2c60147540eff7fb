"""Coefficients of features that are already chosen: the second of two ridges.

The ridge of the choice is strong, because that is where choices can be proved; it shrinks coefficients too much to
predict well. Here the chosen features get their coefficients at a ridge of their own.
"""

from safescreen.estimation.estimate import Estimate, Model, check_refit_gamma, estimate, models_at, refit

__all__ = ["Estimate", "Model", "check_refit_gamma", "estimate", "models_at", "refit"]
