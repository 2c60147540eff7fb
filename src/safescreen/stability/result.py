"""`Stability`: what resamples say of a choice of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from safescreen.arrays import FloatArray, IndexArray
from safescreen.formatting.cards import table_card
from safescreen.formatting.digits import counted, duration, signed

if TYPE_CHECKING:
    import pandas as pd

CAUTION = (
    "Intervals are percentiles over resamples of the coefficients per unit, conditional on the choice of features; "
    "they do not account for the selection."
)
_MOST_ROWS = 20
_ENDS = {
    "finished": "",
    "time_limit": " of {asked:,}, all that the time limit allowed",
    "interrupted": " of {asked:,}, then interrupted",
}


@dataclass(frozen=True, repr=False)
class Stability:
    """How often each feature is chosen on bootstrap resamples, and how the model's coefficients vary.

    On every resample the whole choice is made again; so `frequency` says how much the choice depends on the sample. The
    `intervals` come from refitting the features that the *model* chose on each resample: they are conditional on that
    choice and do not account for the selection, so they are narrower than intervals for an effect in the population.

    Made by :meth:`L0LogisticRegression.stability`.

    Attributes
    ----------
    supports : list of ndarray of int
        The features chosen on each resample.
    coefficients : ndarray of shape (n_resamples, n_chosen)
        Coefficients per unit of the model's features, estimated on each resample.
    support : ndarray of int
        The model's features.
    estimates : ndarray of float
        The model's own coefficients of them.
    n_features : int
        Number of features.
    feature_names : ndarray of str or None
        Their names, if there are any.
    n_asked : int
        Number of resamples asked for.
    n_unproved : int
        Resamples whose choice is the best one found, without the gap asked for being reached.
    ended : str
        ``"finished"``, ``"time_limit"`` or ``"interrupted"``.
    seconds : float
        Time taken.
    """

    supports: list[IndexArray]
    coefficients: FloatArray
    support: IndexArray
    estimates: FloatArray
    n_features: int
    feature_names: npt.NDArray[np.object_] | None = None
    n_asked: int = 0
    n_unproved: int = 0
    ended: str = "finished"
    seconds: float = field(default=0.0)

    @property
    def n_resamples(self) -> int:
        """Number of resamples done."""
        return len(self.supports)

    @property
    def frequency(self) -> FloatArray:
        """Share of resamples in which each feature was chosen, of shape (n_features,)."""
        times = np.bincount(np.concatenate(self.supports), minlength=self.n_features)
        return np.asarray(times / self.n_resamples, dtype=np.float64)

    @property
    def intervals(self) -> FloatArray:
        """Percentile intervals of 95 % for the coefficients of the model's features, of shape (n_chosen, 2).

        Conditional on the choice of features; they do not account for the selection.
        """
        return np.asarray(np.quantile(self.coefficients, (0.025, 0.975), axis=0).T, dtype=np.float64)

    def names(self, features: Sequence[int] | IndexArray) -> list[str]:
        """Names of features."""
        return [f"x{j}" if self.feature_names is None else str(self.feature_names[j]) for j in features]

    def to_frame(self) -> pd.DataFrame:
        """The features chosen at least once, and the model's, the most frequent first.

        Returns
        -------
        DataFrame
            Named by feature: ``index``, ``frequency``, ``chosen`` (by the model), and for those ``coefficient``,
            ``lower`` and ``upper``, per unit.
        """
        import pandas as pd

        order = self.order()
        place = {j: i for i, j in enumerate(self.support.tolist())}
        nothing = (np.nan, np.nan, np.nan)
        told = np.column_stack((self.estimates, self.intervals)).tolist()
        numbers = np.array([told[place[j]] if j in place else nothing for j in order], dtype=np.float64).reshape(-1, 3)
        return pd.DataFrame(
            {
                "index": np.array(order, dtype=np.int64),
                "frequency": self.frequency[order],
                "chosen": np.isin(order, self.support),
                "coefficient": numbers[:, 0],
                "lower": numbers[:, 1],
                "upper": numbers[:, 2],
            },
            index=pd.Index(self.names(order), name="feature", dtype=object),
        )

    def order(self) -> list[int]:
        """The features chosen at least once, and the model's: the most frequent first, the model's before others."""
        frequency, chosen = self.frequency, np.zeros(self.n_features, dtype=np.bool_)
        chosen[self.support] = True
        features = np.flatnonzero((frequency > 0.0) | chosen)
        return [int(j) for j in features[np.lexsort((features, ~chosen[features], -frequency[features]))]]

    def describe(self) -> str:
        """How many resamples there were, and how that came to be."""
        said = counted(self.n_resamples, "resample") + _ENDS[self.ended].format(asked=self.n_asked)
        if self.n_unproved:
            said += f"; in {self.n_unproved:,} of them the choice is the best one found, not proved"
        return said

    def __repr__(self) -> str:
        if not self.support.size:
            return f"Stability({self.describe()}; no feature chosen)"
        shares = 100.0 * self.frequency[self.support]
        return (
            f"Stability({self.describe()}; the model's {counted(self.support.size, 'feature')} chosen in "
            f"{shares.min():.0f} to {shares.max():.0f} % of them)"
        )

    def _repr_html_(self) -> str:
        rows = [
            (
                str(name),
                f"{100.0 * row.frequency:.0f} %",
                signed(row.coefficient) if row.chosen else "",
                f"{signed(row.lower)} to {signed(row.upper)}" if row.chosen else "",
            )
            for name, row in zip(self.to_frame().index, self.to_frame().head(_MOST_ROWS).itertuples(), strict=False)
        ]
        heads = ("feature", "chosen in", "the model's coefficient", "95 % interval")
        left = len(self.order()) - len(rows)
        notes = [f"and {counted(left, 'feature')} chosen more rarely"] if left else []
        return table_card(
            "Stability", f"in {duration(self.seconds)}", f"{self.describe()}.", heads, rows, [*notes, CAUTION]
        )
