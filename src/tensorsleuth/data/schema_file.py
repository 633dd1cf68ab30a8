"""A schema as a TOML file, which Python reads without further libraries and which can contain comments."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.feature import Feature, Label
from tensorsleuth.data.schema import Schema

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

ANY_SIZE = "?"  # of a dimension
FILE_HEADER = """\
# The schema of a data set. Ranges are those of the sample: widen them to what you expect. Then:
#     sleuth data check DATA --schema THIS
# shape: a number, a name (equal names are equal sizes), or "?" for any size.
# between: both ends are included, inf is no bound. Shares go from 0 to 1.
# Rules that are left out are not checked, except: finite = true, missing = 0, constant = false, duplicate = false.
"""
FIELD_REMARKS = {
    "duplicates": "the share of the rows that may be duplicates",
    "overlap": "the share of the rows of validation that may be in training",
    "missing": "the share of the values that may be NaN or empty",
    "finite": "infinities were in the sample",
    "constant": "all values, or those of a column, are the same",
    "duplicate": "it is the same as another, or two of its columns are",
    "classes": "how many, counted from 0, or which",
    "balance": "the rarest class has at least this share of what the most frequent one has",
    "centred": "the mean is near 0",
}


def save(schema: Schema, path: str | PathLike[str]) -> None:
    try:
        Path(path).write_text(dumps(schema), encoding="utf-8")
    except OSError as error:
        raise SleuthError(f"cannot write the schema {path}: {error.strerror}. Choose another place.") from error


def dumps(schema: Schema) -> str:
    said = {name: getattr(schema, name) for name in ("duplicates", "overlap")}
    shares = [_line(name, value) for name, value in said.items() if value is not None]
    return "\n".join([FILE_HEADER, *shares, *(_table(name, feature) for name, feature in schema.items())]) + "\n"


def _table(name: str, feature: Feature) -> str:
    kind = "labels" if isinstance(feature, Label) else "features"
    told = [_line(one.name, value) for one in fields(feature) if (value := getattr(feature, one.name)) != one.default]
    return "\n".join([f"\n[{kind}.{_key(name)}]", *told])


def _line(name: str, value: Any) -> str:
    remark = f"  # {FIELD_REMARKS[name]}" if name in FIELD_REMARKS else ""
    return f"{name} = {_value(value)}{remark}"


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_value(one) for one in value)}]"
    if value is None:
        return f'"{ANY_SIZE}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"{value:+}".replace("+inf", "inf")
    return str(value) if isinstance(value, int) else _text(value)


def _text(value: Any) -> str:
    text = str(value).encode("utf-8", "backslashreplace").decode()
    return json.dumps(text, ensure_ascii=False).replace(
        "\x7f", "\\u007f"
    )  # TOML escapes like JSON, except for this character


def _key(name: str) -> str:
    return (
        name
        if name and all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in name)
        else _text(name)
    )


def load(path: str | PathLike[str]) -> Schema:
    try:
        return loads(Path(path).read_text(encoding="utf-8"), str(path))
    except OSError as error:
        hint = "Write one with: sleuth data infer SAMPLE -o schema.toml"
        raise SleuthError(f"cannot read the schema {path}: {error.strerror}. {hint}") from error
    except UnicodeDecodeError as error:
        raise SleuthError(f"the schema {path} is not a text file (byte {error.start} is not UTF-8).") from error


def loads(text: str, title: str = "schema") -> Schema:
    """Return the schema in a text."""
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SleuthError(f"the schema {title} is not TOML: {error}. Correct that line.") from error
    features = {}
    for table, kind in (("features", Feature), ("labels", Label)):
        for name, told in _tables(said.pop(table, {}), table, title).items():
            features[name] = _feature(name, told, kind, title)
    known = {name: said.pop(name) for name in ("duplicates", "overlap") if name in said}
    if said:
        raise SleuthError(
            f"the schema {title} says {next(iter(said))!r}, which is not known: features, labels, duplicates, overlap."
        )
    try:
        return Schema(features, **known)
    except SleuthError as error:
        raise SleuthError(f"the schema {title}: {error}") from error


def _tables(told: Any, table: str, title: str) -> dict[str, dict[str, Any]]:
    if not isinstance(told, dict) or not all(isinstance(one, dict) for one in told.values()):
        raise SleuthError(f"the schema {title}: {table} must be tables, such as [{table}.x].")
    return told


def _feature(name: str, told: dict[str, Any], kind: type[Feature], title: str) -> Feature:
    known = [one.name for one in fields(kind)]
    unknown = next((one for one in told if one not in known), None)
    if unknown is not None:
        raise SleuthError(
            f"the schema {title} says {unknown!r} of {name}, which is unknown. Known are {', '.join(known)}."
        )
    if isinstance(told.get("shape"), list):
        told = told | {"shape": tuple(None if one == ANY_SIZE else one for one in told["shape"])}
    try:
        given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in told.items()}
        return kind(**given)
    except SleuthError as error:
        raise SleuthError(f"the schema {title}, {name}: {error}") from error
