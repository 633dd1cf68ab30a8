"""The debugger's commands on a program that was recorded with its values: a softmax that underflows, and its log."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from rich.console import Console
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.reader import Trace
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.rendering import render_result

FILE = Path(__file__).name
STEPS = 3


def program() -> None:
    logits = tf.Variable([[1.0, 2.0], [3.0, 1.0]], name="logits")

    @tf.function
    def train_step(scale: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape, tf.name_scope("model/head"):
            chances = tf.nn.softmax(logits * scale)  # softmax
            likely = tf.math.log(chances)  # log
            loss = -tf.reduce_mean(likely[:, 0])
        grown = scale
        for _ in tf.range(2):
            grown = grown * 3.0  # grown
        logits.assign_sub(tape.gradient(loss, logits) * 0.1 + grown * 1e-6)
        return loss

    for scale in (1.0, 200.0, 200.0):
        train_step(tf.constant(scale))


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    with tensorsleuth.record(tmp_path_factory.mktemp("runs"), mode="FULL_TENSOR") as recording:
        program()
    assert recording.path is not None
    return tensorsleuth.open(recording.path)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    with tensorsleuth.record(tmp_path_factory.mktemp("runs")) as recording:  # no values
        tf.exp(tf.constant([1.0, 2.0, -3.0]))
    assert recording.path is not None
    return tensorsleuth.open(recording.path)


@pytest.fixture
def debugger(trace: Trace) -> Debugger:
    return Debugger(trace)


def said(debugger: Debugger, line: str) -> str:
    console = Console(width=200, record=True, file=open("/dev/null", "w"), color_system=None)  # noqa: SIM115
    with console.file:
        console.print(render_result(debugger.run_line(line)))
        return console.export_text()


def refused(debugger: Debugger, line: str) -> str:
    with pytest.raises(SleuthError) as caught:
        debugger.run_line(line)
    return str(caught.value)


# ---- lists


def test_lt_filters_and_sorts(debugger: Debugger) -> None:
    logs = said(debugger, "lt -t Log$")
    assert logs.startswith(f"{STEPS} tensors") and len(re.findall("model/head/Log:0", logs)) == STEPS
    assert f"{FILE}:{marked('log')}" in logs
    bad = said(debugger, "lt -f has_inf_or_nan -t Log$")
    assert bad.startswith("2 tensors") and "2 −∞ of 4" in bad and "4 NaN of 4" in bad
    assert [debugger.listing.event(at).step for at in range(2)] == [1, 2]
    assert said(debugger, "lt -f neg_inf > 0 and op == 'Log' --step 1").startswith("1 tensor:")
    debugger.run_line("lt -n model/head -s max -r")
    found = [debugger.listing.event(at).health["max"] for at in range(len(debugger.listing))]
    known = [one for one in found if not np.isnan(one)]
    assert known == sorted(known, reverse=True) and found[: len(known)] == known


@pytest.mark.parametrize(
    ("theirs", "ours"), [("timestamp", "time"), ("dump_size", "size"), ("op_type", "op"), ("tensor_name", "name")]
)
def test_lt_sorts_as_tfdbg_names_it(debugger: Debugger, theirs: str, ours: str) -> None:
    assert said(debugger, f"lt -s {theirs} -r") == said(debugger, f"lt -s {ours} -r")


def test_lt_takes_names_and_leaves_some_out(debugger: Debugger) -> None:
    assert said(debugger, "lt --node_name_filter model/head") == said(debugger, "lt -n model/head")
    assert "model/head/Log:0" in said(debugger, "lt -f has_inf_or_nan --limit 500")
    rest = said(debugger, "lt -f has_inf_or_nan -fenn model/head/Log --limit 500")
    assert "model/head/Log:0" not in rest and "without model/head/Log" in rest and not rest.startswith("0 ")


def test_ls_and_ps_take_the_options_of_tfdbg(debugger: Debugger) -> None:
    assert FILE in said(debugger, "ls -p test_debugger") and FILE not in said(debugger, "ls -p no_such_file")
    assert FILE in said(debugger, "ls -n model/head/Log") and FILE not in said(debugger, "ls -n no_such_op")
    assert "# log" in said(debugger, f"ps {FILE} -b {marked('log')}")
    assert "# log" not in said(debugger, f"ps {FILE} -b {marked('log') + 200}")
    named = said(debugger, f"ps {FILE}:{marked('log')} -m 1").splitlines()
    (at,) = [number for number, line in enumerate(named) if line.endswith("# log")]
    assert named[at + 1].strip() == "model/head/Log" or named[at + 2].strip().endswith("more: -m 2"), named[at : at + 3]
    assert "model/head/Log:0" in said(debugger, f"ps {FILE}:{marked('log')} -t")
    assert said(debugger, "li -t Log:0") == said(debugger, "li Log:0")
    assert said(debugger, "lo -t Log:0") == said(debugger, "lo Log:0")


def test_alerts_and_moving_between_them(debugger: Debugger) -> None:
    assert "model/head/Log" in said(debugger, "alerts") and "need not be the cause" in said(debugger, "alerts")
    first = said(debugger, "next")
    second = said(debugger, "n")
    assert first != second and said(debugger, "prev") == first and said(debugger, "back") == second
    while "no bad tensor after" not in said(debugger, "next"):
        pass
    assert debugger.place() == debugger.alerts[-1]


def test_find_searches_names_and_lines(debugger: Debugger) -> None:
    found = said(debugger, "find softmax")
    assert found.startswith(f"{STEPS} tensors") and "chances = tf.nn.softmax(logits * scale)" in found
    assert said(debugger, "/SOFTMAX").startswith(f"{STEPS} tensors")


# ---- values


def test_pt_prints_values_slices_and_ranges(debugger: Debugger) -> None:
    whole = said(debugger, "pt model/head/Log:0")  # the first bad one
    assert "step 1" in whole and "-inf" in whole and "float32 [2, 2]" in whole
    assert said(debugger, "pt Log:0[1, :]").count("inf") == 1  # the end of a name will do
    assert "step 0" in said(debugger, "pt Log:0 --step 0") and "step 2" in said(debugger, "pt Log:0 -n -1")
    ranged = said(debugger, "pt Log:0[1, :] -r [[-inf, -100], [5, 6]] --step 1")
    assert "1 of 2 in the range" in ranged and "-inf*" in ranged and "the first at [1]" in ranged
    assert re.search(r"\n0 +2 +0 +2 +0 +0 ", said(debugger, "pt -s Log:0 --step 1"))


def test_pt_writes_a_file_and_never_over_another(debugger: Debugger, tmp_path: Path) -> None:
    path = tmp_path / "log.npy"
    assert str(path) in said(debugger, f"pt Log:0[1, :] --step 1 -w {path}").replace("\n", "")
    assert np.load(path).shape == (2,) and np.isinf(np.load(path)).sum() == 1
    assert "cannot be written" in refused(debugger, f"pt Log:0 -w {path}") and np.load(path).shape == (2,)


def test_pt_of_a_scalar_and_by_number(debugger: Debugger) -> None:
    debugger.run_line("lt -t Log$ --step 1")
    place = debugger.listing.places[0]
    assert said(debugger, f"pt #{place}") == said(debugger, "pt Log:0 --step 1")
    assert "9" in said(debugger, "pt #" + str(_last(debugger, "Mul", "grown")))


def _last(debugger: Debugger, kind: str, mark: str) -> int:
    found = debugger.trace.tensors(op=kind, line=marked("grown") if mark == "grown" else None, step=0)
    return debugger.place(found[-1])


def test_without_values_the_health_and_the_way_to_get_them(healthy: Trace) -> None:
    text = said(Debugger(healthy), "pt Exp:0")
    assert "range 0.04979 … 7.389" in text and "sleuth run --mode FULL_TENSOR" in text
    assert "sleuth run --mode FULL_TENSOR" in refused(Debugger(healthy), "eval np.max(`Exp:0`)")


def test_eval_computes_on_values(debugger: Debugger) -> None:
    debugger.run_line("pt Softmax:0 --step 0")
    assert "[1, 0]" in said(debugger, "eval np.argmax(`model/head/Softmax:0`, axis=1)")
    assert said(debugger, "eval abs(`Softmax:0`[0].sum() - 1) < 1e-6").strip() == "True"
    assert "failed: ValueError" in refused(debugger, "eval `Softmax:0` @ np.ones(3)")


@pytest.mark.parametrize(
    "expression",
    ["open('x')", "np.load('x')", "`Log:0`.tofile('x')", "().__class__", "np.linalg.__dict__", "[x for x in (1,)]",
     "(lambda: 1)()", "__import__('os')", "np.lib.npyio", "'{0.__class__}'.format(1)", "np.memmap('x')", "np.f2py"],
)  # fmt: skip
def test_eval_reaches_no_files(debugger: Debugger, expression: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused(debugger, f"eval {expression}")
    assert not list(tmp_path.iterdir())


def test_pf_lists_what_python_passed(debugger: Debugger) -> None:
    assert "scale" in said(debugger, "pf")


# ---- the graph


def test_ni_tells_about_an_op(debugger: Debugger) -> None:
    text = said(debugger, "ni Log -a -d -t")
    for words in ("model/head", f"{FILE}:{marked('log')}", "1 input ", "Softmax:0", "3 times", "train_step", "program"):
        assert words in text, words


def test_li_and_lo_walk(debugger: Debugger) -> None:
    inputs = said(debugger, "li -r Log:0")
    assert inputs.index("Softmax:0") < inputs.index("mul:0") and "ReadVariableOp" in inputs
    assert "ReadVariableOp" not in said(debugger, "li Log:0")
    assert "Log:0" in said(debugger, "lo Softmax:0")
    assert "control inputs" in said(debugger, "li -c Log:0")


# ---- the source


def test_sources_show_the_health_of_lines(debugger: Debugger) -> None:
    assert FILE in said(debugger, "ls")
    text = said(debugger, f"ps {FILE}:{marked('log')}")
    (line,) = [line for line in text.splitlines() if line.endswith("# log")]
    assert re.match(rf"\s*(NaN|∞) ×\d+ ▶ *{marked('log')} │", line)
    (fine,) = [line for line in text.splitlines() if line.endswith("# grown")]
    assert re.match(rf"\s*ok ×\d+ +{marked('grown')} │", fine)
    debugger.run_line("pt Log:0")
    assert "# log" in said(debugger, "ps")


# ---- time


def test_moving_through_time(debugger: Debugger) -> None:
    assert "#0 " in said(debugger, "step") and "#1 " in said(debugger, "s") and "#5 " in said(debugger, "step -t 4")
    debugger.run_line("run")
    assert debugger.focus is not None and debugger.focus.step == 1
    assert "recorded up to step 2" in said(debugger, "run -t 7")
    assert "−∞" in said(Debugger(debugger.trace), "run -f neg_inf > 0")
    assert "−∞" in said(Debugger(debugger.trace), "until neg_inf > 0 and op == 'Log'")
    assert "no tensor after this one passes" in said(debugger, "until max > 1e30")


def test_why_goes_to_the_birth(debugger: Debugger) -> None:
    text = said(debugger, "why")
    assert "PROBLEM" in text and f"{FILE}:{marked('log')}" in text
    assert debugger.focus is not None and debugger.focus.op.type == "Log" and debugger.focus.step == 1


def test_a_healthy_run(healthy: Trace) -> None:
    debugger = Debugger(healthy)
    assert "no tensor holds" in said(debugger, "alerts") and "HEALTHY" in said(debugger, "why")
    assert "no bad tensor after" in said(debugger, "next")


def test_the_screen_opens_on_the_birth(trace: Trace) -> None:
    from tensorsleuth.ui.tui.app import DebuggerApp

    async def main() -> str:
        app = DebuggerApp(Debugger(trace))
        async with app.run_test(size=(80, 24)) as pilot:
            seen = ""
            for _ in range(100):  # what it shows comes from other threads
                await app.workers.wait_for_complete()
                await pilot.pause(0.3)
                strips = app.screen._compositor.render_strips()
                seen = "\n".join("".join(segment.text for segment in strip) for strip in strips)
                if "Softmax" in seen and "▶" in seen:
                    break
            return seen

    seen = asyncio.run(main())
    assert "PROBLEM" in seen and f"{FILE}:{marked('log')}" in seen and "─model/head/Log:0─" in seen
    assert "↓ model/head/Softmax:0" in seen and "−∞ 2" in seen and re.search(rf"▶ *{marked('log')} │", seen)


def test_what_was_never_computed_is_said_so(debugger: Debugger) -> None:
    seen = {event.op.name for event in debugger.everything}
    fused = next(op.name for op in debugger.trace.ops() if op.graph and op.outputs and op.name not in seen)
    assert "was never computed: TensorFlow's optimizer fused or removed it" in refused(debugger, f"pt {fused}")


# ---- what is typed


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("lx", "there is no command 'lx'"),
        ("nxt", "Did you mean next?"),
        ("pt Lög:0", "there is no tensor 'Lög:0' in the run. Similar: .*Log"),
        ("pt train_step/nothing", "there is no tensor"),
        ("pt Log:7", "there is no tensor 'Log:7'. The recorded outputs of its op: :0"),
        ("pt #999999", "there is no tensor #999999: the run has #0 to"),
        ("pt Log:0[5]", r"\[5\] does not fit a tensor of shape \[2, 2\]"),
        ("pt Log:0[x]", r"'\[x\]' is not a slice"),
        ("pt Log:0 --step 99", "was not computed in step 99, but in steps 0 to 2"),
        ("pt Log:0 -n 99", "was recorded 3 times"),
        ("pt", "no tensor is selected yet"),
        ("pt Log:0 -r [1", "not a range"),
        ("pt 'Log", "Close the quote or bracket"),
        ("lt -f maxx > 1", "unknown name 'maxx'. The names are has_inf_or_nan"),
        ("lt -f max >", "cannot be read"),
        ("lt -f max > 'a'", "cannot be computed"),
        ("lt -f max(1)", "unknown name|is not allowed"),
        ("lt -s colour", "cannot be sorted by 'colour'. Take one of time"),
        ("lt -n [", "is not a regular expression"),
        ("lt --nonsense", "lt: unrecognized arguments: --nonsense. See: lt --help"),
        ("ps nothing.py", "has no source of 'nothing.py'"),
        ("ps", "ps needs a file"),
        ("find", "find needs"),
        ("until", "until needs"),
        ("eval", "eval needs"),
        ("eval 1 +", "cannot be read"),
        ("help nonsense", "there is no command 'nonsense'"),
    ],
)
def test_mistakes_are_told_in_a_sentence(debugger: Debugger, line: str, sentence: str) -> None:
    told = refused(debugger, line)
    assert re.search(sentence, told), told
    assert "\n" not in told
