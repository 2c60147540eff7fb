"""Text in the data is told with its column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import safescreen as ss

Y = np.arange(10) % 2
FRAME = pd.DataFrame({"age": np.arange(10.0), "colour": ["1.5"] * 4 + ["red"] * 6})


@pytest.mark.parametrize("make", [ss.L0LogisticRegression, ss.SafeScreener, ss.L0LogisticRegressionCV])
@pytest.mark.parametrize(("X", "column"), [(FRAME, "'colour'"), (FRAME.to_numpy(object), "1")], ids=["frame", "array"])
def test_text_names_its_column(make, X, column):
    with pytest.raises(ValueError, match=f"X has the text 'red' in column {column}, row 4, but only numbers"):
        make(k=1).fit(X, Y) if make is not ss.L0LogisticRegressionCV else make(k=[1]).fit(X, Y)


def test_text_in_new_data():
    model = ss.L0LogisticRegression(k=1).fit(FRAME.assign(colour=Y * 2.0 + FRAME.age), Y)
    with pytest.raises(ValueError, match="X has the text 'red' in column 'colour', row 4"):
        model.predict(FRAME)
