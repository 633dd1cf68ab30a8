"""The style of the report, on light and dark screens and on paper."""

from pathlib import Path

STYLE = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
