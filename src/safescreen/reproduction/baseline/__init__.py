"""The paper's own pipeline, to measure ours against: Clarabel under a branch and bound of ours, or MOSEK."""
