"""The version of tensorsleuth, and the trace formats that it reads and writes (docs/stability.md)."""

VERSION = "0.1.0"
TRACE_FORMAT = 1  # in run.json, in the catalogue and in the header of each file of rows
