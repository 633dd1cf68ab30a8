"""How the sheet looks, on a screen of either kind and on paper."""

from pathlib import Path

STYLE = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
