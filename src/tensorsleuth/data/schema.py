"""The schema of a data set, declared in Python or in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.feature import Feature, Label, _share

if TYPE_CHECKING:
    from tensorsleuth.data.report import DataReport

Progress = Callable[[str, int, int | None], None]  # title, rows so far, rows in all


class Schema(Mapping[str, Feature]):
    """The expectations on each part of a data set, by name, and on its rows.

    schema = Schema({"image": Feature("float32", shape=("batch", 28, 28), between=(0, 1)), "label": Label(classes=10)})
    schema.check("train.npz", validation="val.npz").raise_if_bad()
    """

    def __init__(
        self, features: Mapping[str, Feature], *, duplicates: float | None = None, overlap: float = 0.0
    ) -> None:
        wrong = {
            name: kind for name, kind in features.items() if not isinstance(kind, Feature) or not isinstance(name, str)
        }
        if wrong or not features:
            example = 'Schema({"x": Feature("float32"), "y": Label(classes=10)})'
            raise SleuthError(f"a schema maps names to Feature or Label, such as {example}; got {wrong or features!r}.")
        self.features = dict(features)
        # The allowed share of duplicate rows. Without a declared share, duplicates are a warning.
        self.duplicates = None if duplicates is None else _share(duplicates, "duplicates")
        self.overlap = _share(overlap, "overlap")  # the allowed share of validation rows that are in the training data

    def check(
        self, data: Any, validation: Any = None, *, against: Any = None, progress: Progress | None = None
    ) -> DataReport:
        """Check data against the schema: a path, arrays, a frame, a tf.data.Dataset, a Keras Sequence.

        `against`: data that it should resemble.
        """
        from tensorsleuth.data.check_data import check

        return check(self, data, validation, against, progress)

    @classmethod
    def infer(cls, data: Any, progress: Progress | None = None) -> Schema:
        """Return the schema that a sample suggests, for you to read and correct."""
        from tensorsleuth.data.infer import infer

        return infer(data, progress)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Schema:
        """Return the schema in a file."""
        from tensorsleuth.data.schema_file import load

        return load(path)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the schema as TOML, for people to edit."""
        from tensorsleuth.data.schema_file import save

        save(self, path)

    @property
    def labels(self) -> list[str]:
        return [name for name, feature in self.features.items() if isinstance(feature, Label)]

    def __getitem__(self, name: str) -> Feature:
        return self.features[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.features)

    def __len__(self) -> int:
        return len(self.features)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((tuple(self.features), self.duplicates, self.overlap))

    def __repr__(self) -> str:
        lines = [f"    {name!r}: {feature!r}," for name, feature in self.features.items()]
        shares = "".join(
            f", {name}={value}" for name in ("duplicates", "overlap") if (value := getattr(self, name)) not in (None, 0)
        )
        return "\n".join(["Schema({", *lines, f"}}{shares})"])
