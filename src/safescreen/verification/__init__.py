"""Checking proofs: what goes in and what comes out.

This folder imports NumPy and nothing else of the package, so that it can be read and run on its own. Read
``checker.py`` first: it takes the steps, and says where they are. On the command line,
``python -m safescreen.verification proof.npz data.npz`` runs them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from os import PathLike
from time import perf_counter
from typing import Any

import numpy as np

from safescreen.verification.arithmetic import Array
from safescreen.verification.checker import Findings, check
from safescreen.verification.given import given_labels, given_matrix, given_terms, given_weights
from safescreen.verification.reading import RefusedError

NO_THRESHOLD = 1e300
"""The threshold of a list of all models there are."""


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
    identified : bool
        Whether the proof states a fingerprint of its matrix. If not, because there was no time to compute it, the
        proof was checked against the data given all the same, and what it proves holds for these.
    seconds : float
        Time taken.
    models : int
        Of a list of models: how many are listed.
    missing_bound : float
        No admissible model that is missing on the list is better than this; of a list of minimal models, none that has
        no listed model as a part.
    avoiding_bound : float
        Of a core: no admissible model that uses too few of its features is better than this.
    features : int
        Features of the model, those that the user includes among them.
    proved_exchanges : int
        How many of these features may be exchanged for others without a better model, by more than the gap that the
        proof claims to be about: all if it is proved optimal; 0 if not even one.
    near_bound : float
        No model that exchanges at most so many is better than this; nan if they are 0.
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
    models: int = 0
    missing_bound: float = math.nan
    identified: bool = field(default=True, repr=False)
    avoiding_bound: float = math.nan
    features: int = 0
    proved_exchanges: int = 0
    near_bound: float = math.nan

    @property
    def problem(self) -> str:
        """The problem the proof is about, in words: nobody else decides what was proved."""
        claims = self.claims
        if not claims:
            return ""
        terms = [f"{name}={claims[name]:g}" for name in ("mu", "k", "gamma")]
        flags = {"fit_intercept": "with intercept", "standardize": "standardised", "weighted": "weighted"}
        terms += [words for name, words in flags.items() if claims[name]]
        terms += [f"{len(claims[name])} features {name}d" for name in ("include", "exclude") if claims[name]]
        return ", ".join(terms)

    @property
    def modelled(self) -> str:
        """The class that the proof is about, as it states it."""
        return repr(self.claims["classes"][1]) if self.claims else ""

    @property
    def statement(self) -> str:
        """What is proved, in one sentence."""
        if "goal" not in self.claims:
            everywhere = f"no model of this problem ({self.problem}) is better by more than {self.gap:.2g} (relative)"
            return f"{everywhere}{self.near_statement}."
        if self.claims["goal"] == "core":
            return self._core_statement
        listed = f"is one of the {self.models:,} listed"
        if self.claims["goal"] == "minimal":
            listed = f"contains one of the {self.models:,} listed" + (
                ", none of whose features can be left out" if self.claims["complete"] else ""
            )
        return f"every model of this problem ({self.problem}) with an objective below {self._threshold} {listed}."

    @property
    def near_statement(self) -> str:
        """What is proved of models near that of the proof, to end a sentence; empty if that is no more than of all."""
        if not 0 < self.proved_exchanges < self.features:
            return ""
        shared = self.features - self.proved_exchanges
        gap = max(self.objective - self.near_bound, 0.0) / abs(self.objective)
        near = f"no model that shares at least {shared} of its {self.features} features"
        return f", and {near} is better by more than {gap:.2g}"

    @property
    def _core_statement(self) -> str:
        features, within = len(self.claims["core"]), 100.0 * self.claims["within"]
        return (
            f"every model of this problem ({self.problem}) with an objective below {self.avoiding_bound:.12g}, and so "
            f"every one within {within:g} % of the best, uses at least {self.claims['at_least']} of the {features:,} "
            "features listed."
        )

    @property
    def _threshold(self) -> str:
        shown = min(self.claims["missing_bound"], self.missing_bound)
        return "any number" if shown >= NO_THRESHOLD else f"{shown:.12g}"

    def __str__(self) -> str:
        if not self.valid:
            return f"Refused: {self.reason}"
        note = "" if self.identified else " (of the data given: the proof has no fingerprint of its matrix)"
        return (
            f"Valid: {self.statement}\n"
            f"  objective    {self.objective:.15g}\n"
            f"  lower bound  {self.lower_bound:.15g}\n"
            f"  modelled     probability of {self.modelled}\n"
            f"  tree         {self.nodes} nodes, {self.leaves} leaves, {self.points} dual points evaluated\n"
            f"  data         SHA-256 {self.fingerprint[:16]}...{note}\n"
            f"  checked in   {self.seconds:.3g} s"
        )


def verify(
    path: str | PathLike[str],
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    positive_class: Any = None,
    k: int | None = None,
    mu: float | None = None,
    gamma: float | None = None,
    fit_intercept: bool | None = None,
    standardize: bool | None = None,
    include: Any = None,
    exclude: Any = None,
) -> Verification:
    """Check a proof against the data it is said to be about, and against the question it is to answer.

    A valid proof is about the problem that it states. What is given of that problem here must be what was proved, or
    the proof is refused; what is not given, ``problem`` and ``claims`` of the result tell.

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
    positive_class : label, optional
        The label that the proof must model; all others count as the negative class, so that there may be more than
        two. By default there are two labels, and ``claims["classes"]`` says which of them, the second, is modelled.
    k : int, optional
        The budget that the proof must be about; the number of features if there was none.
    mu : float, optional
        The price of a feature; 0 if there was none.
    gamma : float, optional
        The ridge of the choice.
    fit_intercept, standardize : bool, optional
        Whether there is an intercept, and whether features are standardised.
    include, exclude : int, str or iterable of these, optional
        All features that were decided beforehand, by index or by name; ``()`` for none. Copies that were left out
        count as excluded.

    Returns
    -------
    Verification
        ``valid``, or the ``reason`` why not, with the checker's own objective, lower bound and gap.

    Raises
    ------
    FileNotFoundError, TypeError, ValueError
        If there is no such file, ``X`` is no matrix of real numbers, ``y`` does not have one label per row, none of
        these is `positive_class`, a weight is negative, or an argument has a wrong type. Whatever is wrong with the
        proof itself is reported as a refusal instead.
    """
    start = perf_counter()
    matrix = given_matrix(X)
    labels = given_labels(y, matrix.shape[0])
    weights = given_weights(sample_weight, labels)
    terms = {"k": k, "mu": mu, "gamma": gamma, "fit_intercept": fit_intercept, "standardize": standardize}
    asked = given_terms(X, {**terms, "include": include, "exclude": exclude})
    _check_positive_class(labels, positive_class)
    found, reason = Findings(), ""
    with open(path, "rb") as file, np.errstate(all="ignore"):
        try:
            check(file, matrix, labels, weights, found, positive_class, asked)
        except RefusedError as refusal:
            reason = str(refusal)
        except Exception as error:  # whatever a broken or malicious file can trigger is a refusal, not a crash
            reason = f"The proof cannot be read ({type(error).__name__}: {' '.join(str(error).split())})."
    return Verification(
        valid=not reason,
        reason=reason,
        claims=found.claims,
        fingerprint=found.fingerprint,
        identified=found.identified,
        seconds=perf_counter() - start,
        **vars(found.numbers),
    )


def _check_positive_class(labels: Array, positive_class: Any) -> None:
    """The class that is to be modelled occurs."""
    if positive_class is not None and positive_class not in labels.tolist():
        raise ValueError(f"positive_class is {positive_class!r}, but y has no such label.")
