"""
A path, and where to stop
=========================

The best model of every size, each with its own proof, and how they predict.
"""

# %%
# Hold out a third of the data, and solve for one to twelve features on the rest.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import safescreen as ss

X, y, names = ss.datasets.load_breast_cancer_interactions()
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=1 / 3, random_state=0, stratify=y
)
path = ss.l0_path(X_train, y_train, k=range(1, 13), gamma=100.0, feature_names=names)
path.to_frame()[["n_features", "objective", "lower_bound", "gap", "nodes", "screened_percent"]]

# %%
# Coefficients along the path. Features come and go: the best six are not the best five and one
# more.

ss.PathDisplay.from_path(path)

# %%
# The training objective falls with every feature. The loss on unseen data is flat from about
# seven features on.


def held_out_loss(solution):
    log_odds = X_test @ solution.coef + solution.intercept
    return log_loss(y_test, 1.0 / (1.0 + np.exp(-log_odds)))


losses = [held_out_loss(solution) for solution in path]
figure, ax = plt.subplots(layout="constrained")
ax.plot(
    path.values, path.objectives, "o-", color="#c9d0d8", label="training objective, ridge included"
)
ax.plot(path.values, losses, "o-", color="#0b5394", label="log-loss on held-out data")
ax.set(xlabel="budget k", ylabel="loss", ylim=(0.0, None))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %%
# One split is a noisy judge; the next example uses cross-validation.
