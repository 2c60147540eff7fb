"""
Is it the only one?
===================

All models that are as good as the best one, up to a tolerance: which features they share, what it
costs to do without each, and which can take another's place.
"""

# %%
# Five measurements of 30 that tell malignant tumours from benign ones, and all models within two
# per cent of the best. Measurements of size are close relatives, so there are several.

import numpy as np
from sklearn.datasets import load_breast_cancer

import safescreen as ss

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = np.where(y == 0, "malignant", "benign")
problem = ss.Problem(X, y, k=5, gamma=10.0)
others = ss.alternatives(problem, within=0.02)
print(others.describe())

# %%
# Who is in how many of them, with which coefficients, and how much worse the best model without
# each feature is. That price is exact: it comes with the bound that proves it.

others

# %%
# The same as a picture: a column per model, the best first.

ss.AlternativesDisplay.from_alternatives(others)

# %%
# Which feature of the best model can be replaced by which other one, all others kept.

others.to_frame("exchanges").head()

# %%
# The models agree about most patients. These are the ones about whom they disagree most: the share
# of models that predict another class than the best one, and the range of probabilities.

samples = others.to_frame("samples")
samples.sort_values("share_other", ascending=False).head()

# %%
# With a price per feature every model counts as it is, and all of them are listed.

priced = ss.alternatives(problem.with_parameters(mu=0.01), within=0.01)
print(priced.describe())
