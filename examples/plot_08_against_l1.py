"""
Against ℓ1
==========

The lasso selects features as a by-product of shrinking them. What difference does the best subset
make?
"""

# %%
# Correlated features (neighbours at 0.7), ten of 200 with an effect, 300 samples to learn from
# and many to judge by.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import safescreen as ss

X, y, truth = ss.datasets.make_sparse_logistic(5300, 200, 10, snr=1.0, rho=0.7, random_state=1)
X_train, y_train, X_test, y_test = X[:300], y[:300], X[300:], y[300:]
true_support = np.flatnonzero(truth)

# %%
# Both methods along their paths: the number of features, how many of them are real, and the loss
# on unseen data. Past the ten real features the search has only noise to choose from and may hit
# its limit of 0.3 seconds; the largest gap says how much is proved.

path = ss.l0_path(X_train, y_train, k=range(1, 16), gamma=100.0, rel_gap=1e-2, time_limit=0.3)
print(path)


def loss_of(coef, intercept):
    return log_loss(y_test, 1.0 / (1.0 + np.exp(-(X_test @ coef + intercept))))


ours = []
for solution in path:
    hits = np.isin(solution.support, true_support).sum()
    ours.append((solution.support.size, hits, loss_of(solution.coef, solution.intercept)))
lasso = []
for strength in np.geomspace(0.01, 1.0, 30):
    model = LogisticRegression(l1_ratio=1.0, C=strength, solver="liblinear")  # scikit-learn >= 1.8
    model.fit(X_train, y_train)
    support = np.flatnonzero(model.coef_[0])
    hits = np.isin(support, true_support).sum()
    lasso.append((support.size, hits, loss_of(model.coef_[0], model.intercept_[0])))

# %%
# For a given number of features, the best subset contains more of the real ones and predicts
# better. The ℓ1 model catches up with many features.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for results, label, colour in ((ours, "best subset (ℓ0)", "#0b5394"), (lasso, "ℓ1", "#d9822b")):
    sizes, hits, losses = np.array(results).T
    axes[0].plot(sizes, hits, "o-", color=colour, markersize=4, label=label)
    axes[1].plot(sizes, losses, "o-", color=colour, markersize=4, label=label)
axes[0].axhline(10, color="0.7", linewidth=0.9)
axes[0].set(xlabel="features chosen", ylabel="true features among them", xlim=(0, 60))
axes[1].set(xlabel="features chosen", ylabel="log-loss on unseen data", xlim=(0, 60))
axes[0].legend(frameon=False)
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)

# %%
# This setting suits best subsets: few strong effects. With many weak ones ℓ1 or plain ridge often
# predicts better; the benchmarks show real data of both kinds.

best = min(ours, key=lambda result: result[2])
rival = min(lasso, key=lambda result: result[2])
print(f"best subset: log-loss {best[2]:.3f} with {best[0]} features, {best[1]} of them real")
print(f"l1:          log-loss {rival[2]:.3f} with {rival[0]} features, {rival[1]} of them real")
