"""Tables of results, for pandas and, by the Arrow PyCapsule interface, for polars, DuckDB and others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from . import _native


class Table:
    """Columns of equal length. Any program that takes Arrow takes it.

    >>> table = nlp("It rained.").to_table()
    >>> list(table.columns)[:4]
    ['sentence', 'sent_id', 'id', 'form']
    """

    def __init__(self, columns: dict[str, list[Any]], types: dict[str, type]) -> None:
        self.columns = columns
        self.types = {name: types.get(name, float) for name in columns}

    @classmethod
    def of(cls, records: Iterable[Any], kind: type, types: dict[str, type], without: tuple[str, ...] = ()) -> Table:
        """A table of records; columns that `types` does not name are numbers."""
        records = list(records)
        names = [field.name for field in fields(kind) if field.name not in without]
        return cls({name: [getattr(record, name) for record in records] for name in names}, types)

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        kinds = [self.types[name].__name__ for name in self.columns]
        return _native.arrow_stream(list(zip(self.columns, kinds, self.columns.values(), strict=True)))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.columns)})"
