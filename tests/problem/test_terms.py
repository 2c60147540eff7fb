"""The terms of a problem: checked and worded once, and found in every place that shows, stores or proves a problem."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import dataclass, field, fields

import numpy as np
import pytest

import safescreen as ss
from safescreen.defaults import GAMMA, GAMMAS
from safescreen.problem.terms import Terms, _Wording

pytestmark = pytest.mark.interpreted

X, Y, _ = ss.datasets.make_sparse_logistic(40, 12, 3, 1.0, random_state=0)
UNUSUAL = {
    "mu": 0.00371,
    "k": 7,
    "gamma": 3.125,
    "fit_intercept": False,
    "standardize": False,
    "include": (2,),
    "exclude": (5, 6),
}
"""A value of each term that is neither its default nor that of another."""


@pytest.fixture(scope="module")
def problem():
    return ss.Problem(X, Y, **UNUSUAL)


@pytest.fixture(scope="module")
def files(problem, tmp_path_factory):
    folder = tmp_path_factory.mktemp("terms")
    solution = ss.solve(problem, proof=folder / "proof.npz")
    ss.save_model(solution, folder / "model.json")
    with np.load(folder / "proof.npz") as proof:
        arrays = dict(proof)
    header = json.loads(arrays["header"].tobytes())
    return json.loads((folder / "model.json").read_text()), header, arrays


def test_every_term_has_an_unusual_value_here():
    assert set(UNUSUAL) == set(Terms.names())
    assert all(UNUSUAL[one.name] != one.default for one in fields(Terms))


@pytest.mark.parametrize("name", Terms.names())
def test_each_term_is_told_everywhere(problem, files, name):
    wording = {one.name: one.metadata["wording"] for one in fields(Terms)}[name]
    phrase = wording.phrase(problem.terms)
    assert phrase
    assert phrase in problem.terms.describe()
    assert phrase in repr(problem)
    assert phrase not in problem.terms.describe(without=name)
    value = wording.value(getattr(problem.terms, name))
    assert (wording.title, value) in problem.terms.facts()
    card = re.sub(r"<[^>]*>", "\n", problem._repr_html_())
    assert wording.title in card
    assert value in card


@pytest.mark.parametrize("name", Terms.names())
def test_each_term_is_stored_everywhere(files, name):
    model, header, arrays = files
    expected = list(UNUSUAL[name]) if isinstance(UNUSUAL[name], tuple) else UNUSUAL[name]
    assert model["parameters"][name] == expected
    assert (arrays[name].tolist() if name in arrays else header[name]) == expected


@pytest.mark.parametrize("name", Terms.names())
@pytest.mark.parametrize("callee", [ss.Problem, ss.L0LogisticRegression, ss.L0LogisticRegressionCV, ss.SafeScreener])
def test_each_term_is_a_keyword_with_its_default(callee, name):
    parameter = inspect.signature(callee).parameters[name]
    assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
    usual = {one.name: one.default for one in fields(Terms)}
    if callee is not ss.Problem:
        usual["gamma"] = GAMMAS if callee is ss.L0LogisticRegressionCV else GAMMA  # something sensible without a word
    assert parameter.default == usual[name]


def test_each_term_is_a_keyword_of_a_path():
    assert set(Terms.names()) <= set(inspect.signature(ss.l0_path).parameters)


def test_a_new_term_is_told_without_further_ado(monkeypatch):
    wording = _Wording(bool, "sign", lambda value: "free" if value else "fixed", lambda terms: f"signs {terms.signs}")

    @dataclass(frozen=True, kw_only=True)
    class More(Terms):
        signs: bool = field(default=True, metadata={"wording": wording})

    monkeypatch.setattr("safescreen.problem.problem.Terms", More)
    problem = ss.Problem(X, Y, k=2)
    assert problem.signs is True
    assert "signs True" in repr(problem)
    assert "free" in problem._repr_html_()


def test_a_new_term_is_stored_without_further_ado(monkeypatch, tmp_path):
    wording = _Wording(bool, "sign", str, lambda terms: f"signs {terms.signs}")

    @dataclass(frozen=True, kw_only=True)
    class More(Terms):
        signs: bool = field(default=True, metadata={"wording": wording})

    monkeypatch.setattr("safescreen.problem.problem.Terms", More)
    solution = ss.solve(ss.Problem(X, Y, k=2), proof=tmp_path / "proof.npz")
    ss.save_model(solution, tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["parameters"]["signs"] is True
    with np.load(tmp_path / "proof.npz") as proof:
        assert json.loads(proof["header"].tobytes())["signs"] is True


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "mu and k are both None"),
        ({"k": 0}, "k is 0, but must be an integer >= 1"),
        ({"k": 2.5}, "k is 2.5 of type float"),
        ({"mu": -1}, "mu is -1.0, but must be a finite number >= 0"),
        ({"k": 1, "gamma": 0}, "gamma is 0.0, but must be a finite number > 0"),
        ({"k": 1, "fit_intercept": "yes"}, "fit_intercept is 'yes' of type str"),
        ({"k": 1, "standardize": 1}, "standardize is 1 of type int"),
        ({"k": 1, "include": 0.5}, "include is 0.5, but must be a feature"),
    ],
)
def test_wrong_terms_need_no_data(wrong, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)) as raised:
        Terms(**wrong)
    if wrong:
        assert raised.value.argument == [*wrong][-1]


def test_terms_of_a_problem_are_those_of_its_data():
    names = [f"f{j}" for j in range(12)]
    problem = ss.Problem(X, Y, k=100, include="f3", exclude=["f7", 1], feature_names=names)
    assert problem.terms.include == (3,)
    assert problem.terms.exclude == (1, 7)
    assert problem.terms.k == problem.k == 12
    assert ss.Problem(X, Y, mu=0.0).terms.k is None
    assert ss.Problem(X, Y, mu=0.0).k == 12


def test_wording():
    assert Terms(k=3).describe() == "k=3, gamma=1, with intercept, standardised"
    assert Terms(mu=0.0, fit_intercept=False, standardize=False).describe() == (
        "mu=0, gamma=1, without intercept, not standardised"
    )
    assert Terms(mu=0.1, include="a", exclude=(1, 2)).describe() == (
        "mu=0.1, gamma=1, with intercept, standardised, 1 feature included, 2 features excluded"
    )
    assert Terms(k=3, gamma=2).describe(without="k") == "gamma=2, with intercept, standardised"
