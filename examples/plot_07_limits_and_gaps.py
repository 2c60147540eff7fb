"""
Limits and gaps
===============

What you get when a search is stopped early, and how hard problems differ from easy ones.
"""

# %%
# 100 samples, 1,000 features and a weak ridge: many small models fit about equally well. Stop
# after two seconds.

import matplotlib.pyplot as plt
import numpy as np

import safescreen as ss

X, y, truth = ss.datasets.make_sparse_logistic(100, 1000, 10, snr=5.0, random_state=0)
problem = ss.Problem(X, y, k=10, gamma=60.0, fit_intercept=False, standardize=False)
solution = ss.solve(problem, time_limit=2.0)
solution

# %%
# The model was found at once. The time went into the proof: the lower bound rises, and no model
# is below it.

ss.ConvergenceDisplay.from_solution(solution)

# %%
# The same data with other ridge parameters, 0.5 seconds each. What is reported is always true:
# either the gap is closed, or the bound says how much better a model could be at most.

gammas = np.geomspace(1.0, 100.0, 7)
solutions = [ss.solve(problem.with_parameters(gamma=gamma), time_limit=0.5) for gamma in gammas]
figure, (top, bottom) = plt.subplots(2, 1, sharex=True, layout="constrained", height_ratios=(3, 2))
above, below = ([getattr(s, name) for s in solutions] for name in ("objective", "lower_bound"))
top.fill_between(gammas, below, above, color="#d9822b", alpha=0.25, linewidth=0)
top.plot(gammas, above, "o-", color="#0b5394", label="best model")
top.plot(gammas, below, "--", color="#d9822b", label="lower bound")
top.set(ylabel="objective")
top.legend(frameon=False)
bottom.bar(gammas, [s.seconds for s in solutions], width=0.3 * gammas, color="#c9d0d8")
bottom.set(xscale="log", xlabel="ridge parameter γ", ylabel="seconds")
for ax in (top, bottom):
    ax.spines[["top", "right"]].set_visible(False)

# %%
# A callback ends the search by a rule of your own, here at a gap of 2 %.

weaker = problem.with_parameters(gamma=30.0)
early = ss.solve(weaker, callback=lambda moment: moment.gap < 0.02, time_limit=5.0)
early
