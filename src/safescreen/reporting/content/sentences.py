"""The question and what is proved about its answer, in plain words.

Everything here returns plain text; escaping is the business of whoever puts it on a page.
"""

from __future__ import annotations

from safescreen.formatting.digits import above, below, counted, difference_above, duration, percent_above, percent_of
from safescreen.formatting.escaping import shortened
from safescreen.path import L0Path
from safescreen.problem import Problem
from safescreen.reporting.content.features import Decision, decisions
from safescreen.reporting.content.subject import Subject
from safescreen.search.solution import Solution

_LONGEST_LABEL = 40


def has_budget(problem: Problem) -> bool:
    """Whether the budget leaves out any features."""
    return problem.k < problem.n_features


def is_weighted(problem: Problem) -> bool:
    """Whether samples count differently."""
    return bool((problem.weights != problem.weights[0]).any())


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
    return f"“{shortened(problem.class_names[which], _LONGEST_LABEL)}”"


def question(subject: Subject) -> str:
    """What was asked."""
    problem = subject.problem
    aim = f"best whether a sample is {label(problem, 1)} rather than {label(problem, 0)}"
    if subject.path is not None:
        return f"{_of_all_models(subject.path, problem)} predict {aim}?"
    verb = "predicts" if problem.k == 1 and has_budget(problem) else "predict"
    others = "" if subject.alternatives is None else ", and which other models are as good"
    shared = "" if subject.core is None else ", and what do all good models use"
    return f"{_of_one_model(problem)} {verb} {aim}{others}{shared}?"


def _of_one_model(problem: Problem) -> str:
    """Who could predict: the question's beginning for one model."""
    if problem.mu > 0.0:
        return f"Which of {problem.n_features:,} features{_at_most(problem)}, each at a price of {problem.mu:g},"
    if has_budget(problem):
        count = "one" if problem.k == 1 else f"{problem.k:,} or fewer"
        return f"Which {count} of {problem.n_features:,} features"
    return f"How do {counted(problem.n_features, 'feature')}, all of them allowed,"


def _of_all_models(path: L0Path, problem: Problem) -> str:
    """Who could predict: the question's beginning for a path."""
    varied = {"k": "budget", "mu": "price per feature", "gamma": "ridge parameter"}[path.parameter]
    allowed = f"{_at_most(problem)}," if has_budget(problem) and path.parameter != "k" else ""
    span = f"from {path.values.min():g} to {path.values.max():g}"
    return f"For every {varied} {span}: which of {problem.n_features:,} features{allowed}"


def _at_most(problem: Problem) -> str:
    return f", at most {problem.k:,}" if has_budget(problem) else ""


def meaning_of_best(subject: Subject) -> str:
    """What the objective is."""
    problem = subject.problem
    varies = None if subject.path is None else subject.path.parameter
    mean = "the weighted mean log-loss" if is_weighted(problem) else "the log-loss averaged"
    ridge = "varies" if varies == "gamma" else f"= {problem.gamma:g}"
    parts = [f"{mean} over {counted(problem.n_samples, 'sample')}"]
    parts.append(f"a ridge penalty that keeps coefficients moderate (γ {ridge})")
    if varies == "mu":
        parts.append("the price μ for every feature used")
    elif problem.mu > 0.0:
        parts.append(f"a price of μ = {problem.mu:g} for every feature used")
    listed = f"{', '.join(parts[:-1])} and {parts[-1]}"
    scale = "Features were standardised first" if problem.standardize else "Features were used in their own units"
    intercept = "an unpenalised intercept is fitted" if problem.fit_intercept else "there is no intercept"
    best = f"“Best” means the smallest objective: {listed}. {scale}; {intercept}. "
    modelled = f"The model gives the probability of {label(problem, 1)}."
    return best + modelled


def all_models(problem: Problem) -> str:
    """The set of models the proof speaks about."""
    most = f"at most {problem.k:,}" if has_budget(problem) else "any"
    price = f" at a price of {problem.mu:g} each" if problem.mu > 0.0 else ""
    given = []
    if problem.include.size:
        given.append(f"the {counted(problem.include.size, 'required feature')}")
    excluded = problem.exclude.size - problem.left_out.size
    if excluded:
        given.append(f"none of the {counted(excluded, 'excluded feature')}")
    if problem.left_out.size:
        given.append("one of several copies")
    extra = f", with {' and '.join(given)}" if given else ""
    return f"all logistic models with {most} of {problem.n_features:,} features{price}{extra}"


def numbers(solution: Solution) -> dict[str, str]:
    """What templates say of a search and its proof: bounds and models, each number rounded to its honest side."""
    return {
        "models": all_models(solution.problem),
        "objective": above(solution.objective, 6),
        "bound": below(solution.lower_bound, 6),
        "distance": difference_above(solution.objective, solution.lower_bound),
        "gap": percent_above(solution.gap),
        "nearby": f" {solution.neighbourhood}" if solution.neighbourhood else "",
        "end": solution.status.sentence,
        "seconds": duration(solution.seconds),
        "nodes": counted(solution.nodes, "node"),
    }


def screened(solution: Solution) -> tuple[int, int, int]:
    """How many features screening ruled out, proved in, and had to decide on."""
    out, inside, undecided = map(decisions(solution).count, (Decision.OUT, Decision.IN, Decision.OPEN))
    return out, inside, out + inside + undecided


def ruled_out(solution: Solution) -> str:
    """What screening decided, in a few sentences."""
    if solution.screening is None:
        return "Screening was switched off for this search, so nothing is known about features one by one."
    out, inside, free = screened(solution)
    return _decided(out, inside, free) + _left(free - out - inside, solution) + _given(solution)


def _decided(out: int, inside: int, free: int) -> str:
    """What the first bound proves of features one by one."""
    if not out + inside:
        return f"The first bound alone decides none of {counted(free, 'feature')}."
    verdicts = [f"{_number(out, 'is', 'are')} in no optimal model"] if out else []
    if inside:
        verdicts.append(f"{_number(inside, 'is', 'are')} in every one" if out else f"{inside:,} in every optimal model")
    share = f"{out + inside:,} of {counted(free, 'feature')} ({percent_of(out + inside, free)})"
    return f"One bound, before any search, decides {share}: {' and '.join(verdicts)}."


def _left(count: int, solution: Solution) -> str:
    """What happened to the features without a proof of their own."""
    if count == 0:
        return " Nothing was left to search."
    if solution.nodes == 0:
        return f" {_number(count, 'stays', 'stay')} undecided: bound and model were close enough to need no search."
    return f" {_number(count, 'was', 'were')} left to the search."


def _given(solution: Solution) -> str:
    """What was decided before anything was computed."""
    letters = decisions(solution)
    reasons = {
        Decision.REQUIRED: "required by the user",
        Decision.FORBIDDEN: "excluded by the user",
        Decision.COPY: "left out in favour of a copy",
        Decision.CONSTANT: "left out for being constant",
    }
    counts = [(letters.count(decision), why) for decision, why in reasons.items()]
    parts = [f"{_number(count, 'was', 'were')} {why}" for count, why in counts if count]
    return f" Beforehand, {', '.join(parts)}." if parts else ""


def _number(count: int, one: str, many: str) -> str:
    """A count and the verb that goes with it."""
    return f"{count:,} {one if count == 1 else many}"
