"""The few array types the package speaks of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[Any]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]
PlaceArray = npt.NDArray[np.uint32]  # places in arrays, which compiled code need not check for being negative
StatusArray = npt.NDArray[np.int8]  # what is decided about every feature

Record = Any  # one entry of a structured array: its fields are attributes, named by the array's dtype
RecordArray = npt.NDArray[Any]  # an array of them; of one, as a rule
