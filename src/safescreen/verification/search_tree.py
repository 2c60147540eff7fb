"""The search tree of a proof: complete, and without a model that gets lost on the way down.

No bounds are computed here: the tree says which models belong to a node, and which dual point is about them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from safescreen.verification.arithmetic import Array
from safescreen.verification.dual_bounds import IN, OUT
from safescreen.verification.reading import SWEPT_ARRAYS, TREE_ARRAYS, Arrays, chunk_name, require
from safescreen.verification.recognition import Columns, mask_of, require_in_range


class Decisions(NamedTuple):
    """Decisions about features, one per entry."""

    feature: Array
    side: Array
    """``IN`` or ``OUT``."""


def decode(codes: Array) -> Decisions:
    """Decisions from their codes: ``j + 1`` puts feature j in, ``-(j + 1)`` puts it out."""
    return Decisions(np.abs(codes.astype(np.int64)) - 1, np.where(codes < 0, OUT, IN))


@dataclass(frozen=True)
class Parts:
    """Which part of an array belongs to which node, where the lists of all nodes were concatenated."""

    first: Array
    size: Array

    def of(self, nodes: Array) -> tuple[Array, Array]:
        """The entries of these nodes: to which of them each belongs (0, 1, ...), and where it is."""
        size = self.size[nodes]
        owner = np.repeat(np.arange(nodes.size), size)
        shift = self.first[nodes] - (np.cumsum(size) - size)
        return owner, np.arange(owner.size) + shift[owner]


def divide(sizes: Array) -> Parts:
    """Parts of these sizes, one after the other."""
    return Parts(np.cumsum(sizes, dtype=np.int64) - sizes, sizes)


@dataclass(frozen=True)
class Tree:
    """The search tree: who is whose parent, what is decided where, and the points; one entry per node."""

    parent: Array
    """Of the root: itself."""
    is_leaf: Array
    has_branch: Array
    """Whether a branching decision leads to the node."""
    branch: Decisions
    """That decision; where there is none, one about feature 0 that is never looked at."""
    screened: Decisions
    """The screening decisions of all nodes."""
    screened_parts: Parts
    has_point: Array
    intercept: Array
    feature: Array
    """The non-zeros of all points: features and values."""
    value: Array
    point_parts: Parts
    swept: Array
    """Which nodes have one place left and are closed candidate by candidate, their children aside."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.parent.size)

    def features_used(self, n_features: int) -> Array:
        """Which features occur in decisions and points."""
        in_points = mask_of(self.feature, n_features)
        in_branches = mask_of(self.branch.feature, n_features)
        in_screening = mask_of(self.screened.feature, n_features)
        return in_points | in_branches | in_screening

    def renumbered(self, used: Array) -> Tree:
        """The same tree, with features counted among those used."""
        return replace(
            self,
            branch=self.branch._replace(feature=np.searchsorted(used, self.branch.feature)),
            screened=self.screened._replace(feature=np.searchsorted(used, self.screened.feature)),
            feature=np.searchsorted(used, self.feature),
        )

    def children_of_swept(self) -> dict[int, list[int]]:
        """The features that children of swept nodes have in, by their parents."""
        is_swept = np.zeros(self.n_nodes, np.bool_)
        is_swept[self.swept] = True
        children = 1 + np.flatnonzero(is_swept[self.parent[1:]])
        features: dict[int, list[int]] = {}
        for parent, feature in zip(self.parent[children].tolist(), self.branch.feature[children].tolist(), strict=True):
            features.setdefault(parent, []).append(feature)
        return features

    def status(self, nodes: Array, root_status: Array) -> Array:
        """Which features are in and which out at these nodes: the root's status and all decisions above.

        From a node to its parent these are the branching decision that leads to the node, and the screening
        decisions of the parent.
        """
        status = np.repeat(root_status[:, None], nodes.size, axis=1)
        row, node = np.arange(nodes.size), nodes
        while True:
            below_root = node > 0
            row, node = row[below_root], node[below_root]
            if not node.size:
                return status
            branched = self.has_branch[node]
            branch_side, branch_feature = self.branch.side[node], self.branch.feature[node]
            status[branch_side[branched], row[branched], branch_feature[branched]] = True
            node = self.parent[node]
            owner, entry = self.screened_parts.of(node)
            status[self.screened.side[entry], row[owner], self.screened.feature[entry]] = True

    def dual_points(self, nodes: Array, columns: Columns, labels: Array) -> Array:
        """``p_i = 1 / (1 + exp(y_i (A_i x + b)))`` of these nodes.

        However it is rounded it is in [0, 1], and so there is a bound that belongs to it.
        """
        return np.asarray(1.0 / (1.0 + np.exp(self.predictors(nodes, columns) * labels)))

    def predictors(self, nodes: Array, columns: Columns) -> Array:
        """``A x + b`` of these nodes; points have few non-zeros, so that only the columns of these are needed."""
        row, entry = self.point_parts.of(nodes)
        used, place = np.unique(self.feature[entry], return_inverse=True)
        columns = columns.of(used)
        x = np.zeros((nodes.size, used.size))
        x[row, place] = self.value[entry]
        x /= columns.scales
        return np.asarray(x @ columns.X.T + (self.intercept[nodes] - x @ columns.means)[:, None])


def read_tree(n_chunks: int, arrays: Arrays, n_features: int) -> Tree:
    """The tree of a proof, if it is one: all counts add up, no feature is out of range, no branch is missing."""
    joined = {}
    for name in TREE_ARRAYS:
        joined[name] = np.concatenate([arrays[chunk_name(chunk, name)] for chunk in range(n_chunks)])
    nodes, feature, value = joined["nodes"], joined["feature"], joined["value"]
    swept = np.concatenate(
        [
            arrays.get(chunk_name(chunk, name), np.empty(0, dtype))
            for chunk in range(n_chunks)
            for name, dtype in SWEPT_ARRAYS.items()
        ]
    )
    check_counts(nodes, joined["screened"], feature, value)
    screened = decode(joined["screened"])
    decision = nodes["decision"]
    branch = decode(np.where(decision != 0, decision, 1))
    for features in (feature, screened.feature, branch.feature):
        require_in_range(features, n_features)
    check_swept(swept, nodes)
    n_children = check_branching(nodes["parent"], decision, swept)
    return Tree(
        parent=np.maximum(nodes["parent"], 0),
        is_leaf=n_children == 0,
        has_branch=decision != 0,
        branch=branch,
        screened=screened,
        screened_parts=divide(nodes["screened"]),
        has_point=nodes["size"] >= 0,
        intercept=nodes["intercept"],
        feature=feature,
        value=value,
        point_parts=divide(np.maximum(nodes["size"], 0)),
        swept=swept,
    )


def check_counts(nodes: Array, codes: Array, feature: Array, value: Array) -> None:
    """What the nodes say they have is there, and nothing else is."""
    n_screened, size = nodes["screened"], nodes["size"]
    require(np.isfinite(nodes["intercept"]).all(), "A point is not finite.")
    require(n_screened.min() >= 0 and size.min() >= -1, "A count is negative.")
    require(not n_screened[size < 0].any(), "A node without a point screens features.")
    n_codes = n_screened.sum(dtype=np.int64)
    n_entries = np.maximum(size, 0).sum(dtype=np.int64)
    add_up = codes.size == n_codes and feature.size == n_entries and value.size == n_entries
    require(add_up, "The counts of the tree do not add up.")


def check_swept(swept: Array, nodes: Array) -> None:
    """Nodes that are marked as swept exist, have a point, and screen nothing."""
    rising = (np.diff(swept) > 0).all()
    in_tree = not swept.size or (swept[0] >= 0 and swept[-1] < nodes.size)
    require(rising and in_tree, "The swept nodes are not nodes of the tree, in their order.")
    require((nodes["size"][swept] >= 0).all(), "A swept node has no point.")
    require(not nodes["screened"][swept].any(), "A swept node screens features.")


def check_branching(parent: Array, decision: Array, swept: Array) -> Array:
    """How many children each node has, after a check that no model gets lost between a node and its children.

    Parents come before their children, so there are no cycles and all nodes hang on one root. A node has no
    child, or one without a decision, which takes over all its models, or two with opposite decisions, which
    share them. A swept node has as many as it likes, each with another feature in: what they do not take over is left.
    """
    n_nodes = parent.size
    require(parent[0] == -1 and decision[0] == 0, "The tree does not begin with a root.")
    require((parent[1:] >= 0).all(), "The tree has two roots.")
    require((parent < np.arange(n_nodes)).all(), "A node comes before its parent.")
    n_children = np.bincount(parent[1:], minlength=n_nodes)
    n_branches = np.bincount(parent[1:], weights=decision[1:] != 0, minlength=n_nodes)
    sum_of_codes = np.bincount(parent[1:], weights=decision[1:], minlength=n_nodes)
    usual = np.ones(n_nodes, np.bool_)
    usual[swept] = False
    require(n_children[usual].max(initial=0) <= 2, "A node has more than two children.")
    require((n_branches == 2 * (n_children == 2))[usual].all(), "A branch of a node is missing.")
    require(not sum_of_codes[usual].any(), "The two branches of a node are not opposite.")
    completing = 1 + np.flatnonzero(~usual[parent[1:]])
    require((decision[completing] > 0).all(), "A child of a swept node does not have a feature in.")
    pairs = np.stack((parent[completing], decision[completing]), axis=1)
    require(len(np.unique(pairs, axis=0)) == len(pairs), "Two children of a swept node have the same feature in.")
    return n_children
