"""Data to try things on: the synthetic benchmark, an embedded real set, the paper's real sets, and local archives."""

from safescreen.datasets.embedded import load_breast_cancer_interactions
from safescreen.datasets.fetching import fetch_arcene, fetch_genomic, fetch_newsgroups
from safescreen.datasets.local import DATA_VARIABLE, load_local
from safescreen.datasets.synthetic import make_sparse_logistic

__all__ = [
    "DATA_VARIABLE",
    "fetch_arcene",
    "fetch_genomic",
    "fetch_newsgroups",
    "load_breast_cancer_interactions",
    "load_local",
    "make_sparse_logistic",
]
