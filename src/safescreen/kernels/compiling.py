"""How functions are compiled: the decorators of the kernels.

Python calls one compiled function (`entry`); all others are called by compiled code only and are compiled with it,
without a wrapper of their own. Such a function called from Python runs interpreted, so that a debugger, a test and a
coverage report see its lines; with ``NUMBA_DISABLE_JIT=1`` everything does.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import config, njit, types
from numba.core.registry import CPUDispatcher

from safescreen.kernels.cache import use_cache

Function = TypeVar("Function", bound=Callable[..., Any])  # what is compiled has the types of its source


def record_type(fields: list[tuple[str, str]]) -> np.dtype[np.void]:
    """A record whose fields have names, in compiled code as in Python; an array of one is a mutable state.

    Make it once: Numba recognises an array's type at once only if its dtype is the very same object.
    """
    return np.dtype((np.record, np.dtype(fields, align=True)))


#: Reductions may be reordered: every error bound used on them holds for any order of summation.
REORDER = {"reassoc", "contract", "nsz"}


class _Inner(CPUDispatcher):  # type: ignore[misc]
    """A compiled function without a wrapper for Python: called from there it would crash, so it runs interpreted."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Constants among the arguments are ordinary numbers: one compiled copy, not one per constant."""
        return super().get_call_template(tuple(types.unliteral(argument) for argument in args), kws)


def _inner(**options: Any) -> Callable[[Function], Function]:
    """A decorator for functions called from compiled code only: no Python wrapper, no cache entry of their own."""

    def decorate(function: Function) -> Function:
        dispatcher = njit(
            nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
        )(function)
        if not config.DISABLE_JIT:
            dispatcher.__class__ = _Inner
        return dispatcher  # type: ignore[no-any-return]

    return decorate


def entry(function: Function) -> Function:
    """For the function that Python calls: cached on disk, see :mod:`safescreen.kernels.cache`."""
    dispatcher = njit(nogil=True, error_model="numpy", _nrt=False)(function)
    if not config.DISABLE_JIT:
        use_cache(dispatcher)
    return dispatcher  # type: ignore[no-any-return]


compiled = _inner()
#: For steps with one caller: a function of their own would be compiled twice, for itself and within its caller.
inlined = _inner(inline="always")
reordered = _inner(fastmath=REORDER)
elementwise = _inner(fastmath={"contract"})
