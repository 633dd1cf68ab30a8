"""The catalogue's file: what is written comes back, and what is damaged costs no more than itself."""

from __future__ import annotations

import errno
import json
import os
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorsleuth.trace.storage import journal
from tensorsleuth.trace.storage.catalog_reader import read_catalogue
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter
from tensorsleuth.trace.storage.journal import HEADER, RECORD_MARK, Damage, Journal

RECORDS = [("meta", {"number": number, "text": f"SLJ1 {number}" * number}) for number in range(20)]


def frame(text: bytes) -> bytes:
    body = zlib.compress(text)
    return HEADER.pack(RECORD_MARK, len(body), zlib.crc32(body)) + body


FRAMES = [frame(json.dumps(record).encode()) for record in RECORDS]
DATA = b"".join(FRAMES)


def records(data: bytes) -> list[Any]:
    return [found for found in journal.read_records(data) if not isinstance(found, Damage)]


def damages(data: bytes) -> list[Damage]:
    return [found for found in journal.read_records(data) if isinstance(found, Damage)]


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    written = Journal(tmp_path / "j", 1 << 20)
    assert all(written.append(kind, fields) for kind, fields in RECORDS)
    written.close()
    assert list(journal.read_records((tmp_path / "j").read_bytes())) == RECORDS


def test_what_json_does_not_know_is_written_as_text(tmp_path: Path) -> None:
    written = Journal(tmp_path / "j", 1 << 20)
    written.append("meta", {"what": object, "path": tmp_path, "bytes": b"\xff"})
    ((_, fields),) = records((tmp_path / "j").read_bytes())
    assert fields == {"what": str(object), "path": str(tmp_path), "bytes": str(b"\xff")}


def test_the_bound_is_kept(tmp_path: Path) -> None:
    written = Journal(tmp_path / "j", 200)
    done = [written.append("meta", {"number": number}) for number in range(50)]
    assert done == sorted(done, reverse=True) and not done[-1]
    data = (tmp_path / "j").read_bytes()
    assert len(data) <= 200
    assert len(records(data)) == sum(done) and not damages(data)


def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    written = Journal(tmp_path / "j", 1 << 20)
    written._file = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        written.append("meta", {})


@given(size=st.integers(0, len(DATA)))
def test_a_torn_end_loses_only_the_last(size: int) -> None:
    ends = [sum(map(len, FRAMES[: count + 1])) for count in range(len(FRAMES))]
    whole = sum(end <= size for end in ends)
    assert records(DATA[:size]) == RECORDS[:whole]
    assert all(damage.torn_end for damage in damages(DATA[:size]))
    assert len(damages(DATA[:size])) == (size not in (0, *ends))


@given(at=st.integers(0, len(DATA) - 1), bit=st.integers(0, 7))
def test_a_flipped_bit_loses_one_record_and_is_seen(at: int, bit: int) -> None:
    data = bytearray(DATA)
    data[at] ^= 1 << bit
    found = records(bytes(data))
    assert len(found) == len(RECORDS) - 1
    assert all(record in RECORDS for record in found)
    assert damages(bytes(data))


@given(junk=st.binary(min_size=1, max_size=200), after=st.integers(0, len(FRAMES)))
def test_what_stands_between_records_is_stepped_over(junk: bytes, after: int) -> None:
    data = b"".join(FRAMES[:after]) + junk + b"".join(FRAMES[after:])
    assert records(data) == RECORDS
    assert sum(damage.bytes for damage in damages(data)) == len(junk)


@given(data=st.binary(max_size=300))
def test_any_bytes_are_read_to_their_end(data: bytes) -> None:
    assert sum(damage.bytes for damage in damages(data)) == len(data)
    assert all(not damage.torn_end or data[-damage.bytes :][:4] in RECORD_MARK for damage in damages(data))


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b'["meta"]', b"[1,{}]", b'["meta",[]]', b"\xff", b"[" * 9999])
def test_a_frame_without_a_record_is_damage(text: bytes) -> None:
    assert records(frame(text) + FRAMES[0]) == RECORDS[:1]
    (damage,) = damages(frame(text) + FRAMES[0])
    assert not damage.torn_end


def test_the_catalogue_comes_back(tmp_path: Path) -> None:
    catalog = CatalogWriter(tmp_path, lambda path: path == __file__)
    stack = [(__file__, 3, "main"), ("/lib/tf.py", 9, "inner")]
    site = catalog.site(stack)
    assert catalog.site(stack) == site != catalog.site(stack[:1])
    op, first = catalog.eager_op({"type": "Mul", "site": site, "forward": -1, "instance": -1}, 2)
    assert catalog.eager_op({"type": "Add", "site": site, "forward": op, "instance": -1}, 1)[1] == first + 2
    catalog.not_covered("this", "that")
    catalog.not_covered("this", "that")
    catalog.failure({"call": 1, "op": op, "type": "InvalidArgumentError", "message": "no", "inputs": ["a"]})
    catalog.close()
    found, trouble = read_catalogue(tmp_path / "catalog.journal")
    assert trouble == []
    frame = found.sites[site].frame
    assert frame is not None and (frame.file, frame.line, frame.function) == stack[0]
    assert found.sources == {__file__: Path(__file__).read_text()}
    assert found.eager[op].outputs == 2 and found.eager[op + 1].forward == op
    assert found.not_covered == [{"what": "this", "why": "that", "site": 0, "unseen": False}]
    assert found.failures[0].message == "no"
