"""The few array types the package speaks of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]
