"""Write the tables of the blind trials into docs/why.md: python -m tests.trials"""

from __future__ import annotations

from tests.trials.trial import PAGE, load, tables, with_tables

if __name__ == "__main__":
    trials = load()
    PAGE.write_text(with_tables(PAGE.read_text(), trials))
    print(tables(trials))
