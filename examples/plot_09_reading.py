"""
Reading a model
===============

Coefficients, odds ratios, what the ridge did, and whether other patients would have chosen the
same features.
"""

# %%
# Five measurements of 30 that tell malignant tumours from benign ones.

import numpy as np
from sklearn.datasets import load_breast_cancer

import safescreen as ss

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = np.where(y == 0, "malignant", "benign")
model = ss.L0LogisticRegression(k=5).fit(X, y)
model.summary()

# %%
# The same choice on bootstrap resamples. Measurements of size are close relatives, so that one
# resample takes the radius and another one the area.

stability = model.stability(X, y, n_resamples=50)
print(stability)
ss.StabilityDisplay.from_stability(stability, top=12)

# %%
# With intervals, which are conditional on the choice of features.

model.summary(stability=stability)

# %%
# The model for those who have no Python: an equation, and an expression for a database.

print(model.equation())
print(model.equation("sql", quantity="log_odds"))
