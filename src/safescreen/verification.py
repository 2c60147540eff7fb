"""Checking proofs: what goes in and what comes out. The checker itself is :mod:`safescreen.checker`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from os import PathLike
from time import perf_counter
from typing import Any

import numpy as np

from safescreen.checker import RefusedError, check


@dataclass(frozen=True)
class Verification:
    """What a proof proves, by the checker's own arithmetic; numbers that could not be established are nan.

    Attributes
    ----------
    valid : bool
        Whether the proof is complete, about this data, and as good as it claims up to rounding.
    objective, lower_bound, gap : float
        The model's objective, rounded up; no admissible model is better than the lower bound, in real arithmetic; their
        relative distance.
    leaves, nodes, points : int
        Leaves and nodes of the tree, and dual points evaluated.
    reason : str
        Why the proof is refused, in one sentence; empty if it is valid.
    enclosure : tuple of float
        The lower bound, and the most that exact arithmetic could make of it.
    claims : dict
        Problem and results, as the proof states them.
    fingerprint : str
        SHA-256 of the matrix given.
    seconds : float
        Time taken.
    """

    valid: bool
    objective: float = math.nan
    lower_bound: float = math.nan
    gap: float = math.nan
    leaves: int = 0
    reason: str = ""
    nodes: int = 0
    points: int = 0
    enclosure: tuple[float, float] = (math.nan, math.nan)
    claims: dict[str, Any] = field(default_factory=dict, repr=False)
    fingerprint: str = field(default="", repr=False)
    seconds: float = 0.0

    @property
    def problem(self) -> str:
        """The problem the proof is about, in words: nobody else decides what was proved."""
        claims = self.claims
        if not claims:
            return ""
        terms = [f"{name}={claims[name]:g}" for name in ("mu", "k", "gamma")]
        flags = {"fit_intercept": "intercept", "standardize": "standardized", "weighted": "weighted samples"}
        terms += [words for name, words in flags.items() if claims[name]]
        terms += [f"{len(claims[name])} features {name}d" for name in ("include", "exclude") if claims[name]]
        return ", ".join(terms)

    def __str__(self) -> str:
        if not self.valid:
            return f"Refused: {self.reason}"
        return (
            f"Valid: no model of this problem ({self.problem}) is better by more than {self.gap:.2g} (relative).\n"
            f"  objective    {self.objective:.15g}\n  lower bound  {self.lower_bound:.15g}\n"
            f"  tree         {self.nodes} nodes, {self.leaves} leaves, {self.points} dual points evaluated\n"
            f"  data         SHA-256 {self.fingerprint[:16]}...\n  checked in   {self.seconds:.3g} s"
        )


def verify(path: str | PathLike[str], X: Any, y: Any, sample_weight: Any = None) -> Verification:
    """Check a proof against the data it is said to be about.

    Parameters
    ----------
    path : path-like
        The proof, as written by ``solve(..., proof=path)``.
    X : array-like, SciPy sparse matrix, or pandas or polars frame, of shape (n_samples, n_features)
        The data of the problem.
    y : array-like of shape (n_samples,)
        The labels.
    sample_weight : array-like of shape (n_samples,), optional
        The weights the proof must be about, up to a common factor. By default those of the proof are taken, and
        ``claims["weighted"]`` says whether it has any.

    Returns
    -------
    Verification
        ``valid``, or the ``reason`` why not, with the checker's own objective, lower bound and gap.

    Raises
    ------
    FileNotFoundError, TypeError, ValueError
        If there is no such file, ``X`` is no matrix of numbers or ``y`` does not have one label per row. Whatever is
        wrong with the proof itself is reported as a refusal instead.
    """
    start, matrix, labels, reason = perf_counter(), _matrix(X), np.asarray(y), ""
    labels = labels.ravel() if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.shape != matrix.shape[:1]:
        raise ValueError(f"y has shape {labels.shape}, but must have one label for each of the {matrix.shape[0]} rows.")
    weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weights is not None and weights.shape != labels.shape:
        raise ValueError(f"sample_weight has shape {weights.shape}, but must have one number for each label.")
    found: dict[str, Any] = {}
    with open(path, "rb") as file, np.errstate(all="ignore"):
        try:
            check(file, matrix, labels, weights, found)
        except RefusedError as refusal:
            reason = str(refusal)
        except Exception as error:  # whatever a broken or malicious file can trigger is a refusal, not a crash
            reason = f"The proof cannot be read ({type(error).__name__}: {' '.join(str(error).split())})."
    return Verification(not reason, **found, reason=reason, seconds=perf_counter() - start)


def _matrix(X: Any) -> Any:
    """The data as doubles: dense, or sparse in compressed columns without zeros, by its own methods."""
    if hasattr(X, "tocsc"):
        X = (X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)).tocsc(copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        X = X.astype(np.float64)
    else:
        X = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
        try:
            X = X.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            raise TypeError(f"X has dtype {X.dtype}, but a matrix of real numbers is needed.") from None
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X has shape {X.shape}, but a matrix with rows and columns is needed.")
    return X
