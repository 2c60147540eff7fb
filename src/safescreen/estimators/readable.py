"""What people read of a fitted model, and what other programs take from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from safescreen.estimation.cautions import separating
from safescreen.estimation.telling import Choice
from safescreen.estimators.labels import is_second
from safescreen.stability import Stability
from safescreen.summary import Summary, make_table
from safescreen.summary.equation import Model, equation

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression

    from safescreen.arrays import IndexArray
    from safescreen.estimation import Estimate
    from safescreen.estimators.selection import Selection


class Readable:
    """Tables, equations and copies of a fitted classifier.

    All of them rest on ``estimate_``, ``selection_``, labels and names, which copies and files of a model keep.
    """

    estimate_: Estimate
    selection_: Selection
    classes_: npt.NDArray[Any]
    n_features_in_: int
    _positive_label: Any

    def summary(self, *, stability: Stability | None = None) -> Summary:
        """What the model says, feature by feature.

        Parameters
        ----------
        stability : Stability, optional
            What `stability` returned for this model: adds intervals, which are conditional on the choice of features,
            and how often each feature is chosen on resamples.

        Returns
        -------
        Summary
            Prints as a table, shows as one in notebooks, and has `to_frame`: coefficients and odds ratios per unit and
            per standard deviation, largest effect first, and how much the ridge shrank them.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from safescreen import L0LogisticRegression
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> L0LogisticRegression(k=2).fit(X, y).summary().to_frame().index.tolist()
        ['worst radius', 'worst concave points']
        """
        check_is_fitted(self)
        selection, resampled = self.selection_, {}
        solution = getattr(self, "solution_", None)
        if stability is not None:
            resampled = self._resampled_columns(stability)
        choice = Choice(
            gamma=selection.gamma,
            status=str(selection.status),
            gap=selection.gap,
            n_features=self.n_features_in_,
            k=selection.k,
            mu=selection.mu,
            restricted=selection.restricted,
        )
        return Summary(
            make_table(
                self.estimate_,
                self._names(self.estimate_.support),
                positive=self._positive_label,
                choice=choice,
                leaks=[] if solution is None else self._names(separating(solution.problem, self.estimate_.support)),
                **resampled,
            )
        )

    def stability(
        self,
        X: Any,
        y: Any,
        n_resamples: int = 100,
        *,
        sample_weight: npt.ArrayLike | None = None,
        rel_gap: float = 1e-2,
        time_limit: float | None = 60.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        progress: bool = False,
    ) -> Stability:
        """Choose and estimate again on bootstrap resamples, to see how much the model depends on its sample.

        Rows are drawn with replacement within each class. On each resample the features are chosen again, and the
        features that *this* model chose get new coefficients. The intervals that come from those are conditional on the
        choice of features: they do not account for the selection, and are too narrow for anything but comparing.

        Parameters
        ----------
        X : array-like, SciPy sparse matrix, or pandas or polars frame, of shape (n_samples, n_features)
            The training data, which a model does not keep.
        y : array-like of shape (n_samples,)
            Their labels.
        n_resamples : int, default 100
            Number of resamples, at least 1.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, as given to `fit`.
        rel_gap : float, default 1e-2
            Gap at which the search on a resample ends; the estimator's own where that is larger.
        time_limit : float, optional
            Seconds for everything, 60 by default; None for no limit. What is not done by then is left out, and one
            resample takes at most a tenth of it.
        n_jobs : int, optional
            Resamples at the same time, through joblib and whatever backend is active there.
        random_state : int, RandomState or None, default 0
            Seed of the resamples, which do not depend on `n_jobs`.
        progress : bool, default False
            Whether to say on standard error how many are done.

        Returns
        -------
        Stability
            Ctrl-C and the time limit keep what is finished.

        Examples
        --------
        >>> import safescreen as ss
        >>> X, y, _ = ss.datasets.make_sparse_logistic(200, 20, 2, 1.0, random_state=0)
        >>> model = ss.L0LogisticRegression(k=2).fit(X, y)
        >>> found = model.stability(X, y, n_resamples=10)
        >>> found.n_resamples, found.frequency.shape, found.intervals.shape
        (10, (20,), (2, 2))
        """
        from safescreen.estimators.resampled import resample

        check_is_fitted(self)
        return resample(
            self, X, y, sample_weight, n_resamples, random_state,
            rel_gap=rel_gap, time_limit=time_limit, n_jobs=n_jobs, progress=progress,
        )  # fmt: skip

    def equation(
        self,
        format: str = "text",
        *,
        quantity: str | None = None,
        digits: int | None = None,
        columns: Mapping[str, str] | None = None,
        row: int = 2,
    ) -> str:
        """The model as an equation, for people or for other programs.

        Parameters
        ----------
        format : {"text", "latex", "sql", "excel"}
            Plain text; an ``align*`` environment for LaTeX (package amsmath); an expression of standard SQL, column
            names quoted; or an Excel formula, with English function names and decimal points, as spreadsheet files
            store it.
        quantity : {"probability", "log_odds"}, optional
            What to compute; by default text has both, the others the probability.
        digits : int, optional
            Significant digits; by default 4 for text and LaTeX, and all for SQL and Excel (which itself reads 15).
        columns : mapping, optional
            What each chosen feature is called there: another name, for Excel a column such as ``"B"`` or a cell such as
            ``"B2"`` or ``"Sheet1!$B$2"``. By default the features' own names, for Excel as columns of the table that
            the formula stands in, ``[@[name]]``.
        row : int, default 2
            For Excel, the row of the cells where `columns` has letters only.

        Returns
        -------
        str
            The equation.

        Examples
        --------
        >>> import safescreen as ss
        >>> X, y, _ = ss.datasets.make_sparse_logistic(100, 20, 2, 1.0, random_state=0)
        >>> print(ss.L0LogisticRegression(k=2).fit(X, y).equation())  # doctest: +ELLIPSIS
        log-odds(1.0) = ... + ...·x0 ...
        probability(1.0) = 1 / (1 + exp(-log-odds(1.0)))
        """
        check_is_fitted(self)
        found = self.estimate_
        names = self._names(found.support)
        model = Model(str(self._positive_label), float(found.intercept), found.coefficients.tolist(), names)
        return equation(model, format, quantity=quantity, digits=digits, columns=columns, row=row)

    def to_sklearn(self) -> LogisticRegression:
        """The model as scikit-learn's own `LogisticRegression`, for tools that know only that one.

        Returns
        -------
        LogisticRegression
            Fitted, with the same predictions. Its parameters say nothing about how it came about.
        """
        from sklearn.linear_model import LogisticRegression

        check_is_fitted(self)
        sign = 1.0 if is_second(self) else -1.0
        plain = LogisticRegression()
        plain.classes_ = np.array(self.classes_)
        plain.coef_ = sign * self.estimate_.coef(self.n_features_in_)[None, :]
        plain.intercept_ = np.array([sign * self.estimate_.intercept])
        plain.n_iter_ = np.array([1], dtype=np.int32)
        plain.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            plain.feature_names_in_ = self.feature_names_in_
        return plain

    def _resampled_columns(self, stability: Any) -> dict[str, Any]:
        """What resamples add to the table."""
        if not isinstance(stability, Stability):
            raise TypeError(
                f"stability is a {type(stability).__name__}, but must be what the method stability returns."
            )
        if not np.array_equal(stability.support, self.estimate_.support) or (
            stability.n_features != self.n_features_in_
        ):
            raise ValueError("stability is that of a model with other features, but must be this model's.")
        return {
            "intervals": stability.intervals,
            "frequencies": stability.frequency[stability.support],
            "n_resamples": stability.n_resamples,
        }

    def _names(self, features: IndexArray) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" if names is None else str(names[j]) for j in features.tolist()]
