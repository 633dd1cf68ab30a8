"""A broken rule on the page: its own words in the alerts, and beside the tensor that is shown for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.looking import marked_line, panel, title, verdict
from tests.unit import little_run
from tests.unit.serving import Serving

from tensorsleuth.core.violation import Violation
from tensorsleuth.trace.storage import journal

FOUND = "hidden: expected values between 0 and 1, found 2 of 6: up to 4; first at [0, 1] 4"


def test_its_own_words(tmp_path: Path, served: Callable[[Path], Serving], open_page: Callable[..., Page]) -> None:
    program = tmp_path / "train.py"
    run = little_run.write(tmp_path / "runs" / "one", program)
    (folder,) = run.glob("p-*")
    catalog = journal.Journal(folder / "catalog.journal", 1 << 20)
    rule = Violation("between", "hidden", "values between 0 and 1", "up to 4", 2, 6, ((0, 1),), (4.0,), "scale it",
                     file=str(program), line=7, clock=1_001_500, step=0)  # fmt: skip
    catalog.append("violation", rule.to_json())
    catalog.close()
    page = open_page(f"http://127.0.0.1:{served(tmp_path / 'runs').port}/#run=one&tensor=0.20")
    expect(verdict(page)).to_contain_text("Problem")
    alerts = panel(page, "Alerts")
    expect(alerts).to_contain_text(FOUND)
    expect(panel(page, "Tensor")).not_to_contain_text("Rule broken")
    alerts.get_by_role("list", name="Rules that were broken").get_by_role("button").click()
    expect(title(page)).to_have_text("net/hidden/Softmax:0")
    expect(panel(page, "Tensor").get_by_role("region", name="Rules broken here")).to_contain_text(FOUND)
    expect(panel(page, "Tensor")).to_contain_text("scale it")
    expect(marked_line(page).locator(".line-number")).to_have_text("7")
