"""
Screening 10,000 features
=========================

How many features are decided before any search, and what that depends on.
"""

# %%
# 500 samples, 10,000 independent features, ten of which matter.

import matplotlib.pyplot as plt
import numpy as np

import safescreen as ss

X, y, truth = ss.datasets.make_sparse_logistic(500, 10_000, 10, snr=3.0, random_state=0)
problem = ss.Problem(X, y, k=10, gamma=10.0)
screening = ss.screen(problem)
screening

# %%
# The few features left are decided by the search.

solution = ss.solve(problem)
print(solution)
print("true features found:", np.isin(np.flatnonzero(truth), solution.support).sum(), "of 10")

# %%
# The margin is by how much a proof succeeds. Nearly all features are decided by a wide one.

ss.ScreeningDisplay.from_screening(screening)

# %%
# A weaker ridge (larger γ) loosens the relaxation. So does a budget that does not fit the
# signals: with five, ten equally strong features compete for the places, and with fifteen,
# thousands of noise features compete for the last five.

gammas = np.geomspace(1.0, 300.0, 9)
figure, ax = plt.subplots(layout="constrained")
for k, colour in zip((5, 10, 15), ("#0b5394", "#2e8b57", "#d9822b"), strict=True):
    percent = [ss.screen(problem.with_parameters(k=k, gamma=gamma)).percent for gamma in gammas]
    ax.plot(gammas, percent, "o-", color=colour, label=f"k = {k}")
ax.set(xscale="log", xlabel="ridge parameter γ", ylabel="features decided (%)", ylim=(-3, 103))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
