"""The question and what is proved about its answer, in plain words.

Everything here returns plain text; escaping is the business of whoever puts it on a page.
"""

from __future__ import annotations

from dataclasses import dataclass

from safescreen.formatting.digits import (
    above,
    below,
    counted,
    difference_above,
    duration,
    nearest,
    percent_above,
    percent_of,
)
from safescreen.formatting.escaping import shortened
from safescreen.problem import Problem
from safescreen.solution import Solution
from safescreen.status import Status

from .subject import CONSTANT, Subject, decisions

_LONGEST_LABEL = 40


@dataclass(frozen=True)
class Verdict:
    """What is proved: a headline, whether it is the full proof asked for, and sentences."""

    headline: str
    proved: bool
    sentences: tuple[str, ...]


def has_budget(problem: Problem) -> bool:
    """Whether the budget leaves out any features."""
    return problem.k < problem.n_features


def title(subject: Subject) -> str:
    """A title for reports without one."""
    problem = subject.problem
    if subject.path is not None and subject.path.parameter == "k":
        low, high = min(subject.path.values), max(subject.path.values)
        return f"The best {low} to {high} of {problem.n_features:,} features"
    if has_budget(problem):
        return f"The best {problem.k:,} of {problem.n_features:,} features"
    if problem.mu > 0.0:
        return f"The features worth their price, of {problem.n_features:,}"
    return f"A logistic model of {counted(problem.n_features, 'feature')}"


def label(problem: Problem, which: int) -> str:
    """One of the two labels, in quotation marks."""
    return f"“{shortened(str(problem.classes.tolist()[which]), _LONGEST_LABEL)}”"


def question(subject: Subject) -> str:
    """What was asked."""
    problem, path = subject.problem, subject.path
    aim = f"predict best whether a sample is {label(problem, 1)} rather than {label(problem, 0)}"
    if path is not None:
        return f"{_path_question(subject)} {aim}?"
    if has_budget(problem) and problem.mu > 0.0:
        which = f"Which of {problem.n_features:,} features, at most {problem.k:,}, each at a price of {problem.mu:g},"
    elif has_budget(problem):
        which = f"Which {problem.k:,} or fewer of {problem.n_features:,} features"
        which = f"Which one of {problem.n_features:,} features" if problem.k == 1 else which
    elif problem.mu > 0.0:
        which = f"Which of {problem.n_features:,} features, each at a price of {problem.mu:g},"
    else:
        which = f"How do {counted(problem.n_features, 'feature')}, all of them allowed,"
    verb = aim.replace("predict", "predicts", 1) if problem.k == 1 and has_budget(problem) else aim
    return f"{which} {verb}?"


def _path_question(subject: Subject) -> str:
    problem, path = subject.problem, subject.path
    assert path is not None
    low, high = path.values.min(), path.values.max()
    spans = {
        "k": f"For every budget from {low:g} to {high:g}",
        "mu": f"For every price per feature from {low:g} to {high:g}",
        "gamma": f"For every ridge parameter from {low:g} to {high:g}",
    }
    allowed = f", at most {problem.k:,}," if has_budget(problem) and path.parameter != "k" else ""
    return f"{spans[path.parameter]}: which of {problem.n_features:,} features{allowed}"


def meaning_of_best(subject: Subject) -> str:
    """What the objective is."""
    problem, path = subject.problem, subject.path
    varies = None if path is None else path.parameter
    ridge = "(γ varies)" if varies == "gamma" else f"(γ = {problem.gamma:g})"
    parts = [
        f"the log-loss averaged over {counted(problem.n_samples, 'sample')}"
        if _is_uniform(problem)
        else f"the weighted mean log-loss over {counted(problem.n_samples, 'sample')}",
        f"a ridge penalty that keeps coefficients moderate {ridge}",
    ]
    if varies == "mu":
        parts.append("the price μ for every feature used")
    elif problem.mu > 0.0:
        parts.append(f"a price of μ = {problem.mu:g} for every feature used")
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}"
    scale = "Features were standardised first" if problem.standardize else "Features were used in their own units"
    intercept = "an unpenalised intercept is fitted" if problem.fit_intercept else "there is no intercept"
    return f"“Best” means the smallest objective: {listed}. {scale}; {intercept}."


def _is_uniform(problem: Problem) -> bool:
    return bool((problem.weights == problem.weights[0]).all())


def among(problem: Problem) -> str:
    """The set of models the proof speaks about."""
    if has_budget(problem):
        models = f"at most {problem.k:,} of {problem.n_features:,} features"
    else:
        models = f"any of {problem.n_features:,} features"
    price = f" at a price of {problem.mu:g} each" if problem.mu > 0.0 else ""
    given = []
    if problem.include.size:
        given.append(f"the {counted(problem.include.size, 'required feature')}")
    if problem.exclude.size:
        given.append(f"none of the {counted(problem.exclude.size, 'excluded feature')}")
    extra = f", with {' and '.join(given)}" if given else ""
    return f"Among all logistic models with {models}{price}{extra}"


def verdict(solution: Solution) -> Verdict:
    """What is proved, and for a search that ended early, what is not."""
    problem = solution.problem
    better = difference_above(solution.objective, solution.lower_bound)
    gap = percent_above(solution.gap)
    if solution.status == Status.OPTIMAL:
        return Verdict(
            "Proved optimal",
            True,
            (
                f"{among(problem)}, this one is optimal up to {gap}: no other choice of features or coefficients can "
                f"have an objective more than {better} below this model’s {above(solution.objective, 6)}.",
                "The bound behind this statement holds in real arithmetic: rounding errors are accounted for.",
            ),
        )
    return Verdict(
        "Best model found, not proved optimal",
        False,
        (
            f"{solution.status.sentence} It took {duration(solution.seconds)} and {counted(solution.nodes, 'node')}.",
            f"Proved: {_uncapitalised(among(problem))}, none has an objective below {below(solution.lower_bound, 6)}. "
            f"So none can be better than this one, at {above(solution.objective, 6)}, by more than {better} ({gap}).",
            "Not proved: that this choice of features is the best one. A better model may exist within that distance.",
        ),
    )


def _uncapitalised(text: str) -> str:
    return text[0].lower() + text[1:]


def screened(solution: Solution) -> tuple[int, int, int]:
    """How many features screening ruled out, proved in, and had to decide on."""
    problem, screening = solution.problem, solution.screening
    free = problem.n_features - int((problem.included | problem.excluded).sum())
    if screening is None:
        return 0, 0, free
    out, inside = screening.excluded.size - problem.excluded.sum(), screening.included.size - problem.include.size
    return int(out), int(inside), free


def ruled_out(solution: Solution) -> str:
    """What screening decided, in a few sentences."""
    if solution.screening is None:
        return "Screening was switched off for this search, so nothing is known about features one by one."
    out, inside, free = screened(solution)
    left = free - out - inside
    if out + inside:
        decided = f"{out + inside:,} of {counted(free, 'feature')} ({percent_of(out + inside, free)})"
        verdicts = [f"{out:,} {_are(out)} in no optimal model"] if out else []
        verdicts += [f"{inside:,} {_are(inside)} in every one" if out else f"{inside:,} in every optimal model"] * (
            inside > 0
        )
        sentence = f"One bound, before any search, decides {decided}: {' and '.join(verdicts)}."
        sentence += _left(left, solution)
    else:
        sentence = f"The first bound alone decides none of {counted(free, 'feature')}."
        sentence += _left(left, solution)
    given = _given(solution)
    return f"{sentence} Beforehand, {given}." if given else sentence


def _left(count: int, solution: Solution) -> str:
    """What happened to the features without a proof of their own."""
    if count == 0:
        return " Nothing was left to search."
    if solution.nodes == 0:
        stay = "stays" if count == 1 else "stay"
        return f" {count:,} {stay} undecided: bound and model were close enough to need no search."
    return f" {count:,} {_was(count)} left to the search."


def _given(solution: Solution) -> str:
    """What was decided before anything was computed."""
    problem = solution.problem
    parts = [
        (problem.include.size, "required by the user"),
        (problem.exclude.size, "excluded by the user"),
        (decisions(solution).count(CONSTANT), "left out for being constant"),
    ]
    return ", ".join(f"{count:,} {_was(count)} {why}" for count, why in parts if count)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def meaning_of_margin(solution: Solution) -> str:
    """How to read the margins."""
    return (
        "The margin is the proof in one number. For a feature ruled out: every model that uses it has an objective at "
        f"least this much above the model’s {nearest(solution.objective, 5)}. For a feature proved in: every model "
        "without it is worse by at least this much. A negative margin is what a proof lacks. Margins are rounded down."
    )


def path_summary(subject: Subject) -> str:
    """How much of a path is proved."""
    path = subject.path
    assert path is not None
    optimal = path.statuses.count(Status.OPTIMAL)
    largest = percent_above(float(path.gaps.max()))
    if optimal == len(path):
        return f"All {len(path)} models are proved optimal; the largest gap left is {largest}."
    return (
        f"{optimal} of {len(path)} models are proved optimal. For the others the search ended early, the worst with a "
        f"gap of {largest}: they are the best models found, and better ones may exist within their gaps."
    )
