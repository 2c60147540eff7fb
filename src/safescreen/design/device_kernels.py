"""Kernels for float32 and float64 matrices on CUDA devices: each entry is read once and added up in float64.

Memory sets the pace, so entries are widened in registers only. Threads go along the columns of a matrix held by rows,
each with a few columns of its own; in a matrix held by columns a warp goes down a few columns and adds up its lanes at
the end. A sum has at most ``m`` terms, one rounding for the difference to the centre, one for the product and one for
each addition, in whatever order: what the error bound of a design counts on.

CuPy compiles and starts them, for its own arrays and for tensors of torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

from safescreen.design.device_reader import BlockReader, Sums, steps

SOURCE = r"""
#ifdef MOMENTS
#define FACTORS 1
#define SUMS 3
#else
#define FACTORS POINTS
#define SUMS POINTS
#endif

typedef long long integer;

__device__ __forceinline__ void add(double *sums, const double *factors, double entry) {
#ifdef MOMENTS
    const double weighted = factors[0] * entry;
    sums[0] += weighted;
    sums[1] += entry * entry;
    sums[2] += weighted * entry;
#else
#pragma unroll
    for (int s = 0; s < SUMS; s++) sums[s] += factors[s] * entry;
#endif
}

/* The entries of DEPTH rows, APART from one another, in WIDTH columns: all are read before the first is used. */
template <int DEPTH, int APART>
__device__ __forceinline__ void take(double sums[WIDTH][SUMS], const ENTRY *const *column, integer offset, integer step,
                                     const double *middle, const double *factors, integer row, integer m) {
    ENTRY entries[DEPTH][WIDTH];
#pragma unroll
    for (int r = 0; r < DEPTH; r++)
#pragma unroll
        for (int c = 0; c < WIDTH; c++) entries[r][c] = column[c][offset + r * APART * step];
#pragma unroll
    for (int r = 0; r < DEPTH; r++) {
        double own[FACTORS];
#pragma unroll
        for (int s = 0; s < FACTORS; s++) own[s] = factors[s * m + row + r * APART];
#pragma unroll
        for (int c = 0; c < WIDTH; c++) add(sums[c], own, (double)entries[r][c] - middle[c]);
    }
}

extern "C" __global__ void by_rows(const ENTRY *__restrict__ X, const double *__restrict__ factors,
                                   const double *__restrict__ centre, double *__restrict__ found,
                                   integer m, integer n, integer step, integer share) {
    const integer first = (integer)blockIdx.x * blockDim.x * WIDTH + threadIdx.x;
    const integer start = blockIdx.y * share, stop = start + share < m ? start + share : m;
    const ENTRY *column[WIDTH];
    double sums[WIDTH][SUMS] = {}, middle[WIDTH];
#pragma unroll
    for (int c = 0; c < WIDTH; c++) {
        const integer own = first + c * (integer)blockDim.x, j = own < n ? own : n - 1;
        column[c] = X + j;
        middle[c] = centre ? centre[j] : 0.0;
    }
    integer row = start;
    for (; row + READ <= stop; row += READ) take<READ, 1>(sums, column, row * step, step, middle, factors, row, m);
    for (; row < stop; row++) take<1, 1>(sums, column, row * step, step, middle, factors, row, m);
#pragma unroll
    for (int c = 0; c < WIDTH; c++) {
        const integer j = first + c * (integer)blockDim.x;
#pragma unroll
        for (int s = 0; s < SUMS; s++)
            if (j < n) found[((integer)blockIdx.y * SUMS + s) * n + j] = sums[c][s];
    }
}

extern "C" __global__ void by_columns(const ENTRY *__restrict__ X, const double *__restrict__ factors,
                                      const double *__restrict__ centre, double *__restrict__ found,
                                      integer m, integer n, integer step, integer share) {
    const int lane = threadIdx.x % 32;
    const integer first = ((integer)blockIdx.x * blockDim.x + threadIdx.x) / 32 * WIDTH;
    const integer start = blockIdx.y * share, stop = start + share < m ? start + share : m;
    if (first >= n) return;
    const ENTRY *column[WIDTH];
    double sums[WIDTH][SUMS] = {}, middle[WIDTH];
#pragma unroll
    for (int c = 0; c < WIDTH; c++) {
        const integer j = first + c < n ? first + c : n - 1;
        column[c] = X + j * step;
        middle[c] = centre ? centre[j] : 0.0;
    }
    integer row = start + lane;
    for (; row + 32 * (READ - 1) < stop; row += 32 * READ)
        take<READ, 32>(sums, column, row, 1, middle, factors, row, m);
    for (; row < stop; row += 32) take<1, 32>(sums, column, row, 1, middle, factors, row, m);
#pragma unroll
    for (int c = 0; c < WIDTH; c++)
#pragma unroll
        for (int s = 0; s < SUMS; s++) {
            double sum = sums[c][s];
#pragma unroll
            for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
            if (lane == 0 && first + c < n) found[((integer)blockIdx.y * SUMS + s) * n + first + c] = sum;
        }
}
"""

THREADS = 256
"""Threads in a block."""

WANTED_BLOCKS = 2048
"""Blocks that keep a device busy: where the columns give fewer, the rows are split."""

LEAST_ROWS = 256
"""Rows that are not split."""

_ENTRIES = {"float32": "float", "float64": "double"}


def make_reader(X: Any) -> BlockReader:
    """The fastest reader there is for a matrix."""
    return KernelReader(X) if suits_kernels(X) else BlockReader(X)


def suits_kernels(X: Any) -> bool:
    """Whether there are kernels for this type and layout, and CuPy to compile them."""
    row, column = steps(X)
    regular = (column == 1 and row >= X.shape[1]) or (row == 1 and column >= X.shape[0])
    return regular and _type_name(X) in _ENTRIES and _is_on_cuda(X) and _has_cupy()


class KernelReader(BlockReader):
    """Reads a matrix that is contiguous along its rows or columns by kernels of its own."""

    def __init__(self, X: Any) -> None:
        super().__init__(X)
        row, column = steps(X)
        self._by_rows = column == 1
        self._step = row if self._by_rows else column

    def sums(self, weights: Any, centre: Any | None) -> Sums:
        """The sums from which means, deviations and norms are made, in one read."""
        found = self._run(0, weights[None, :], centre)
        return Sums(found[0], found[1], found[2])

    def products(self, points: Any, centre: Any | None) -> Any:
        """``points @ (X - centre)`` for a few points of shape (b, m), in one read."""
        xp, given = self.xp, int(points.shape[0])
        count = 1 << (given - 1).bit_length()  # kernels are compiled for powers of two
        if count > given:
            points = xp.concat([points, xp.zeros_like(points)[: count - given]])
        return self._run(count, points, centre)[:given]

    def _run(self, points: int, factors: Any, centre: Any | None) -> Any:
        """Sums of shape (sums, n) from one launch over blocks of columns, and parts of the rows where those are few."""
        width, read = shape_of(points, self._by_rows)
        blocks = -(-self.n // (width * (THREADS if self._by_rows else THREADS // 32)))
        parts, share = splits_of(blocks, WANTED_BLOCKS, self.m, LEAST_ROWS)
        sums = points or 3
        xp = self.xp
        found = xp.empty((parts, sums, self.n), dtype=xp.float64, device=self.X.device)
        kernel = _compiled("by_rows" if self._by_rows else "by_columns", _type_name(self.X), points, width, read)
        factors = factors if steps(factors)[1] == 1 and steps(factors)[0] == self.m else xp.asarray(factors, copy=True)
        pointers = [_pointer(self.X), _pointer(factors), 0 if centre is None else _pointer(centre), _pointer(found)]
        with _stream(self.X):
            kernel((blocks, parts), (THREADS,), (*pointers, self.m, self.n, self._step, share))
        return found[0] if parts == 1 else xp.sum(found, axis=0)


def shape_of(points: int, by_rows: bool) -> tuple[int, int]:
    """Columns a thread or warp has, and rows it reads at a time: many reads under way, and sums in registers."""
    if points <= 4:
        return 4, 4
    return 2, 8 if points <= 8 or by_rows else 4


def splits_of(blocks: int, wanted: int, m: int, least: int) -> tuple[int, int]:
    """Into how many parts to split the rows so that a device has blocks enough, and how many rows a part has."""
    parts = min(max(math.ceil(wanted / blocks), 1), max(m // least, 1), 65_535)
    share = math.ceil(m / parts)
    return math.ceil(m / share), share


def options_of(entry: str, points: int, width: int, read: int) -> tuple[str, ...]:
    """What the source is compiled with: a type of entries, a number of points or none for moments, and a shape."""
    goal = f"-DPOINTS={points}" if points else "-DMOMENTS"
    return f"-DENTRY={_ENTRIES[entry]}", goal, f"-DWIDTH={width}", f"-DREAD={read}"


@cache
def _compiled(name: str, entry: str, points: int, width: int, read: int) -> Any:
    return import_module("cupy").RawKernel(SOURCE, name, options=options_of(entry, points, width, read))


@cache
def _has_cupy() -> bool:
    try:
        import_module("cupy")
    except ImportError:  # also where it is there, but not its CUDA
        return False
    return True


def _type_name(X: Any) -> str:
    return str(X.dtype).rpartition(".")[2]


def _is_on_cuda(X: Any) -> bool:
    return bool(getattr(X, "is_cuda", False)) or type(X).__module__.partition(".")[0] == "cupy"


def _pointer(array: Any) -> int:
    return int(array.data_ptr() if hasattr(array, "data_ptr") else array.data.ptr)


@contextmanager
def _stream(X: Any) -> Iterator[None]:
    """CuPy on the device of the matrix, in the stream in which its library puts its work."""
    if not hasattr(X, "data_ptr"):
        yield
        return
    cupy, torch = import_module("cupy"), import_module("torch")
    stream = torch.cuda.current_stream(X.device).cuda_stream
    with cupy.cuda.Device(X.device.index), cupy.cuda.ExternalStream(stream, X.device.index):
        yield
