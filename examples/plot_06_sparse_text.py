"""
Sparse text
===========

Which words tell two kinds of documents apart? A SciPy sparse matrix goes in as it is.
"""

# %%
# A small corpus, generated: 1,500 notes on two subjects that share most of their vocabulary.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import safescreen as ss

SUBJECTS = {
    "sailing": "mast sail harbour keel wind rudder anchor deck crew tide",
    "cycling": "wheel pedal saddle chain gear brake tyre helmet climb spoke",
}
SHARED = "weather route map start finish race training speed rain morning team photo repair"
rng = np.random.default_rng(0)
filler = [f"{a}{b}{c}" for a in "bdfglmnprst" for b in "aeiou" for c in "cklmnrstvxz"]


def note(subject):
    """A few words on the subject, some that both share, many that mean nothing."""
    own = rng.choice(SUBJECTS[subject].split(), rng.poisson(1.0))
    shared = rng.choice(SHARED.split(), rng.poisson(6))
    rest = rng.choice(filler, rng.poisson(25))
    return " ".join([*own, *shared, *rest])


labels = rng.choice(sorted(SUBJECTS), 1500)
vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2)
X = vectorizer.fit_transform([note(subject) for subject in labels])
words = vectorizer.get_feature_names_out()
print(X.shape, f"{100 * X.nnz / np.prod(X.shape):.1f} % nonzero")

# %%
# Standardisation does not densify the matrix. A price lets the number of words follow from the
# data.

problem = ss.Problem(X, labels, mu=4e-3, gamma=10.0, feature_names=words)
print(ss.screen(problem))
solution = ss.solve(problem)
solution

# %%
# Positive weights speak for sailing, the larger label in alphabetical order.

scale = problem.design.scales
order = np.argsort(solution.coef[solution.support] * scale[solution.support])
chosen = solution.support[order]
figure, ax = plt.subplots(figsize=(6.4, 0.24 * chosen.size + 0.8), layout="constrained")
effect = solution.coef[chosen] * scale[chosen]
ax.barh(words[chosen], effect, color=np.where(effect > 0.0, "#0b5394", "#d9822b"))
ax.axvline(0.0, color="0.35", linewidth=0.9)
ax.set(xlabel="change of log-odds per standard deviation (sailing to the right)")
ax.tick_params(axis="y", labelsize=8)
ax.spines[["top", "right"]].set_visible(False)
