"""The model file: JSON, readable by people and other programs, and safe to open, unlike pickles.

Only what prediction and an honest account need is written: the chosen features with their coefficients as estimated and
as the proof has them, labels, names, parameters, the proof in numbers, and how features were made from the columns of a
file. Floating-point numbers are written so that they come back bit for bit. Nothing here needs scikit-learn, so that
the command line starts quickly.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from safescreen import __version__
from safescreen.defaults import GAMMA
from safescreen.estimation import Estimate
from safescreen.files import write_whole
from safescreen.problem.copies import ALLOW, ONE
from safescreen.problem.validation import check_gamma
from safescreen.search.solution import Solution

FORMAT = "safescreen-model"
VERSION = 1
"""Raised whenever a reader of the previous version would misread a file."""

_LABEL_KINDS = "biufUO"
_MOST_FEATURES = 100_000_000  # a file that claims more would fill the memory with zeros
_WIDEST_LABEL = 1000  # characters, unless the labels themselves are longer
ENTRIES: dict[str, tuple[type, ...]] = {
    "parameters": (dict,),
    "n_features": (int,),
    "feature_names": (list, type(None)),
    "classes": (dict,),
    "support": (list,),
    "coefficients": (list,),
    "intercept": (float,),
    "objective": (float,),
    "lower_bound": (float,),
    "gap": (float,),
    "status": (str,),
    "n_iter": (int,),
}
"""What every file has, and as what."""

COPIES = "copies"
"""What only files of models have whose features have copies: groups of features, the chosen one first."""

POSITIVE = "positive_class"
"""The label that is modelled, as in the data; older files have none, there it is the second of the classes."""

ENCODING = "encoding"
"""What only files written by the command line have: how to make features from the columns of a file."""


REFIT_GAMMA = "refit_gamma"
"""The parameter that came with the second ridge: files that do not name it have one ridge, and nothing of `RIDGES`."""

RIDGES: dict[str, dict[str, tuple[type, ...]]] = {
    "selection": {"coefficients": (float,)},
    "estimate": {
        "means": (float, type(None)),
        "deviations": (float, type(None)),
        "binary": (bool,),
        "unpenalised": (float, type(None)),
    },
}
"""What files with two ridges have beside that: lists with one value per chosen feature, null where there is none."""

_RIDGE_NUMBERS: dict[str, dict[str, tuple[type, ...]]] = {
    "selection": {
        "intercept": (float,),
        "nodes": (int,),
        "k": (int, type(None)),
        "mu": (float, type(None)),
        "restricted": (bool,),
    },
    "estimate": {"gamma": (float,)},
}
"""Single values in the same entries."""


class UnusableError(Exception):
    """Why a file cannot be used, as the end of a sentence."""


class Chosen(NamedTuple):
    """What the proof is about: the chosen features' coefficients at the ridge `gamma`, and the terms of the choice."""

    gamma: float
    coefficients: npt.NDArray[np.float64]
    intercept: float
    nodes: int
    k: int | None = None  # not known in files with one ridge
    mu: float | None = None
    restricted: bool = False


@dataclass(frozen=True)
class Record:
    """What a model file holds.

    Attributes
    ----------
    parameters : dict
        The estimator's parameters.
    n_features : int
        Number of features.
    feature_names : ndarray of str, optional
        Their names.
    classes : ndarray of shape (2,)
        The negative and the positive label.
    estimate : Estimate
        The chosen features with the coefficients that predict.
    selection : Chosen
        The same features with the coefficients that the proof is about.
    objective, lower_bound, gap, status, n_iter
        As of the fitted estimator.
    encoding : dict, optional
        How features are made from the columns of a file, in the words of `safescreen.tables.Encoding.to_json`.
    positive_class : label, optional
        The label that is modelled, as it is in the data; by default the second of the classes.
    copies : sequence of ndarray of int
        Groups of features that are copies of one another, as far as they have a chosen feature.
    """

    parameters: dict[str, Any]
    n_features: int
    feature_names: npt.NDArray[np.object_] | None
    classes: npt.NDArray[Any]
    estimate: Estimate
    selection: Chosen
    objective: float
    lower_bound: float
    gap: float
    status: str
    n_iter: int
    encoding: dict[str, Any] | None = None
    positive_class: Any = None
    copies: Sequence[npt.NDArray[np.int64]] = ()

    def __post_init__(self) -> None:
        if self.positive_class is None:
            object.__setattr__(self, POSITIVE, self.classes[1])

    @property
    def support(self) -> npt.NDArray[np.int64]:
        """The chosen features."""
        return self.estimate.support

    @property
    def coefficients(self) -> npt.NDArray[np.float64]:
        """What predicts, in the units of the data."""
        return self.estimate.coefficients

    @property
    def intercept(self) -> float:
        """What predicts, in the units of the data."""
        return self.estimate.intercept

    @classmethod
    def from_solution(
        cls,
        solution: Solution,
        estimate: Estimate,
        *,
        refit_gamma: float | str = "same",
        rel_gap: float = 1e-4,
        time_limit: float | None = None,
        node_limit: int | None = None,
        screening: str = "nodes",
        n_threads: int = 1,
        memory_limit: float | None = None,
        encoding: dict[str, Any] | None = None,
    ) -> Record:
        """What to keep of a solution and its estimates: all but the data, sample weights among them."""
        problem = solution.problem
        parameters = {
            **problem.asked.asdict(),
            REFIT_GAMMA: refit_gamma,
            "copies": ONE if problem.one_of_copies else ALLOW,
            "class_weight": None,
            "positive_class": problem.positive_class,
            "rel_gap": rel_gap,
            "time_limit": time_limit,
            "node_limit": node_limit,
            "screening": screening,
            "n_threads": n_threads,
            "memory_limit": memory_limit,
            "verbose": 0,
            "warm_start": False,
        }
        return cls(
            parameters=parameters,
            n_features=problem.n_features,
            feature_names=problem.feature_names,
            classes=problem.classes,
            estimate=estimate,
            selection=Chosen(
                gamma=problem.gamma,
                coefficients=solution.coef[solution.support],
                intercept=solution.intercept,
                nodes=solution.nodes,
                k=problem.k,
                mu=problem.mu,
                restricted=bool(problem.include.size or problem.exclude.size),
            ),
            objective=solution.objective,
            lower_bound=solution.lower_bound,
            gap=solution.gap,
            status=solution.status,
            n_iter=max(solution.nodes, 1),
            encoding=encoding,
            positive_class=problem.positive_class,
            copies=problem.copies_of(solution.support),
        )

    @classmethod
    def read(cls, path: Path) -> Record:
        """The record in a file.

        Raises
        ------
        ValueError
            If the file is damaged, truncated, of another kind or from a newer version; the message says which.
        OSError
            If the file cannot be read.
        """
        try:
            return cls._restored(_checked(_parsed(path)))
        except UnusableError as problem:
            raise ValueError(f"{path} cannot be loaded: {problem}.") from None

    def write(self, path: Path) -> None:
        """Write the file: it appears complete or not at all."""
        content = self._content()
        document = {"format": FORMAT, "version": VERSION, "sha256": digest(content), **content}
        text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        if not encodable(text):
            text = json.dumps(document, indent=1, allow_nan=False) + "\n"
        with write_whole(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")

    def _content(self) -> dict[str, Any]:
        """All that is stored, in types that JSON has."""
        content = {
            "safescreen": __version__,
            "parameters": _plain_parameters(self.parameters),
            "n_features": int(self.n_features),
            "feature_names": None if self.feature_names is None else [str(name) for name in self.feature_names],
            "classes": _plain_labels(self.classes),
            POSITIVE: _plain(self.positive_class),
            "support": self.support.tolist(),
            "coefficients": self.coefficients.tolist(),
            "intercept": float(self.intercept),
            "objective": float(self.objective),
            "lower_bound": float(self.lower_bound),
            "gap": float(self.gap),
            "status": str(self.status),
            "n_iter": int(self.n_iter),
        }
        content["selection"] = {
            "coefficients": self.selection.coefficients.tolist(),
            "intercept": float(self.selection.intercept),
            **{name: _plain(getattr(self.selection, name)) for name in ("nodes", "k", "mu", "restricted")},
        }
        content["estimate"] = {
            "gamma": float(self.estimate.gamma),
            **{name: _with_null(getattr(self.estimate, name)) for name in RIDGES["estimate"]},
        }
        if self.copies:
            content[COPIES] = [group.tolist() for group in self.copies]
        return content if self.encoding is None else {**content, ENCODING: self.encoding}

    @classmethod
    def _restored(cls, content: dict[str, Any]) -> Record:
        names = None if content["feature_names"] is None else _names(content)
        labels = _labels(content["classes"])
        encoding = content.get(ENCODING)
        if encoding is not None and not isinstance(encoding, dict):
            raise UnusableError(f"it is damaged (entry {ENCODING!r} is a {type(encoding).__name__})")
        parameters = _parameters(content["parameters"])
        estimate, selection = _models(content, parameters)
        return cls(
            parameters={REFIT_GAMMA: "same", **parameters},
            n_features=content["n_features"],
            feature_names=names,
            classes=labels,
            estimate=estimate,
            selection=selection,
            objective=content["objective"],
            lower_bound=content["lower_bound"],
            gap=content["gap"],
            status=content["status"],
            n_iter=content["n_iter"],
            encoding=encoding,
            positive_class=_positive(content, labels),
            copies=_copies(content),
        )


def _plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters without NumPy scalars; a dict of class weights becomes pairs, since JSON keys are strings."""
    plain = {name: _plain(value) for name, value in sorted(parameters.items())}
    if isinstance(plain.get("class_weight"), dict):
        plain["class_weight"] = [[_plain(key), _plain(value)] for key, value in plain["class_weight"].items()]
    return plain


def _plain(value: Any) -> Any:
    """A value as JSON has it: no NumPy scalars, and lists of features whatever they came in."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Iterable) and not isinstance(value, str | dict):
        return [_plain(item) for item in value]
    return value


def _with_null(values: npt.NDArray[Any]) -> list[Any]:
    """A list with null for what is not a number, since JSON has no word for that."""
    return [None if value != value else value for value in values.tolist()]


def _plain_labels(classes: npt.NDArray[Any]) -> dict[str, Any]:
    """Labels with their dtype, so that predictions have the same type after loading."""
    labels = [_plain(label) for label in classes.tolist()]
    if classes.dtype.kind not in _LABEL_KINDS or not all(
        isinstance(label, bool | int | float | str) for label in labels
    ):
        raise ValueError(
            f"The labels {labels} of dtype {classes.dtype} cannot be written as JSON: fit with numbers, booleans or "
            "strings as labels."
        )
    return {"dtype": classes.dtype.str, "labels": labels}


def encodable(text: str) -> bool:
    """Whether UTF-8 has it all; it has no half of a surrogate pair, which JSON can escape."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def digest(content: dict[str, Any]) -> str:
    """A checksum of the values rather than the text, so that reformatting a file does no harm."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _parsed(path: Path) -> Any:
    """The file as JSON."""
    try:
        return json.loads(path.read_bytes().decode("utf-8"))
    except UnicodeDecodeError:
        raise UnusableError("it is not a text file, let alone a safescreen model") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise UnusableError(f"it is not JSON, or truncated ({error})") from None


def _checked(document: Any) -> dict[str, Any]:
    """The content of a document of our kind, version and checksum, with entries of the right types."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UnusableError(f'it is not a safescreen model (no "format": "{FORMAT}")')
    version = document.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise UnusableError(f"it is damaged (version {version!r})")
    if version > VERSION:
        raise UnusableError(
            f"it has format version {version}, but this safescreen ({__version__}) reads versions up to {VERSION}: "
            "update safescreen"
        )
    for name, types in ENTRIES.items():
        if name not in document:
            raise UnusableError(f"it is damaged (no entry {name!r})")
        if not isinstance(document[name], types) or isinstance(document[name], bool):
            raise UnusableError(f"it is damaged (entry {name!r} is a {type(document[name]).__name__})")
    content = {name: value for name, value in document.items() if name not in ("format", "version", "sha256")}
    try:
        expected = digest(content)
    except ValueError:
        raise UnusableError("it is damaged (a number is not finite)") from None
    if document.get("sha256") != expected:
        raise UnusableError("it is damaged (its checksum does not match)")
    return content


def _parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """The estimator's parameters, class weights as a dict again, and features as the tuples that defaults are."""
    restored = {name: tuple(value) if isinstance(value, list) else value for name, value in parameters.items()}
    if isinstance(restored.get("class_weight"), tuple):
        try:
            restored["class_weight"] = dict(restored["class_weight"])
        except (TypeError, ValueError):
            raise UnusableError("it is damaged (class_weight is no list of pairs)") from None
    return restored


def _names(content: dict[str, Any]) -> npt.NDArray[np.object_]:
    names = content["feature_names"]
    if len(names) != content["n_features"] or not all(isinstance(name, str) for name in names):
        raise UnusableError(f"it is damaged ({content['n_features']} feature names are needed)")
    return np.array(names, dtype=object)


def _labels(classes: dict[str, Any]) -> npt.NDArray[Any]:
    """The two labels in their own dtype."""
    try:
        dtype = np.dtype(classes["dtype"])
        longest = max(len(str(label)) for label in classes["labels"])
        if dtype.itemsize > 4 * max(longest, _WIDEST_LABEL):
            raise UnusableError(f"it is damaged (labels of {dtype.itemsize:,} bytes)")
        labels = np.array(classes["labels"], dtype=dtype)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise UnusableError("it is damaged (the labels cannot be read)") from None
    if dtype.kind not in _LABEL_KINDS or labels.shape != (2,):
        raise UnusableError("it is damaged (two labels are needed)")
    return labels


def _copies(content: dict[str, Any]) -> list[npt.NDArray[np.int64]]:
    """Groups of two or more features."""
    groups, size = content.get(COPIES, []), content["n_features"]
    sound = isinstance(groups, list) and all(isinstance(group, list) and len(group) > 1 for group in groups)
    if not sound or not all(type(j) is int and 0 <= j < size for group in groups for j in group):
        raise UnusableError(f"it is damaged (entry {COPIES!r} needs lists of features)")
    return [np.array(group, dtype=np.int64) for group in groups]


def _positive(content: dict[str, Any], classes: npt.NDArray[Any]) -> Any:
    """The label that is modelled: the second class, or what that stands for."""
    label = content.get(POSITIVE)
    made_up = classes.dtype.kind == "b" and type(label) in (int, float)
    if label is None or (label == classes[1] and not made_up):
        return classes[1]
    if not made_up:
        raise UnusableError(f"it is damaged (entry {POSITIVE!r} is {label!r}, which is not the second label)")
    return label


def _models(content: dict[str, Any], parameters: dict[str, Any]) -> tuple[Estimate, Chosen]:
    """What predicts and what was proved; one and the same in a file with one ridge."""
    try:
        gamma = check_gamma(parameters.get("gamma", GAMMA))
    except (TypeError, ValueError):
        raise UnusableError(f"it is damaged (gamma is {parameters['gamma']!r})") from None
    support, coefficients = _coefficients(content)
    estimated: dict[str, Any] = {name: np.full(support.size, np.nan) for name in RIDGES["estimate"]}
    estimated["binary"] = np.zeros(support.size, dtype=np.bool_)
    chosen, ridge = Chosen(gamma, coefficients, content["intercept"], content["n_iter"]), gamma
    if REFIT_GAMMA in parameters:
        proved, found = (_ridge_entry(content, name, support.size) for name in RIDGES)
        estimated = {name: np.array(found[name], dtype=estimated[name].dtype) for name in estimated}
        terms = {name: proved[name] for name in _RIDGE_NUMBERS["selection"]}
        chosen = Chosen(gamma=gamma, coefficients=np.array(proved["coefficients"], float), **terms)
        ridge = found["gamma"]
    known = estimated["deviations"][~np.isnan(estimated["deviations"])]
    if not ridge > 0.0 or (known < 0.0).any():
        raise UnusableError("it is damaged (ridges and deviations must not be negative)")
    said: dict[str, Any] = {
        "gamma": ridge,
        "support": support,
        "coefficients": coefficients,
        "intercept": content["intercept"],
    }
    return Estimate(**said, **estimated), chosen


def _ridge_entry(content: dict[str, Any], name: str, size: int) -> dict[str, Any]:
    """One of the entries about ridges, its numbers and lists of the right length and types."""
    entry = content.get(name)
    if not isinstance(entry, dict):
        raise UnusableError(f"it is damaged (no entry {name!r})")
    for number, kind in _RIDGE_NUMBERS[name].items():
        if number not in entry or type(entry[number]) not in kind:
            raise UnusableError(f"it is damaged (entry {name!r} needs another {number!r})")
    for part, types in RIDGES[name].items():
        values = entry.get(part)
        if not isinstance(values, list) or len(values) != size or not all(type(value) in types for value in values):
            kinds = "flags" if bool in types else "numbers"
            raise UnusableError(f"it is damaged (entry {name!r} needs {size} {kinds} {part!r})")
    return entry


def _coefficients(content: dict[str, Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The chosen features and their coefficients."""
    support, values, size = content["support"], content["coefficients"], content["n_features"]
    if not 1 <= size <= _MOST_FEATURES:
        raise UnusableError(f"it is damaged ({size:,} features)")
    sound = all(type(j) is int and 0 <= j < size for j in support) and len({*support}) == len(support)
    if len(support) != len(values) or not sound:
        raise UnusableError(f"it is damaged (support needs an index of its own from 0 to {size - 1} per coefficient)")
    if not all(type(value) is float and math.isfinite(value) for value in values):
        raise UnusableError("it is damaged (coefficients must be finite numbers)")
    return np.array(support, dtype=np.int64), np.array(values, dtype=np.float64)
