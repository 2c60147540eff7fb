"""All good models, and what they say about each feature."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from safescreen.arrays import BoolArray, FloatArray, IndexArray
from safescreen.good_models.disagreement import Disagreement, disagreement
from safescreen.good_models.exchanges import Exchange, find_exchanges
from safescreen.good_models.prices import Prices, Pricing
from safescreen.problem import Problem
from safescreen.problem.validation import check_matrix
from safescreen.search import Listed, Settings, Solution, Wish
from safescreen.status import Status


@dataclass(frozen=True, repr=False)
class GoodModels:
    """All good models, for whatever shows them; see :class:`Alternatives`."""

    problem: Problem
    wish: Wish
    settings: Settings
    listed: Listed = field(repr=False)
    progress: bool = False

    # -- the models --------------------------------------------------------------------------------------

    @cached_property
    def supports(self) -> list[IndexArray]:
        """The features of each model, sorted; models best first."""
        return self.listed.models.supports()

    @property
    def objectives(self) -> FloatArray:
        """The objective of each model, the smallest first."""
        return self.listed.models.objective

    @cached_property
    def coefs(self) -> sparse.csr_array:
        """Coefficients in the data's own units, as a sparse matrix of shape (n_models, n_features)."""
        models, problem = self.listed.models, self.problem
        starts = np.concatenate([[0], models.ends])
        values = models.value / problem.design.scales[models.feature]
        return sparse.csr_array((values, models.feature, starts), shape=(len(models), problem.n_features))

    @cached_property
    def intercepts(self) -> FloatArray:
        """Intercepts in the data's own units; with ``standardize=True`` they carry the centring."""
        return np.asarray(self.listed.models.intercept - self.coefs @ self.problem.design.means)

    @property
    def best(self) -> Solution:
        """The best model of the problem. With a budget alone it may have features to spare, and is not listed then."""
        return self.listed.best

    @property
    def threshold(self) -> float:
        """The largest objective that a listed model may have."""
        return self.listed.threshold

    @property
    def minimal(self) -> bool:
        """Whether the listed models are the minimal ones."""
        return self.listed.minimal

    @property
    def complete(self) -> bool:
        """Whether it is proved that nothing is missing."""
        return self.listed.complete

    @property
    def missing_bound(self) -> float:
        """No model that is missing has a smaller objective; the threshold if the list is complete."""
        return self.listed.missing_bound

    @property
    def status(self) -> Status:
        """How the search ended."""
        return self.listed.status

    @property
    def nodes(self) -> int:
        """Nodes of the search tree."""
        return self.listed.nodes

    @property
    def seconds(self) -> float:
        """Time taken, compilation excluded."""
        return self.listed.seconds

    @property
    def excess(self) -> FloatArray:
        """How much worse than the best each model is, relative to the best objective."""
        return np.maximum(self.objectives / self.best.objective - 1.0, 0.0)

    def __len__(self) -> int:
        return len(self.listed.models)

    # -- the features ------------------------------------------------------------------------------------

    @cached_property
    def counts(self) -> IndexArray:
        """In how many of the models each feature is, of shape (n_features,)."""
        return np.bincount(self.listed.models.feature, minlength=self.problem.n_features)

    @property
    def share(self) -> FloatArray:
        """In which share of the models each feature is, of shape (n_features,)."""
        return np.asarray(self.counts / max(len(self), 1), dtype=np.float64)

    @property
    def always(self) -> IndexArray:
        """Features in all models: proved, also where the list is not complete."""
        return np.flatnonzero(self._in_all)

    @property
    def sometimes(self) -> IndexArray:
        """Features in some of the listed models, and not proved to be in all of them."""
        return np.flatnonzero((self.counts > 0) & ~self._in_all)

    @property
    def never(self) -> IndexArray:
        """Features in none of the models: proved, also where the list is not complete."""
        return np.flatnonzero(self._in_none)

    @property
    def undecided(self) -> IndexArray:
        """Features that may be in models which are missing; none if the list is complete."""
        return np.flatnonzero((self.counts == 0) & ~self._in_all & ~self._in_none)

    @property
    def _in_all(self) -> BoolArray:
        if self.complete and len(self):
            return np.asarray(self.counts == len(self))
        return self.listed.decided.included

    @property
    def _in_none(self) -> BoolArray:
        if self.complete and len(self):
            return np.asarray(self.counts == 0)
        return self.listed.decided.excluded

    @cached_property
    def coef_range(self) -> FloatArray:
        """The smallest and the largest coefficient of each feature over the models that have it; nan for the others."""
        ranges = np.full((self.problem.n_features, 2), np.nan)
        coefs = self.coefs
        used = np.flatnonzero(self.counts)
        low, high = np.full(self.problem.n_features, np.inf), np.full(self.problem.n_features, -np.inf)
        np.minimum.at(low, coefs.indices, coefs.data)
        np.maximum.at(high, coefs.indices, coefs.data)
        ranges[used, 0], ranges[used, 1] = low[used], high[used]
        return ranges

    def order(self) -> IndexArray:
        """The features of the listed models and of the best: the most frequent first, of equals the best model's."""
        chosen = np.zeros(self.problem.n_features, dtype=np.bool_)
        chosen[self.best.support] = True
        features = np.flatnonzero((self.counts > 0) | chosen)
        return features[np.lexsort((features, ~chosen[features], -self.counts[features]))]

    # -- prices ------------------------------------------------------------------------------------------

    @property
    def _pricing(self) -> Pricing:
        return Pricing(self.problem, self.listed, self.settings, self.progress)

    @cached_property
    def prices_without(self) -> Prices:
        """What doing without each feature costs, with the bound that proves it: found when first asked for."""
        return self._pricing.without(np.arange(self.problem.n_features))

    @property
    def price_without(self) -> FloatArray:
        """What doing without each feature costs: the best objective without it minus the best, of shape (n_features,).

        Zero for all features that the best model does not have; nan for those that the user includes.
        """
        return self.prices_without.price

    @cached_property
    def prices_with(self) -> Prices:
        """What being forced to take each listed feature costs, with the bound that proves it.

        Found when first asked for, for the features of all listed models. With a price these are read off the list;
        with a budget alone each needs a search of its own.
        """
        features = np.union1d(np.flatnonzero(self.counts), self.best.support)
        return self._pricing.having(features)

    @property
    def price_with(self) -> FloatArray:
        """What being forced to take each feature costs; nan for features that are in no listed model."""
        return self.prices_with.price

    @property
    def exchanges(self) -> list[Exchange]:
        """Which feature of the best model can be replaced by which other one, all others kept, the cheapest first.

        All exchanges that stay below the threshold, unless time ran out.
        """
        return self._exchanges[0]

    @property
    def exchanges_complete(self) -> bool:
        """Whether it is proved that these are all exchanges that stay below the threshold."""
        return self._exchanges[1]

    @cached_property
    def _exchanges(self) -> tuple[list[Exchange], bool]:
        return find_exchanges(self.problem, self.listed, self.settings)

    # -- samples -----------------------------------------------------------------------------------------

    def disagreement(self, X: Any = None) -> Disagreement:
        """How much the models disagree about each sample, of the training data by default."""
        matrix = self.problem.design.matrix if X is None else check_matrix(X)[0]
        if matrix.shape[1] != self.problem.n_features:
            raise ValueError(
                f"X has {matrix.shape[1]} features, but the models were fitted to {self.problem.n_features}: give the "
                "same columns in the same order."
            )
        return disagreement(matrix, self.coefs, self.intercepts, (self.best.coef, self.best.intercept))
