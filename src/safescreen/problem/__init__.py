"""What is asked: data, price, budget and ridge, checked once."""

from safescreen.problem.problem import Problem, check_problem
from safescreen.problem.terms import Features, Terms

__all__ = ["Features", "Problem", "Terms", "check_problem"]
