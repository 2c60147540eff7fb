"""Table readers: polars, pyarrow and pandas on a wide file, a long one with gaps and text, and on files with mistakes.

Each reader has to deliver what a model needs: a matrix of float64 with NaN in the gaps, and the columns of text. Every
read happens in a fresh process, the readers taking turns, so that import, time and peak memory are those a user of the
command line sees. ``safescreen`` is this package's own way, whatever it is built on. The wide files hold
``chowdary.npz`` from the folder ``SAFESCREEN_DATA``, or random numbers of the same size without it.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

import harness
import numpy as np
from harness import Row

MISSING = ["", "?", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NAN", "NULL", "null"]
WIDE = (104, 22_283)
LONG = (100_000, 60)
PARTS = {  # what an installation of numpy and scikit-learn does not have already
    "polars": ("polars", "polars-runtime-32"),
    "pyarrow": ("pyarrow",),
    "pandas": ("pandas", "python-dateutil", "six", "tzdata"),
}
MISTAKES = {
    "a line too short": b"a,b,label\n1,2,x\n3,4\n5,6,y\n",
    "a line too long": b"a,b,label\n1,2,x\n3,4,5,z\n5,6,y\n",
    "text among numbers": b"a,b,label\n1,2,x\n3,abc,z\n5,6,y\n",
    "an empty file": b"",
    "a wrong encoding": "a,b,label\n1,2,café\n3,4,thé\n".encode("latin-1"),
    "a quote not closed": b'a,b,label\n1,2,"x\n3,4,z\n5,6,y\n',
    "a space before a quote": b'a,b,label\n1, "2",x\n3, "4",z\n',
    "blank lines": b"\na,b,label\n1,2,x\n  \n3,4,z\n\n",
}

Content = tuple[np.ndarray, dict[str, list[Any]]]


# --- the readers


def by_polars(path: Path) -> Content:
    import polars as pl

    if path.suffix == ".parquet":
        frame = pl.read_parquet(path)
    else:
        frame = pl.read_csv(path, infer_schema_length=None, null_values=MISSING)
    textual = [name for name, kind in zip(frame.columns, frame.dtypes, strict=True) if not kind.is_numeric()]
    numbers = frame.drop(textual).cast(pl.Float64).to_numpy()
    return numbers, {name: frame[name].to_list() for name in textual}


def by_pyarrow(path: Path) -> Content:
    import pyarrow as pa

    if path.suffix == ".parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path, use_threads=False)  # with threads it takes five times the memory
    else:
        from pyarrow import csv

        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(block_size=max(path.stat().st_size, 1)),  # types come from the first block
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(null_values=MISSING, strings_can_be_null=True),
        )
    numeric = [pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in table.schema.types]
    columns = list(zip(table.column_names, table.itercolumns(), numeric, strict=True))
    numbers = [column.to_numpy() for _, column, is_number in columns if is_number]
    matrix = np.empty((table.num_rows, len(numbers)), order="F")
    for j, values in enumerate(numbers):
        matrix[:, j] = values
    return matrix, {name: column.to_pylist() for name, column, is_number in columns if not is_number}


def by_pandas(path: Path) -> Content:
    import pandas as pd

    if path.suffix == ".parquet":
        frame = pd.read_parquet(path, use_threads=False)
    else:
        frame = pd.read_csv(
            path,
            na_values=MISSING,
            keep_default_na=False,
            skipinitialspace=True,
            index_col=False,
            low_memory=False,
        )
    numbers = frame.select_dtypes("number")
    texts = frame.drop(columns=numbers.columns)
    return numbers.to_numpy(np.float64), {name: texts[name].tolist() for name in texts}


def by_safescreen(path: Path) -> Content:
    from safescreen.tables import read_table

    table = read_table(str(path), labels=("label",))
    numeric = [j for j in range(table.n_columns) if j not in table.texts]
    return table.matrix[:, numeric], {table.names[j]: texts.tolist() for j, texts in table.texts.items()}


READERS = {"polars": by_polars, "pyarrow": by_pyarrow, "pandas": by_pandas, "safescreen": by_safescreen}


# --- the files


def write_files(folder: Path, scale: float) -> list[Path]:
    """The wide table as CSV and Parquet, and the long one as CSV."""
    import pandas as pd

    files = [folder / "wide.csv", folder / "wide.parquet", folder / "long.csv"]
    wide = wide_frame(scale)
    wide.to_csv(files[0], index=False)
    wide.to_parquet(files[1], index=False)
    rng = np.random.default_rng(0)
    n_rows = int(LONG[0] * scale)
    long = pd.DataFrame(rng.normal(size=(n_rows, LONG[1])), columns=[f"v{j}" for j in range(LONG[1])])
    for j in range(0, LONG[1], 3):
        long[f"v{j}"] = rng.integers(0, 1000, n_rows)
    for j in range(0, LONG[1], 5):
        long[f"v{j}"] = long[f"v{j}"].astype(object).mask(rng.random(n_rows) < 0.02, "NA")
    for j in range(3):
        long[f"word{j}"] = rng.choice(["red", "green", "blue, or so"], n_rows)
    long["label"] = rng.choice(["yes", "no"], n_rows)
    long.to_csv(files[2], index=False)
    return files


def wide_frame(scale: float) -> Any:
    import pandas as pd

    source = Path(os.environ.get("SAFESCREEN_DATA") or os.devnull) / "chowdary.npz"
    if source.is_file():
        with np.load(source, allow_pickle=False) as archive:
            X, y = archive["X"].astype(np.float64), archive["y"]
    else:
        rng = np.random.default_rng(0)
        X, y = rng.normal(8.0, 2.0, WIDE), np.arange(WIDE[0]) % 2
    X = X[:, : int(X.shape[1] * scale)]
    frame = pd.DataFrame(X, columns=[f"probe{j}_at" for j in range(X.shape[1])])
    return frame.assign(label=np.where(y > 0, "tumour", "normal"))


# --- measuring


def read_once(reader: str, path: str) -> None:
    """In a process of its own: import, read, and print what that took."""
    os.environ.pop("OMP_NUM_THREADS", None)  # pyarrow goes by it, and users have not set it
    start = time.perf_counter()
    importlib.import_module("safescreen.tables" if reader == "safescreen" else reader)
    imported = time.perf_counter()
    matrix, texts = READERS[reader](Path(path))
    done = time.perf_counter()
    found = {"shape": matrix.shape, "sum": float(np.nansum(matrix)), "texts": len(texts)}
    print(json.dumps({"import": imported - start, "read": done - imported, "MB": peak_memory(), "found": found}))


def peak_memory() -> float:
    """Megabytes this process had at most; Linux keeps the parent's peak in ``ru_maxrss``, but not here."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def measured(reader: str, path: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--read", reader, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1]}
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def compare(files: list[Path], rounds: int) -> list[Row]:
    """Every reader on every file, taking turns."""
    rows: list[Row] = []
    for path in files:
        results: dict[str, list[dict[str, Any]]] = {reader: [] for reader in READERS}
        for _ in range(rounds):
            for reader in READERS:
                results[reader].append(measured(reader, path))
        for reader, runs in results.items():
            good = [run for run in runs if "error" not in run]
            row: Row = {"file": path.name, "reader": reader}
            for name, key in (("read_seconds", "read"), ("import_seconds", "import"), ("peak_MB", "MB")):
                row[name] = median(run[key] for run in good) if good else float("nan")
            row["fastest_seconds"] = min((run["read"] for run in good), default=float("nan"))
            row["installed_MB"] = installed(reader)
            row["found"] = str(good[0]["found"]) if good else runs[0]["error"]
            harness.say(row)
            rows.append(row)
    return rows


def installed(reader: str) -> float:
    """Megabytes on disk of a reader and what comes with it alone."""
    files = [file for part in PARTS.get(reader, ()) for file in installed_files(part)]
    sizes = [path.stat().st_size for path in map(Path, files) if path.is_file()]
    return sum(sizes) / 1e6 if sizes else float("nan")


def installed_files(distribution: str) -> list[str]:
    try:
        return [str(file.locate()) for file in metadata.files(distribution) or ()]
    except metadata.PackageNotFoundError:
        return []


def messages(folder: Path) -> list[Row]:
    """What each reader says about files with mistakes."""
    rows: list[Row] = []
    for name, content in MISTAKES.items():
        path = folder / "data.csv"
        path.write_bytes(content)
        row: Row = {"mistake": name}
        for reader, read in READERS.items():
            try:
                matrix, texts = read(path)
                answer = f"{matrix.shape[0]} x {matrix.shape[1]} numbers, text in {', '.join(texts) or 'none'}"
            except Exception as error:
                answer = " ".join(f"{type(error).__name__}: {error}".split()).replace(str(path), path.name)
            row[reader] = answer if len(answer) <= 160 else f"{answer[:157]}..."
        rows.append(row)
    return rows


def main() -> int:
    options = harness.parser(__doc__ or "")
    options.add_argument("--rounds", type=int, default=5, help="reads of each file by each reader")
    options.add_argument("--read", nargs=2, metavar=("READER", "FILE"), help="read one file once and print the costs")
    arguments = options.parse_args()
    if arguments.read:
        read_once(*arguments.read)
        return 0
    name = arguments.output or "readers"
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder), 0.01 if arguments.quick else 1.0)
        rows = compare(files, 1 if arguments.quick else arguments.rounds)
        harness.show("table readers", rows, hide=("found",))
        harness.save(name, rows, [f"{path.name}: {path.stat().st_size / 1e6:.0f} MB" for path in files])
        spoken = messages(Path(folder))
    harness.show("files with mistakes", spoken)
    harness.save(f"{name}_messages", spoken)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
