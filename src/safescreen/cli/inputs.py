"""From what was typed to a problem: files read, columns found, values checked before anything takes long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

import safescreen as ss
from safescreen.arrays import AnyArray
from safescreen.defaults import default_budget
from safescreen.files import check_readable
from safescreen.problem.terms import Terms
from safescreen.saving.record import Record
from safescreen.tables import (
    Encoding,
    Input,
    Prepared,
    Reading,
    Table,
    check_classes,
    prepare,
    prepare_test,
    read_table,
)
from safescreen.tables.findings import UnusableError
from safescreen.text import count, listed

_TOLD = 3  # copies that are named


def load(path: str, reading: Reading, include: Sequence[str] | None = None) -> Prepared:
    """Read a file with training data."""
    table = read_table(path, labels=reading.labels, **reading.form)
    reading = replace(reading, exclude=tuple(split_names(reading.exclude, table.names)))
    both = set(split_names(include, table.names)) & set(reading.exclude)
    if both:
        raise ValueError(f"--include and --exclude share {sorted(both)[0]!r}, but must be disjoint.")
    try:
        data = prepare(table, reading)
    except UnusableError as error:
        wanted = split_names(include, table.names)
        if any(name in split_names([word], table.names) for word in error.words for name in wanted):
            raise ValueError(str(error)) from None  # which no command can heed as long as that feature is wanted
        raise
    check_classes(table, data.target, data.y, reading)
    return data


def split_names(values: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """Names separated by commas, unless a comma is part of a name."""
    names: list[str] = []
    for value in values or ():
        names += [value] if value in known else [name.strip() for name in value.split(",") if name.strip()]
    return list(dict.fromkeys(names))


def make_problem(data: Prepared, terms: Mapping[str, Any], copies: str = "allow") -> ss.Problem:
    """State the problem, with a budget where there is neither a budget nor a price.

    By default all columns that are copies of each other may be chosen.
    """
    stated = {name: terms[name] for name in Terms.names() if name in terms}
    stated["include"] = features(data, terms["include"])
    stated["positive_class"] = data.positive
    if stated["k"] is None and stated["mu"] is None:
        stated["k"] = default_budget(len(set(stated["include"])), len(data.encoding.inputs))
    problem = ss.Problem(data.X, data.y, sample_weight=data.weights, feature_names=data.feature_names, **stated)
    return problem if copies == "allow" else problem.without_copies()


def noted(data: Prepared, problem: ss.Problem) -> Prepared:
    """The data with a note on columns that do no harm but are no help, either."""
    constant = problem.names(np.flatnonzero(problem.design.constant & ~problem.included))
    repeating = {
        name: first
        for group in problem.copies
        for first, *others in [problem.names(group)]
        for name, j in zip(others, group[1:].tolist(), strict=True)
        if not problem.included[j]
    }
    notes = []
    if constant:
        verb = "has" if len(constant) == 1 else "have"
        notes.append(
            f"{count(len(constant), 'column')} {verb} one value only and cannot be chosen: {listed(constant)}."
        )
    if repeating:
        verb = "repeats another" if len(repeating) == 1 else "repeat others"
        scaled = " up to scale and offset" if problem.standardize else ""
        limit = " and cannot be chosen beside what is repeated (--copies allow)" if problem.one_of_copies else ""
        told = ", ".join(f"{name!r} ({first!r})" for name, first in list(repeating.items())[:_TOLD])
        more = f" and {len(repeating) - _TOLD:,} more" if len(repeating) > _TOLD else ""
        notes.append(f"{count(len(repeating), 'column')} {verb}{scaled}{limit}: {told}{more}.")
    return replace(data, notes=(*data.notes, *notes))


def features(data: Prepared, wanted: Sequence[str]) -> list[int]:
    """Indices of the features to be included, given by name, or by the index of their column."""
    encoding, table = data.encoding, data.table
    names = encoding.names
    places = {source.position: j for j, source in enumerate(encoding.inputs) if source.category is None}
    features = []
    for name in split_names(wanted, names):
        if name in names:
            features.append(names.index(name))
            continue
        place = table.find(name, "--include")
        if place not in places:
            raise ValueError(f"--include contains {name!r}, but that is {_role(data, place)}, not a feature.")
        features.append(places[place])
    return features


def _role(data: Prepared, place: int) -> str:
    """What a column is if not a feature."""
    encoding = data.encoding
    if place in encoding.asides:
        return "the target" if place == encoding.asides[0] and encoding.reading.target else "the column of weights"
    column = data.table.names[place]
    if column in encoding.categories:
        return f"a column of categories (name one of them, such as '{column}={encoding.categories[column][-1]}')"
    return "excluded"


def read_new(path: str, encoding: Encoding, labels: Sequence[str] = ()) -> Table:
    """A file with new data, read as the training data were."""
    labels = (*labels, *encoding.categorical)
    return read_table(path, labels=labels, first_index=encoding.first_index, **encoding.reading.form)


def load_test(path: str | None, data: Prepared) -> tuple[Any, AnyArray] | None:
    """Features and labels of held-out data, treated as the training data were; None if there is no such file."""
    if path is None:
        return None
    encoding = data.encoding
    table = read_new(path, encoding, encoding.reading.labels)
    X, y = prepare_test(table, encoding)
    strange = sorted(set(y.tolist()) - set(np.unique(data.y).tolist()), key=str)
    if strange or not y.size:
        found = f"the label {strange[0]!r}, which the training data do not have" if strange else "no rows with labels"
        raise ValueError(f"{path} has {found}.")
    return X, y


def read_model(path: Path) -> tuple[Record, Encoding]:
    """A model file, and how to find its features; a model fitted in Python wants them as they are."""
    check_readable(path)
    record = Record.read(path)
    if record.encoding is None:
        names = record.feature_names
        inputs = tuple(Input(f"x{j}" if names is None else names[j], j) for j in record.support.tolist())
        return record, Encoding(inputs, record.feature_names is not None, record.n_features)
    try:
        encoding = Encoding.from_json(record.encoding)
        if len(encoding.inputs) != record.support.size:
            raise ValueError("there are other features in it than in the model")
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueError(f"{path} cannot be loaded: it is damaged (its encoding cannot be read).") from None
    return record, encoding


def reading_of(model: Path, said: Reading) -> Reading:
    """How a model's training data were read, but for what is said anew."""
    record, encoding = read_model(model)
    if record.encoding is None:
        raise ValueError(f"--model is {model}, but that model was not fitted on the command line.")
    return restated(encoding.reading, said)


def restated(known: Reading, said: Reading) -> Reading:
    """What is known about the reading of a file, but for what is said anew."""
    new = {part.name: getattr(said, part.name) for part in fields(Reading) if getattr(said, part.name) != part.default}
    return replace(known, **new)
