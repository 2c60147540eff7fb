"""Good models as tables: by feature, by model, by sample, by exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from safescreen.good_models.result import GoodModels

if TYPE_CHECKING:
    import pandas as pd


def of_features(found: GoodModels, price_with: bool | None) -> pd.DataFrame:
    """The features of the models, the most frequent first."""
    import pandas as pd

    order, prices = found.order(), found.prices_without
    columns = {
        "index": order,
        "share": found.share[order],
        "lowest": found.coef_range[order, 0],
        "highest": found.coef_range[order, 1],
        "price_without": prices.price[order],
        "price_without_bound": prices.bound[order],
    }
    if price_with or (price_with is None and found.complete and not found.minimal):
        forced = found.prices_with
        columns |= {"price_with": forced.price[order], "price_with_bound": forced.bound[order]}
    columns["in_best"] = np.isin(order, found.best.support)
    return pd.DataFrame(columns, index=pd.Index(found.problem.names(order), name="feature", dtype=object))


def of_models(found: GoodModels) -> pd.DataFrame:
    """One row per model, the best first."""
    import pandas as pd

    ends = found.coefs.indptr[1:-1]
    used = found.coefs.indices
    columns = {
        "objective": found.objectives,
        "excess": found.excess,
        "size": np.diff(found.coefs.indptr),
        "features": [found.problem.names(support) for support in found.supports],
        "coefficients": [part.tolist() for part in np.split(found.coefs.data, ends)] if len(found) else [],
        "intercept": found.intercepts,
        "indices": [part.tolist() for part in np.split(used, ends)] if len(found) else [],
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(len(found), name="model"))


def of_samples(found: GoodModels) -> pd.DataFrame:
    """What the models say of each sample they were fitted to."""
    import pandas as pd

    told = found.disagreement()
    columns = {
        "probability": told.probability,
        "lowest": told.lowest,
        "highest": told.highest,
        "share_other": told.share,
    }
    return pd.DataFrame(columns, index=pd.RangeIndex(told.share.size, name="sample"))


def of_exchanges(found: GoodModels) -> pd.DataFrame:
    """Which feature of the best model can be replaced by which other one, the cheapest first."""
    import pandas as pd

    pairs, names = found.exchanges, found.problem.names
    outs, ins = [pair.out for pair in pairs], [pair.in_ for pair in pairs]
    columns = {
        "feature": pd.array(names(outs), dtype=object),
        "replaced_by": pd.array(names(ins), dtype=object),
        "cost": np.array([pair.cost for pair in pairs], dtype=np.float64),
        "index": np.array(outs, dtype=np.int64),
        "replaced_by_index": np.array(ins, dtype=np.int64),
    }
    return pd.DataFrame(columns)
