"""The equation: other programs compute with it what the model predicts."""

from __future__ import annotations

import math
import re
import shutil
import sqlite3
import subprocess

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

import safescreen as ss
from safescreen.summary.equation import Model, equation, structured, tex

NAMES = ['mean "size"', "a b", "Größe 体", "=1+1", "it's [odd] #1 @2", "x--y", "100 % \\ sure_{}^~$&", "plain"]
MODEL = Model("case", -1.25, [0.5, -2.0, 1e-7, 0.1 + 0.2, -1 / 3, 3.0, 1e5, 0.0], NAMES)
ROWS = np.random.default_rng(0).standard_normal((50, len(NAMES))) * [1, 1, 1, 1, 1, 1, 1e-5, 1]


def log_odds(model: Model, rows: np.ndarray) -> np.ndarray:
    return rows @ np.array(model.coefficients) + model.intercept


def by_database(expression: str, names: list[str], rows: np.ndarray) -> np.ndarray:
    connection = sqlite3.connect(":memory:")
    connection.create_function("exp", 1, strict_exp, deterministic=True)
    quoted = ", ".join('"' + name.replace('"', '""') + '" REAL' for name in names)
    connection.execute(f"CREATE TABLE data ({quoted})")
    connection.executemany(f"INSERT INTO data VALUES ({', '.join('?' * len(names))})", rows.tolist())
    return np.array([value for (value,) in connection.execute(f"SELECT {expression} FROM data ORDER BY rowid")])


def strict_exp(value: float | None) -> float | None:
    """As in databases that refuse to overflow or underflow."""
    if value is None:
        return None
    result = math.exp(value)
    assert result > 0.0
    return result


def by_spreadsheet(formula: str, values: dict[str, float]) -> float:
    """Evaluate a formula whose references are cells, or names in a table as a spreadsheet reads them."""
    references = re.compile(r"\[@\[(?P<name>(?:'.|[^'\]])*)\]\]|(?P<cell>(?:\w+!)?\$?[A-Z]{1,3}\$?\d+)(?![\d(])")

    def value(found: re.Match) -> str:
        key = found["cell"] if found["name"] is None else re.sub("'(.)", r"\1", found["name"])
        return f"({values[key]!r})"

    code = references.sub(value, formula.removeprefix("="))
    assert re.fullmatch(r"[-+*/(),.\d\seE]*(?:EXP\(MIN\([-+*/(),.\d\seE]*)?", code), code
    return float(eval(code, {"__builtins__": {}}, {"EXP": math.exp, "MIN": min}))


def test_text():
    model = Model("case", -1.23456, [0.45, -2.0, 3e-6], ["age", "body mass", "a-b"])
    assert equation(model).splitlines() == [
        "log-odds(case) = -1.235 + 0.45·age - 2·body mass + 3e-06·[a-b]",
        "probability(case) = 1 / (1 + exp(-log-odds(case)))",
    ]
    assert (
        equation(model, digits=2, quantity="log_odds") == "log-odds(case) = -1.2 + 0.45·age - 2·body mass + 3e-06·[a-b]"
    )
    renamed = equation(model, columns={"age": "A", "body mass": "BMI", "a-b": "C"}, quantity="log_odds")
    assert renamed == "log-odds(case) = -1.235 + 0.45·A - 2·BMI + 3e-06·C"


@pytest.mark.parametrize("quantity", [None, "probability", "log_odds"])
def test_a_database_computes_the_same(quantity):
    found = by_database(equation(MODEL, "sql", quantity=quantity), NAMES, ROWS)
    wanted = log_odds(MODEL, ROWS) if quantity == "log_odds" else expit(log_odds(MODEL, ROWS))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_a_database_survives_extreme_values_and_gaps():
    model = Model("case", 0.5, [1.0], ["x"])
    rows = np.array([[-1e6], [-800.0], [-690.0], [0.0], [690.0], [800.0], [1e300]])
    np.testing.assert_allclose(by_database(equation(model, "sql"), ["x"], rows), expit(rows[:, 0] + 0.5), atol=1e-300)
    assert by_database(equation(model, "sql"), ["x"], np.array([[np.nan]])).tolist() == [None]


def test_numbers_of_a_database_are_double_precision():
    assert equation(Model("c", -1.0, [0.5, -1e-7], ["a", "b"]), "sql", quantity="log_odds") == (
        '-1.0e0 + 0.5e0 * "a" - 1e-07 * "b"'
    )


def test_a_spreadsheet_computes_the_same_in_a_table():
    formula = equation(MODEL, "excel")
    for row, wanted in zip(ROWS.tolist(), expit(log_odds(MODEL, ROWS)), strict=True):
        assert by_spreadsheet(formula, dict(zip(NAMES, row, strict=True))) == pytest.approx(wanted, rel=1e-12)


def test_a_spreadsheet_computes_the_same_from_cells():
    columns = dict(zip(NAMES, ("A", "B", "$C", "D", "AA", "F2", "Other!$G$2", "H"), strict=True))
    formula = equation(MODEL, "excel", columns=columns, row=7, quantity="log_odds")
    cells = ("A7", "B7", "$C7", "D7", "AA7", "F2", "Other!$G$2", "H7")
    for row, wanted in zip(ROWS.tolist(), log_odds(MODEL, ROWS), strict=True):
        assert by_spreadsheet(formula, dict(zip(cells, row, strict=True))) == pytest.approx(
            wanted, rel=1e-12, abs=1e-12
        )


def test_a_spreadsheet_survives_extreme_values():
    formula = equation(Model("case", 0.0, [1.0], ["x"]), "excel", columns={"x": "A"})
    assert formula == "=1/(1+EXP(MIN(700,-(0.0+1.0*A2))))"
    assert by_spreadsheet(formula, {"A2": -1e4}) == pytest.approx(0.0, abs=1e-300)
    assert by_spreadsheet(formula, {"A2": 1e4}) == 1.0


def test_names_in_a_table_are_escaped():
    assert structured("a [b] #1 it's @x") == "[@[a '[b'] '#1 it''s '@x]]"


@given(
    st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=0, max_size=4),
    st.floats(-1e3, 1e3),
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
        min_size=4,
        unique_by=str.lower,
    ),
)
def test_any_model_in_any_program(coefficients, intercept, names):
    names = [f"{i} {name}" for i, name in enumerate(names[: len(coefficients)])]
    model = Model("case", intercept, coefficients, names)
    row = np.linspace(-1.0, 1.0, len(names))
    wanted = expit(row @ np.array(coefficients) + intercept)
    if names:
        assert by_database(equation(model, "sql"), names, row[None, :]) == pytest.approx(wanted, rel=1e-9, abs=1e-300)
    by_name = dict(zip(names, row.tolist(), strict=True))
    assert by_spreadsheet(equation(model, "excel"), by_name) == pytest.approx(wanted, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("form", ["text", "latex", "sql", "excel"])
def test_without_features(form):
    found = equation(Model("case", -0.5, [], []), form)
    assert "0.5" in found
    if form == "sql":
        connection = sqlite3.connect(":memory:")
        connection.create_function("exp", 1, math.exp)
        assert connection.execute(f"SELECT {found}").fetchone()[0] == pytest.approx(expit(-0.5))
    if form == "excel":
        assert by_spreadsheet(found, {}) == pytest.approx(expit(-0.5))


def test_signs_of_latex_lose_their_meaning():
    assert tex(r"a_b\c{}^~%$#&") == r"a\_b\textbackslash{}c\{\}\textasciicircum{}\textasciitilde{}\%\$\#\&"
    assert tex("a\nb") == "a b"


def test_latex_has_powers_of_ten_and_lines_of_moderate_length():
    found = equation(Model("case_1", 1.0, [1e-7, -2.0, 3.0, 4.0], ["a_1", "b", "c", "d"]), "latex", digits=2)
    assert found.splitlines() == [
        r"\begin{align*}",
        r"z &= 1 + 1 \times 10^{-7}\,\text{a\_1} - 2\,\text{b} \\",
        r"&\quad + 3\,\text{c} + 4\,\text{d} \\",
        r"P(\text{case\_1}) &= \frac{1}{1 + e^{-z}}",
        r"\end{align*}",
    ]
    assert r"\log\frac{P(\text{case})}{1 - P(\text{case})} &= -1.25" in equation(MODEL, "latex", quantity="log_odds")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs LaTeX")
def test_latex_compiles(tmp_path):
    names = [name for name in NAMES if name.isascii()]
    body = equation(Model("100 %_case", -1.0, [1.0] * len(names), names), "latex")
    document = "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{amsmath,textcomp}\\begin{document}\n"
    (tmp_path / "one.tex").write_text(f"{document}{body}\n\\end{{document}}\n")
    subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "one.tex"], cwd=tmp_path, check=True)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"form": "r"}, ValueError, "format is 'r', but must be one of 'text', 'latex', 'sql', 'excel'."),
        ({"quantity": "odds"}, ValueError, "quantity is 'odds'"),
        ({"digits": 0}, ValueError, "digits is 0"),
        ({"row": 0}, ValueError, "row is 0"),
        ({"columns": "AB"}, TypeError, "columns is a str"),
        ({"columns": {"plain": "A"}}, ValueError, "columns lacks 'mean"),
        ({"form": "excel", "columns": dict.fromkeys(NAMES, "1+1")}, ValueError, "columns holds '1+1'"),
    ],
)
def test_mistakes_are_named(options, error, said):
    with pytest.raises(error, match=re.escape(said)):
        equation(MODEL, **options)


def test_names_that_sql_cannot_write_are_refused():
    with pytest.raises(ValueError, match="null character"):
        equation(Model("c", 0.0, [1.0], ["a\0b"]), "sql")


def test_formulas_that_are_too_long_are_refused():
    names = [f"a rather long name of a feature, number {i}" for i in range(300)]
    with pytest.raises(ValueError, match="Excel takes at most 8,192"):
        equation(Model("c", 0.0, [1.0] * 300, names), "excel")


def test_a_fitted_model():
    X, y, _ = ss.datasets.make_sparse_logistic(100, 10, 3, 1.0, random_state=0)
    frame = pd.DataFrame(X, columns=[f'f "{j}"' for j in range(10)])
    model = ss.L0LogisticRegression(k=3).fit(frame, np.where(y > 0, "yes", "no"))
    found = by_database(model.equation("sql"), list(frame.columns), X)
    np.testing.assert_allclose(found, model.predict_proba(frame)[:, 1], rtol=1e-12)
    assert model.equation().startswith("log-odds(yes) = ")
