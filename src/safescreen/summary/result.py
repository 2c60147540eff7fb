"""`Summary`: a model's table, in whatever form it is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from safescreen.summary.html import as_html
from safescreen.summary.table import Row, Table
from safescreen.summary.text import as_text

if TYPE_CHECKING:
    import pandas as pd


class Summary:
    """What a model says, feature by feature: printed as a table, shown as one in notebooks, or as a frame.

    Made by :meth:`L0LogisticRegression.summary`.

    Attributes
    ----------
    table : Table
        Everything that is shown, as numbers.
    """

    def __init__(self, table: Table) -> None:
        self.table = table

    @property
    def rows(self) -> tuple[Row, ...]:
        """The chosen features, those with the largest effect per standard deviation first."""
        return self.table.rows

    @property
    def intercept(self) -> float:
        """Log-odds where every feature is zero."""
        return self.table.intercept

    def __str__(self) -> str:
        return as_text(self.table)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self.table)

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas frame, with numbers unrounded.

        Returns
        -------
        DataFrame
            One row per chosen feature, named by it, without the intercept: ``coefficient``, ``coefficient_per_std``,
            ``odds_ratio``, ``odds_ratio_per_std``, ``std``, ``binary``, ``shrinkage``, and after resampling ``lower``
            and ``upper`` (of the coefficient per unit) and ``frequency``.
        """
        import pandas as pd

        frame = pd.DataFrame(
            {
                "coefficient": [row.coefficient for row in self.rows],
                "coefficient_per_std": [row.effect for row in self.rows],
                "odds_ratio": [row.odds_ratio for row in self.rows],
                "odds_ratio_per_std": [row.odds_ratio_per_std for row in self.rows],
                "std": [row.deviation for row in self.rows],
                "binary": [row.binary for row in self.rows],
                "shrinkage": [row.shrinkage for row in self.rows],
            },
            index=pd.Index([row.feature for row in self.rows], name="feature", dtype=object),
        )
        if self.table.n_resamples is not None:
            ends = [row.interval or (float("nan"), float("nan")) for row in self.rows]
            frame["lower"], frame["upper"] = [low for low, _ in ends], [high for _, high in ends]
            frame["frequency"] = [row.frequency for row in self.rows]
        return frame
