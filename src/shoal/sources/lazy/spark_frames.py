"""A data frame of Spark: its executors write its partitions as Parquet files, and read the released files.

Timestamps are written in microseconds, because Spark cannot read the nanoseconds that its older format becomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal.errors import UsageError
from shoal.places.place import Place
from shoal.places.spark import Spark

IN_MEMORY = "frame.toPandas()"
ORDERED_FILES = 200  # up to which the rows keep their order; Spark reads more files in an order of its own
TIMESTAMPS = "spark.sql.parquet.outputTimestampType"


def stage(frame: Any, folder: Path) -> None:
    """Write each partition as a Parquet file. Spark commits each task once, also if it runs twice."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    conf = frame.sparkSession.conf
    before = conf.get(TIMESTAMPS, None)
    conf.set(TIMESTAMPS, "TIMESTAMP_MICROS")
    try:
        frame.write.parquet(f"file://{folder}")
    finally:
        conf.unset(TIMESTAMPS) if before is None else conf.set(TIMESTAMPS, before)


def read_back(frame: Any, paths: Sequence[Path]) -> Any:
    """Return a Spark frame that reads the files; up to ORDERED_FILES, in order."""
    session = frame.sparkSession
    files = [f"file://{path}" for path in paths]
    first = session.read.parquet(files[0])
    if len(files) > ORDERED_FILES:
        made = session.read.schema(first.schema).parquet(*files)
    else:
        made = _joined([session.read.schema(first.schema).parquet(file) for file in files])
    kinds = {field.name: field.dataType for field in frame.schema}
    columns = []
    for field in first.schema:
        column = made[_quoted(field.name)]
        averaged = field.dataType.typeName() == "double"
        columns.append(column if averaged else column.cast(kinds[field.name]).alias(field.name))
    return made.select(*columns)


def _joined(frames: list[Any]) -> Any:
    """Return the frames one after the other, as a balanced tree, because Spark cannot plan a deep one."""
    while len(frames) > 1:
        frames = [
            frames[i].union(frames[i + 1]) if i + 1 < len(frames) else frames[i] for i in range(0, len(frames), 2)
        ]
    return frames[0]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def place(frame: Any) -> Place:
    """Return the session of the frame."""
    module = type(frame).__module__
    if module.startswith("pyspark.pandas"):
        raise UsageError("This is a frame of pandas on Spark. Pass the frame of Spark: frame.to_spark().")
    if module.startswith("pyspark.sql.connect"):
        raise UsageError(
            "Spark Connect cannot run Shoal on its executors. Write the frame with frame.write.parquet(FOLDER), and "
            "protect the folder with shoal.scan(FOLDER)."
        )
    return Spark("spark://session", frame.sparkSession)


def is_local(frame: Any) -> bool:
    """Return whether the executors are on this machine."""
    master = str(frame.sparkSession.sparkContext.master)
    return master.startswith(("local", "spark://127.", "spark://localhost"))
