"""
Price or budget
===============

A budget ``k`` fixes the number of features; a price ``mu`` lets the data decide. Both walk along
the same trade-off.
"""

# %%
# Solve for every budget up to 20, each time to a tight gap.

import matplotlib.pyplot as plt
import numpy as np

import safescreen as ss

X, y, names = ss.datasets.load_breast_cancer_interactions()
budgets = ss.l0_path(X, y, k=range(1, 21), gamma=100.0, rel_gap=1e-5)
budgets

# %%
# A model with ``k`` features is optimal at the price ``mu`` if no other size is cheaper. That is
# possible only on the lower convex hull of the points below; the other sizes are optimal for no
# price at all.


def prices_of(i):
    """The prices at which the i-th budget's model is the cheapest of them."""
    k, value = budgets.values, budgets.objectives
    others = [j for j in range(len(k)) if j != i]
    worth = [(value[j] - value[i]) / (k[i] - k[j]) for j in others]  # of a feature more or less
    return max(worth[i:], default=0.0), min(worth[:i], default=np.inf)


priced = np.array([low < high for low, high in map(prices_of, range(len(budgets)))])
figure, ax = plt.subplots(layout="constrained")
for mask, colour, label in (
    (priced, "#0b5394", "optimal at some price"),
    (~priced, "#d9822b", "as a budget only"),
):
    ax.plot(budgets.values[mask], budgets.objectives[mask], "o", color=colour, label=label)
ax.set(xlabel="budget k", ylabel="loss + ridge of the best model")
ax.xaxis.get_major_locator().set_params(integer=True)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %%
# The number of features as a function of the price: a staircase. A step's width says over which
# prices a model stays optimal.

prices = ss.l0_path(X, y, mu=np.geomspace(0.1, 1.5e-3, 30), gamma=100.0)
sizes = np.array([solution.support.size for solution in prices])
figure, ax = plt.subplots(layout="constrained")
ax.step(prices.values, sizes, where="mid", color="#0b5394")
ax.set(xscale="log", xlabel="price μ of a feature", ylabel="features in the optimal model")
ax.axvline(np.log(len(y)) / (2 * len(y)), color="#d9822b", linestyle="--")
ax.annotate(" BIC's price", (np.log(len(y)) / (2 * len(y)), sizes.max()), color="#d9822b")
ax.spines[["top", "right"]].set_visible(False)

# %%
# Both at once: features worth their price, but never more than six.

problem = ss.Problem(X, y, mu=0.002, k=6, gamma=100.0, feature_names=names)
ss.solve(problem)
