"""A compiled function called in both ways: from Python, where it runs interpreted, and from compiled code."""

from __future__ import annotations

from functools import cache
from inspect import signature

from numba import njit


@cache
def caller(function):
    """Compiled code that does nothing but call the function; spelled out, as inlining knows no ``*arguments``."""
    names = ", ".join(signature(function).parameters)
    return njit(error_model="numpy")(eval(f"lambda {names}: function({names})", {"function": function}))


def interpreted(function, *arguments):
    """Call the function as a debugger sees it."""
    return function(*arguments)


def compiled(function, *arguments):
    """Call the machine code of the function."""
    return caller(function)(*arguments)
