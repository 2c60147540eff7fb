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


@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[D]"])
def test_dates_are_told_in_a_sentence(dtype):
    model = ss.L0LogisticRegression(k=1).fit(np.arange(20.0).reshape(10, 2), Y)
    dates = np.zeros((10, 2), dtype=dtype)
    for ask in (
        model.predict,
        model.predict_proba,
        lambda X: model.fit(X, Y),
        lambda X: ss.SafeScreener(k=1).fit(X, Y),
    ):
        with pytest.raises(TypeError, match=r"^X has dtype .*64\[D\], but numbers are needed: convert it"):
            ask(dates)
    for frame in (pd.DataFrame(dates), pd.DataFrame(dates).assign(x=1.0)):
        with pytest.raises(TypeError, match=r"^X has dtype .* in column 0, but numbers are needed: convert it"):
            model.fit(frame, Y)


def test_objects_are_told_in_a_sentence():
    X = np.full((10, 2), object(), dtype=object)
    with pytest.raises(TypeError, match=r"^X has objects that are no numbers \(float\(\) argument"):
        ss.L0LogisticRegression(k=1).fit(X, Y)


def test_a_name_that_no_file_can_have():
    problem = ss.Problem(np.arange(20.0).reshape(10, 2), Y, k=1)
    with pytest.raises(ValueError, match=r"^proof is .* but must name a file"):
        ss.solve(problem, proof="a\0b")
