"""What is asked: data, price, budget and ridge, checked once."""

from safescreen.problem.problem import Features, Problem, check_problem

__all__ = ["Features", "Problem", "check_problem"]
