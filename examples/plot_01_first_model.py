"""
A first model
=============

Five of 495 features, chosen with proof, and what each of them does.
"""

# %%
# The breast cancer data of scikit-learn, with all squares and products of its 30 measurements.

import matplotlib.pyplot as plt
import numpy as np

import safescreen as ss

X, y, names = ss.datasets.load_breast_cancer_interactions()
problem = ss.Problem(X, y, k=5, gamma=10.0, feature_names=names)
problem

# %%
# Screening decides most features before any search. A margin above zero is a proof.

screening = ss.screen(problem)
ss.ScreeningDisplay.from_screening(screening)
screening

# %%
# Branch and bound decides the rest.

solution = ss.solve(problem)
solution

# %%
# Coefficients are in the units of the data. Multiplied by the standard deviations, they can be
# compared.

effect = solution.coef * X.std(axis=0)
figure, ax = plt.subplots(figsize=(7.5, 2.6), layout="constrained")
ax.barh(solution.feature_names, effect[solution.support], color="#0b5394")
ax.axvline(0.0, color="0.35", linewidth=0.9)
ax.set(xlabel="change of log-odds (benign) per standard deviation")
ax.spines[["top", "right"]].set_visible(False)

# %%
# How well do the two classes separate along the model?

log_odds = X @ solution.coef + solution.intercept
bins = np.linspace(log_odds.min(), log_odds.max(), 40)
figure, ax = plt.subplots(layout="constrained")
ax.hist([log_odds[y == 0], log_odds[y == 1]], bins, stacked=True, color=["#d9822b", "#0b5394"])
ax.axvline(0.0, color="0.35", linewidth=0.9)
ax.legend(["decision", "malignant", "benign"], frameon=False)
ax.set(xlabel="log-odds of benign", ylabel="samples")
ax.spines[["top", "right"]].set_visible(False)
