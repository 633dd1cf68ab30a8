"""`tensorsleuth.checked(schema)`: checks the elements of a tf.data pipeline while it runs."""

from __future__ import annotations

from os import PathLike
from typing import Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.pipeline.actions import BadElement, ViolationHandler
from tensorsleuth.data.readers.datasets import DatasetSource
from tensorsleuth.data.schema import Schema


class Checked:
    """The result of `checked`: pass it to `dataset.apply`, and read the violations from it later."""

    def __init__(self, schema: Schema, violation_handler: ViolationHandler) -> None:
        self.schema = schema
        self._verdicts = violation_handler

    def __call__(self, dataset: Any) -> Any:
        from tensorsleuth.data.pipeline.graph import attach_checks

        missing = [
            name
            for name in self.schema
            if name not in _bound_names(dataset, self.schema) and not self.schema[name].optional
        ]
        if missing:
            there = ", ".join(column.name for column in DatasetSource(dataset, self.schema).columns)
            raise SleuthError(
                f"the data set has no {missing[0]}, which the schema expects: it has {there}. Use the same names."
            )
        return attach_checks(dataset, self.schema, self._verdicts)

    @property
    def bad(self) -> list[BadElement]:
        """The first elements that broke the schema: index, violations, and for the first few the content."""
        return list(self._verdicts.elements)

    @property
    def violations(self) -> list[Violation]:
        return [violation for element in self.bad for violation in element.violations]

    @property
    def count(self) -> int:
        """The number of elements that broke the schema, in all passes together."""
        return self._verdicts.count

    def __repr__(self) -> str:
        return f"<checked: {self.count:,} elements broke the schema; {self._verdicts.action}>"


def checked(schema: Schema, on_violation: str = "raise", aside: str | PathLike[str] | None = None) -> Checked:
    """Check every element of a pipeline as it passes: `dataset.apply(tensorsleuth.checked(schema))`.

    on_violation: "raise" (the iterator raises a DataError), "warn", "record", "skip" the
    element, or "set_aside" in the .npz file `aside`. `bad` has index, violations and content of
    the first few bad elements.
    """
    if not isinstance(schema, Schema):
        raise SleuthError(
            f"checked() takes a Schema, not {type(schema).__name__}: Schema.load(path) reads one from a file."
        )
    return Checked(schema, ViolationHandler(on_violation, aside))


def _bound_names(dataset: Any, schema: Schema) -> list[str]:
    from tensorsleuth.data.part_names import bind_columns, named_leaves
    from tensorsleuth.data.readers.datasets import columns_of

    return list(bind_columns(schema, columns_of(list(named_leaves(dataset.element_spec)))).values())
