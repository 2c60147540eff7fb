"""What people read of a fitted model, and what other programs take from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from safescreen.summary import Choice, Summary, make_table
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

    def summary(self) -> Summary:
        """What the model says, feature by feature.

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
        selection = self.selection_
        choice = Choice(
            gamma=selection.gamma,
            status=str(selection.status),
            gap=selection.gap,
            k=selection.k,
            mu=selection.mu,
            restricted=selection.restricted,
        )
        return Summary(
            make_table(
                self.estimate_,
                self._names(self.estimate_.support),
                positive=self._positive(),
                n_features=self.n_features_in_,
                choice=choice,
            )
        )

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
        model = Model(str(self._positive()), float(found.intercept), found.coefficients.tolist(), names)
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
        sign = 1.0 if self._positive() == self.classes_[1] else -1.0
        plain = LogisticRegression()
        plain.classes_ = np.array(self.classes_)
        plain.coef_ = sign * self.estimate_.coef(self.n_features_in_)[None, :]
        plain.intercept_ = np.array([sign * self.estimate_.intercept])
        plain.n_iter_ = np.array([1], dtype=np.int32)
        plain.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            plain.feature_names_in_ = self.feature_names_in_
        return plain

    def _positive(self) -> Any:
        """The class whose log-odds are modelled."""
        return getattr(self, "positive_class_", self.classes_[1])

    def _names(self, features: IndexArray) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" if names is None else str(names[j]) for j in features.tolist()]
