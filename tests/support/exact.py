"""Bounds and objectives in exact arithmetic, for tests of rounding."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction


def exact_bound(problem, A, alpha, status, header):
    """``D`` at the exactly balanced point, in exact arithmetic but for logarithms."""
    w, y = [Fraction(v) for v in problem.samples.weights], [int(v) for v in problem.samples.labels]
    p = [abs(Fraction(a)) / v for a, v in zip(alpha, w, strict=True)]
    assert max(p) <= 1
    if problem.terms.fit_intercept:
        sums = {side: sum(a * b for a, b, s in zip(w, p, y, strict=True) if s == side) for side in (1, -1)}
        heavy = max(sums, key=sums.get)
        p = [v * sums[-heavy] / sums[heavy] if s == heavy else v for v, s in zip(p, y, strict=True)]
    alpha = [a * s * v for a, s, v in zip(w, y, p, strict=True)]
    mu, gamma = Fraction(header["mu"]), Fraction(header["gamma"])
    q = [gamma * sum(a * b for a, b in zip(column, alpha, strict=True)) ** 2 / 4 for column in A]
    kappa = header["k"] - status.count(1)
    gains = sorted((max(v - mu, Fraction(0)) for v, s in zip(q, status, strict=True) if s == 0), reverse=True)
    rest = sum(mu - v for v, s in zip(q, status, strict=True) if s == 1) - sum(gains[:kappa])
    with localcontext(prec=60):

        def real(fraction):
            return Decimal(fraction.numerator) / Decimal(fraction.denominator)

        entropy = sum(-real(a) * real(t) * real(t).ln() for a, v in zip(w, p, strict=True) for t in (v, 1 - v) if t > 0)
        return entropy + real(rest)


def exact_objective(problem, A, features, values, b):
    """The objective in exact arithmetic but for exponentials and logarithms."""
    with localcontext(prec=60):

        def real(fraction):
            return Decimal(fraction.numerator) / Decimal(fraction.denominator)

        total = real(sum((Fraction(v) ** 2 for v in values), Fraction(0)) / Fraction(problem.terms.gamma))
        total += Decimal(problem.terms.mu) * len(features)
        for i, (label, weight) in enumerate(zip(problem.samples.labels, problem.samples.weights, strict=True)):
            products = (Fraction(v) * A[j][i] for v, j in zip(values, features, strict=True))
            score = sum(products, Fraction(b))
            total += Decimal(float(weight)) * (1 + (-Decimal(float(label)) * real(score)).exp()).ln()
        return total
