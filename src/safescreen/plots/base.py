"""What all displays share: axes, colours, documentation and a tidy look."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from inspect import cleandoc
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from safescreen.formatting.escaping import plain, shortened

STRONG, WEAK, GOOD, QUIET = "#0b5394", "#d9822b", "#2e8b57", "#c9d0d8"

_LONGEST_NAME = 40
_PARAMETERS = {"k": "budget k", "mu": "price μ", "gamma": "ridge parameter γ"}
_ATTRIBUTES = """

Attributes
----------
ax_ : matplotlib Axes
    The axes; of a path an array of two, for coefficients and for bounds, and of alternatives for models and prices.
figure_ : matplotlib Figure
    Their figure.
"""
_LAST_PARAMETERS = """
ax : matplotlib Axes, optional
    Where to draw, for a path and for alternatives a pair of axes; by default in a new figure.
**kwargs
    Passed on to :meth:`plot`.

Returns
-------
display
    The display, drawn.
"""

Method = TypeVar("Method", bound=Callable[..., Any])


class Display(ABC):
    """A picture that keeps the axes it was drawn on."""

    ax_: Any
    figure_: Any
    _size: tuple[float, float] | None = None  # of a new figure, in inches
    _own_figure: Any = None

    def __init_subclass__(cls) -> None:
        if cls.__doc__ is not None:
            cls.__doc__ = cleandoc(cls.__doc__) + _ATTRIBUTES

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw, for a path and for alternatives a pair of axes; by default in a new figure, or again in the
            one that was made for this display before, if that is still open.
        **kwargs
            Passed on to the method of the axes that draws the data, to change its look.

        Returns
        -------
        display
            This display.
        """
        axes = np.ravel(np.asarray(self._own_axes() if ax is None else ax, dtype=object))
        self._draw(*axes, **kwargs)
        for one in axes:
            tidy(one)
        self.ax_ = axes if axes.size > 1 else axes[0]
        self.figure_ = axes[0].figure
        return self

    def _own_axes(self) -> Any:
        """Axes in a figure of this display's own.

        ``from_…`` has drawn already, so that a ``plot()`` after it must not leave two pictures. But one that a
        notebook has shown, and closed, is gone: then there is a new one.
        """
        plt, figure = pyplot(), self._own_figure
        is_open = figure is not None and plt.fignum_exists(figure.number) and plt.figure(figure.number) is figure
        self._own_figure = figure if is_open else plt.figure(figsize=self._size, layout="constrained")
        self._own_figure.clear()
        return self._new_axes(self._own_figure)

    def _new_axes(self, figure: Any) -> Any:
        return figure.subplots()

    @abstractmethod
    def _draw(self, *axes: Any, **kwargs: Any) -> None:
        """Draw on these axes."""


def draws(method: Method) -> Method:
    """Complete the documentation of a method that makes a display: its last parameters and what it returns."""
    if method.__doc__ is not None:
        method.__doc__ = cleandoc(method.__doc__) + _LAST_PARAMETERS
    return method


def pyplot() -> Any:
    """matplotlib, or one sentence on how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Displays need matplotlib: pip install 'safescreen[plot]'.") from error
    return plt


def solution_of(estimator: Any) -> Any:
    """The solution a fitted estimator holds."""
    solution = getattr(estimator, "solution_", None)
    if solution is None:
        raise ValueError(
            f"{type(estimator).__name__} holds no solution: it is not fitted, or was copied or loaded, which leaves "
            "the solution behind."
        )
    return solution


def label_parameter(ax: Any, parameter: str, values: npt.NDArray[Any]) -> None:
    """Label and scale for a parameter: prices and ridge parameters are spread over orders of magnitude."""
    ax.set_xlabel(_PARAMETERS.get(parameter, parameter))
    if parameter == "k":
        ax.xaxis.get_major_locator().set_params(integer=True)
    elif values.min() > 0.0 and values.max() > 10.0 * values.min():
        ax.set_xscale("log")


def row_label(name: str) -> str:
    """A name beside a row, which matplotlib has to take for text, not for mathematics."""
    return shortened(plain(name), _LONGEST_NAME).replace("$", r"\$")


def tidy(ax: Any) -> None:
    """Fewer lines around the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
