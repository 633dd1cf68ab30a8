"""Where every module goes: one line a folder, `new_name=old.module` (or `name=old.` for `old.name`).

`python3 layout.py CLONE` checks that every module has exactly one new place and that no folder is overfull.
"""

from __future__ import annotations

import sys
from pathlib import Path

# The folders, lowest first: this is also the order of layers that tests/unit/test_architecture.py holds.
PYTHON: dict[str, str] = {
    "core": """
        array=+ catalog=model. dtypes=model. errors=model. error_text=model.failure_text
        exit_status=model.ending finding=model. fit_position=model.batches formatting=show.amounts
        gc_pause=model.calm last_moments=model. modes=model. replay_outcome=model.replay series=model.
        texts=model. version=model. violation=model.
    """,
    "core/layout": """
        histogram_bins=model.bins ring_header=model. rows=model. thread_slots=model.
    """,
    "core/ops": """
        activations=model. function_names=model.functions kinds=model.ops layer_names=model.layers
    """,
    "native": """
        build=native. loader=native. numpy_health=native.twin numpy_measure=native.measure_twin
        row_health=native.row_looker
    """,
    "trace": """
        reader=trace. run_summary=trace.runs
    """,
    "trace/storage": """
        catalog_reader=trace. catalog_writer=trace. fault_dumps=trace.faults files=trace. journal=trace.
        memory_folder=trace.memory ring_reader=trace. ring_writer=trace. run_folder=trace.rundir
        saved_steps=trace.saved shape_writer=trace. size_plan=trace.plan synthetic=trace. synthetic_mixed=trace.
        value_writer=trace. values=trace. versions=trace.
    """,
    "trace/process": """
        buffers=trace. fit_batches=trace.batches key_lookup=trace.look_up layers=trace. process=trace.
        remote_rows=trace.served replays=trace. thread_slots=trace.
    """,
    "trace/series": """
        attention=trace. input_rows=trace. layer_stats=trace.inside png=trace. watched=trace.
    """,
    "trace/dataflow": """
        call_graph=trace.moment calls=trace. collectives=trace. dataset_pipelines=trace.pipelines
        observed=trace. replicas=trace. row_index=trace. unseen_writes=trace.unseen value_flow=trace.flow
        variables=trace.
    """,
    "trace/query": """
        columns=trace. consumers=trace.takers op_filter=trace.wanted ops=trace. process_index=trace.asked
        query=trace. tensor_event=trace. tensors=trace. variable_use=trace.
    """,
    "recording": """
        api=capture. call_sites=capture.sites caller=checking.place guard_protocol=capture.watcher
        handle=capture.removable harmless=capture.complaint observers=capture.riding recorder=capture.
        settings=capture. steps=capture. uncaught_exceptions=capture.uncaught
    """,
    "recording/violations": """
        actions=checking.acting error_types=capture.raised pending_errors=checking.alarms
    """,
    "recording/tensorflow": """
        autograph=capture. custom_ops=capture.expecting error_messages=capture.failures event_files=capture.
        gradient_marks=capture.gradients graph_points=capture. internals=capture.tf op_outputs=capture.outputs
        patches=capture. sessions=capture.tf_sessions strip_ops=capture.stripping tracing=capture.
        variables=capture.tf_variables
    """,
    "recording/keras": """
        fit_batches=capture.batches internals=capture.keras patches=capture.keras_patches
        variable_paths=capture.keras_variables
    """,
    "recording/eager": """
        callbacks=capture.eager external_inputs=capture.strangers feeds=capture. op_sites=capture.places
        retracing=capture. tape_gradients=capture.eager_gradients text_sample=capture.
        text_summary=capture.text_look texts=capture. unused_variables=capture.left_out
    """,
    "recording/functions": """
        descriptions=capture.describe function_copy=capture.copying function_def=capture.definition
        function_library=capture.library minimal_probes=capture.sentinel optimizer_probes=capture.optimized
        outline=capture. probes=capture.instrument side_effects=capture.outside
        watched_functions=capture.functions
    """,
    "recording/replay": """
        exported_copy=capture.exporting free_memory=capture.room read_interval=capture.pace
        replay_buffer=capture.flights replay_copy=capture.again replay_inputs=capture.keeper
        replayer=capture.replay save_step=capture.saving saved_step=capture.rerun snapshots=capture.
        uncompiled=capture.compiled variable_readings=capture.readings variable_state=capture.state
    """,
    "recording/sessions": """
        entry_points=capture.session_calls run_graph=capture.session_graph runs=capture.session_runs
        sessions=capture. values=capture.session_values
    """,
    "recording/backends": """
        backends=capture.means device_probes=capture.device_prober device_sink=capture. device_summary=capture.
        machine=capture. python_hook=capture.plain_hook python_probes=capture.plain_graph
        python_sink=capture.plain_sink sink=capture.
    """,
    "recording/structure": """
        attention=capture. attention_ops=capture.attending eager_graph=capture.eager_pass
        graph_edges=capture.wiring layer_outputs=capture. model_outputs=capture.model_look
        name_scopes=capture.scopes selector=capture. tensor_roles=capture.subjects
    """,
    "recording/cluster": """
        remote_functions=capture.remote remote_probes=capture.shared strategies=capture.
    """,
    "data": """
        block=data. cached=data.once check=data. check_data=data.checking feature=data. hash_sample=data.
        infer=data. part_names=data.naming prefetch=data.ahead report=data. report_table=show.data_table
        row_sample=data.sample schema=data. schema_file=data. tally=data.
    """,
    "data/checks": """
        categories=data.checks. centred=data.checks. constant=data.checks. drift=data.checks.
        duplicate_columns=data.checks. duplicate_rows=data.checks. finite=data.checks. images=data.checks.
        labels=data.checks. missing=data.checks. overlap=data.checks. presence=data.checks. ranges=data.checks.
        shapes=data.checks. types=data.checks.
    """,
    "data/readers": """
        arrays=data.readers. csv=data.readers. datasets=data.readers. frames=data.readers. jsonl=data.readers.
        lines=data.readers. mapped=data.readers. npy=data.readers. npz=data.readers. parquet=data.readers.
        ragged=data.readers. sequences=data.readers. tfrecord=data.readers. trouble=data.readers.
    """,
    "data/pipeline": """
        api=data.pipeline actions=data.verdicts element=data. errors=data.raised graph=data.pipeline_graph
        native=data.pipeline_native set_aside=data.aside
    """,
    "data/tokens": """
        api=tokens. arguments=tokens. batch=tokens. check=tokens. grid=tokens. judging=tokens. padding=tokens.
        reading=tokens. report=tokens. roles=tokens. setting=tokens. shift=tokens. tokenizers=tokens.
        vocabulary=tokens. vocabulary_file=tokens. wording=tokens.words
    """,
    "data/tokens/checks": """
        all_padding=tokens.checks. dtypes=tokens.checks. empty=tokens.checks. label_range=tokens.checks.
        loss_padding=tokens.checks. mask_covers=tokens.checks. mask_inverted=tokens.checks.
        mask_open=tokens.checks. outside=tokens.checks. overlap=tokens.checks. shapes=tokens.checks.
        shifted=tokens.checks. special_tokens=tokens.checks. text=tokens.checks. truncated=tokens.checks.
        unused=tokens.checks.
    """,
    "analyze/profile": """
        batch_waits=timing.waiting bottleneck=timing.bound chrome_trace=timing.chrome flame=timing.
        intervals=timing.cover op_ends=timing.rows_seen op_inputs=timing.feeding op_times=timing.ops_run
        probe_times=timing.looks profile=timing. python_calls=timing.made report=timing. slow_steps=timing.slow
        steps=timing. time_split=timing.split time_tables=timing.lines
    """,
    "analyze/memory": """
        account=memory. buffer_rows=memory.seen labels=memory. last_use=memory.ends lifetimes=memory.lives
        onednn_pool=memory.pool op_times=memory.times report=memory.answer running_ops=memory.running
    """,
    "analyze/memory/batch_size": """
        advice=memory. demand=memory. dims=memory. fit=memory. fit_report=memory.fitting
        input_batches=memory.deliveries observed_shapes=memory.seen_shapes producers=memory.wiring
        scaling=memory.growing shape_rules=memory.rules
    """,
    "analyze/attention": """
        batch=insight. heads=insight. input_names=insight.called looking_ahead=insight.ahead
        padding=insight.padded picture=insight. remark=insight. summary=insight. thresholds=insight.
        to_json=insight.told weight_shape=insight.shape
    """,
    "analyze/layers": """
        curves=insight.layers no_stats=insight.absent to_json=insight.layers_told
    """,
    "diagnose": """
        cluster=diagnose. finding_time=diagnose.clock health_words=diagnose.words log_messages=diagnose.logged
        no_data=diagnose.nothing_seen replay_note=diagnose.again report=diagnose. rule=diagnose.habit
        source_lines=diagnose.quoted violation_end=diagnose.ended_by violations=diagnose.
    """,
    "diagnose/graph": """
        constant_folding=diagnose.folding loss_reduction=diagnose.summing neighbours=diagnose.around
        operands=diagnose. position_table=diagnose.positions shapes=diagnose.sizes training=diagnose.
    """,
    "diagnose/nan": """
        case=diagnose. data_source=diagnose.pipeline history=diagnose. last_update=diagnose.learning
        origins=diagnose.births path=diagnose.chain replica_blame=diagnose.apart spread=diagnose.
    """,
    "diagnose/nan/causes": """
        data=diagnose.causes. division=diagnose.causes. domain=diagnose.causes.
        gradient_at_zero=diagnose.causes. growth=diagnose.causes. infinities=diagnose.causes.
        integer=diagnose.causes. labels=diagnose.causes. logarithm=diagnose.causes. matrix=diagnose.causes.
        nothing=diagnose.causes. overflow=diagnose.causes. root=diagnose.causes. uninitialised=diagnose.causes.
        where_trap=diagnose.causes.
    """,
    "diagnose/training": """
        dropout_in_evaluation=diagnose.habits. eager_weights=diagnose.left_eagerly optimizer=diagnose.optimizing
        returned_values=diagnose.returned variable_writes=diagnose.written
    """,
    "diagnose/training/loss": """
        broadcast=diagnose.habits. chance_loss=diagnose.habits. flat_loss=diagnose.habits.
        logits_as_probabilities=diagnose.habits. loss_rose=diagnose.habits. loss_scale_collapse=diagnose.habits.
        probabilities=diagnose. probabilities_as_logits=diagnose.habits.
    """,
    "diagnose/training/gradients": """
        dead_layer=diagnose.habits. exploding_gradients=diagnose.habits. gradient_stops=diagnose.stopping
        norm_of_constant=diagnose.habits. saturated_layer=diagnose.habits. vanishing_gradients=diagnose.habits.
        zero_gradients=diagnose.habits.
    """,
    "diagnose/training/weights": """
        frozen_weights=diagnose.habits. learning_rate_too_high=diagnose.habits. no_warmup=diagnose.habits.
        not_in_optimizer=diagnose.habits. still_embedding_rows=diagnose.habits. untied_weights=diagnose.habits.
    """,
    "diagnose/attention": """
        attention_graph=diagnose.attending causal_leak=diagnose.ahead key_inputs=diagnose.key_texts
        remarks=diagnose.attention_remarks
    """,
    "diagnose/attention/heads": """
        axis_provenance=diagnose.grains head_axes=diagnose. heads_mixed=diagnose.habits.
        missing_scale=diagnose.habits. op_axes=diagnose. saturated_attention=diagnose.habits.
        score_scale=diagnose. softmax_axis=diagnose.habits.
    """,
    "diagnose/attention/masks": """
        attention_mask=diagnose.habits. float_masks=diagnose. mask_multiplied=diagnose.habits.
        mask_path=diagnose.mask_way masked_rows=diagnose.habits. multiplied_masks=diagnose.multiplied
        no_causal_mask=diagnose.habits. observed_mask=diagnose.mask_seen padded_attention=diagnose.
        padding_unmasked=diagnose.habits.
    """,
    "diagnose/inputs": """
        input_parts=diagnose.parts model_inputs=diagnose.given overlap=diagnose.
        stray_characters=diagnose.habits. text_ops=diagnose. token_samples=diagnose.token_looks
        token_wording=diagnose.token_words validation_overlap=diagnose.habits.
    """,
    "diagnose/inputs/tokens": """
        even_weights=diagnose. hidden_by_xla=diagnose.habits. integer_range=model.whole_numbers
        narrow_ids=diagnose. special_tokens=diagnose.special_seen token_dtype=diagnose.habits.
        token_ids=diagnose.habits. token_labels=diagnose.habits. token_rows=diagnose.habits.
    """,
    "diagnose/leaks": """
        copies=diagnose.habits. growing_graph=diagnose.habits. keeping_line=diagnose.keepers
        kept_tensors=diagnose.habits. lifetimes=diagnose. new_variables=diagnose.habits.
        outsized=diagnose.habits. retracing=diagnose.habits.
    """,
    "diagnose/exits": """
        add_exit=diagnose.at_the_end allocation=diagnose. batch_that_fits=diagnose.fits end=diagnose.
        failure=diagnose. memory_at_end=diagnose. running_ops=diagnose.under_way thread_activity=diagnose.doing
        unrecorded_inputs=diagnose.unseen_inputs value_text=diagnose.described wording=diagnose.ending_words
    """,
    "diagnose/exits/kinds": """
        aborted=diagnose.endings. cut_short=diagnose.endings. exception=diagnose.endings. hang=diagnose.endings.
        killed=diagnose.endings. native_fault=diagnose.endings. out_of_memory=diagnose.endings.
    """,
    "ui/terminal": """
        attention_report=show. batch_report=show. closing=show. console=show.terminal ending=show.
        fit_report=show. layers_report=show. memory_report=show. profile=show. progress=show. run_info=show.
        runs_table=show. summary=show. verdict=show.
    """,
    "ui/terminal/charts": """
        cells=show. heat_map=show. names=show. sparkline=show.
    """,
    "ui/debugger": """
        command=debugger. debugger=debugger. evaluation=debugger. filters=debugger. following=debugger.
        line=debugger. listing=debugger. live_program=debugger.live margins=debugger. portrait=debugger.
        rendering=show.answers result=debugger. tensor_names=debugger.naming values=debugger.
    """,
    "ui/debugger/commands": """
        listing=debugger.commands. looking=debugger.commands. session=debugger.commands.
        sources=debugger.commands. time=debugger.commands. verdicts=debugger.commands.
        walking=debugger.commands.
    """,
    "ui/tui": """
        app=show.tui. command_line=show.tui. commanding=show.tui. details=show.tui. headline=show.tui.
        help_screen=show.tui. keys=show.tui. lines=show.tui. refreshing=show.tui. source_view=show.tui.
        style=show.tui. tensor_list=show.tui. walk=show.tui.
    """,
    "ui/web": """
        page_files=page.built
    """,
    "ui/web/run": """
        columns=page.told errors=page. events=page. growth=page. ids=page. lanes=page. nearest_tensor=page.near
        open_run=page.opened parameters=page. points=page. question=page. run_list=page.runs sources=page.
        step_times=page. table=page. variables=page. violations=page.
    """,
    "ui/web/answers": """
        alerts=page.answers. failures=page. filters=page. history=page.answers. live=page.answers.
        rows=page.answers. run=page.answers. scalar_series=page.scalars scalars=page.answers. sorting=page.
        tensor=page.answers. tensors=page.answers. watched=page.answers.
    """,
    "ui/web/answers/attention": """
        attention=page.answers. axes=page. layers=page.answers. locations=page.spots packed=page.
        stats=page.insides weights=page.answers.
    """,
    "ui/web/answers/compare": """
        compare=page.answers. differences=page.comparing. pairs=page.comparing. wording=page.comparing.words
    """,
    "ui/web/answers/graph": """
        graph=page.answers. groups=page.graph. path=page.graph. walk=page.graph.
    """,
    "ui/web/answers/memory": """
        memory=page.answers. memory_moment=page.
    """,
    "ui/web/answers/source": """
        highlight=page. margins=page. source=page.answers.
    """,
    "ui/web/answers/timeline": """
        flame=page.answers. timeline=page.answers.
    """,
    "ui/web/answers/value": """
        heat_map=page.heat value=page.answers.
    """,
    "ui/web/answers/verdict": """
        ending=page. verdict=page.answers.
    """,
    "ui/web/server": """
        address=page. app=page. command_body=page.driving console=page. live=page. pause_state=page.pausing
        peer_uid=page.whose replies=page. run_cache=page.shelf safety=page. server=page.
    """,
    "ui/web/export": """
        embedded_answers=page.taken embedded_layer_stats=page.taken_inside export=page. local_client=page.asking
    """,
    "ui/web/report": """
        document=page.report. findings=page.report. pictures=page.report. scales=page.report. style=page.report.
    """,
    "live/watch": """
        api=watching. event_files=watching.eventfile log=watching. log_message=watching.message
        model_table=watching.one_look options=watching.wanted points=watching. selection=watching.
        series=watching. table=watching. variables=watching. watches=watching.
    """,
    "live/layer_stats": """
        compiled=watching.inside_compiled eager=watching.inside_eager eager_input_names=watching.eager_inputs
        functions=watching.inside_functions inputs=watching.inside_inputs observer=watching.inside
        selection=watching.inside_selection series=watching.inside_series variable_names=watching.
    """,
    "live/breakpoints": """
        actions=breaking.acting api=breaking. breakpoint=breaking. breakpoints=breaking. condition=breaking.
        condition_words=breaking.words evaluator=breaking.bench hit=breaking. op_names=breaking.naming
        python_evaluator=breaking.judging selection=breaking. tensor_in_memory=breaking.sight
    """,
    "live/breakpoints/pause": """
        expressions=breaking. pause=breaking. requests=breaking.questions server=breaking. terminal=breaking.
        trace_so_far=breaking.around
    """,
    "live/expect": """
        api=checking. argument_name=checking.naming arguments=checking.asking arrays=checking.eager
        compiled=checking. compiled_rules=checking. dimension_names=checking.names expectation=checking.
        graph_callbacks=checking.telling graphs=checking. judge=checking. keras_layer=checking.
        native_judge=checking. nested=checking.leaves python_op=checking. report=checking. tensors=checking.
    """,
    "live/startup": """
        autostart=capture. break_points=breaking.injected start=capture.inject watches=watching.injected
    """,
    "live/guard": """
        api=guarding. excerpt=guarding. explain=guarding. function_writes=guarding.inside guardian=guarding.
        judge=guarding. selection=guarding. suspects=guarding.
    """,
    "integrations": """
        fit_recording=integrations.fit_watch keras_callback=integrations. recorded_spans=integrations.spans
        session_hook=integrations. session_recording=integrations.span session_wrapper=integrations.
        tensor_filters=integrations. tfdbg_hooks=integrations.
    """,
    "inject": """
        sitecustomize=inject.
    """,
    "demo": """
        digits_mlp=demo.
    """,
    "cli": """
        command_table=cli.commands main=cli.
    """,
    "cli/commands": """
        attention=cli. data=cli. debug=cli. demo=cli. doctor=cli. info=cli. layers=cli. memory=cli. profile=cli.
        replay=cli. report=cli. rm=cli. run=cli. runs=cli. save_step=cli. view=cli. why=cli.
    """,
    "cli/doctor": """
        check=model.checkup coverage=model. machine=cli. report=show.doctor_report
    """,
    "cli/options": """
        breakpoints=cli.breaks common=cli.options record=cli.settings tokens=cli.token_options
        watch=cli.watching
    """,
    "cli/output": """
        closing=cli. command_text=cli.typed findings=cli. next_steps=cli. summaries=cli.
    """,
    "cli/program": """
        afterwards=cli. child=cli. hang=cli. last_words=cli. launch=cli. oom=cli.
    """,
    "": """
        hooks= keras=
    """,
}

# The __init__ of a folder that has something in it.
INITS = {
    "": "",
    "analyze/memory": "memory",
    "data/checks": "data/checks",
    "data/readers": "data/readers",
    "data/tokens/checks": "tokens/checks",
    "diagnose": "diagnose",
    "diagnose/nan/causes": "diagnose/causes",
    "diagnose/exits/kinds": "diagnose/endings",
    "ui/debugger/commands": "debugger/commands",
    "ui/web": "page",
    "ui/web/answers": "page/answers",
    "ui/web/report": "page/report",
    "ui/web/answers/compare": "page/comparing",
    "ui/web/answers/graph": "page/graph",
    "analyze/attention": "insight",
}
# The __init__ that becomes a module of its own: it knows several folders now.
INIT_TO_MODULE = {"diagnose/rules": "diagnose/habits"}
# Folders that have no __init__.py: no package.
NO_INIT = {"inject"}

# Files that are no Python.
FILES = {
    "src/tensorsleuth/demo/README.md": "src/tensorsleuth/demo/README.md",
    "src/tensorsleuth/demo/digits.npz": "src/tensorsleuth/demo/digits.npz",
    "src/tensorsleuth/page/report/report.css": "src/tensorsleuth/ui/web/report/report.css",
}

# The page's build.
STATIC = ("page/static", "ui/web/static")

NATIVE: dict[str, str] = {
    "kernels": """
        attention.cc attention.h change.cc change.h health.cc health.h health_avx2.cc health_decode.h
        health_float8.cc health_lanes.h health_look.h health_portable.cc health_sweep.h measure.cc measure.h
        plain_floats.h row_hash.h rows_look.cc
    """,
    "files": """
        buffers.cc buffers.h ring.cc ring.h rows.h shapes.cc shapes.h threads.cc threads.h values.cc values.h
        op_ends.cc=passed.cc op_ends.h=passed.h
    """,
    "memory": """
        cgroup.cc cgroup.h memory_sampler.cc=sampler.cc memory_sampler.h=sampler.h tensor_lifetimes.cc=births.cc
        tensor_lifetimes.h=births.h
    """,
    "graph": """
        graph_labels.h graph_nodes.h graph_probes.cc graph_probes.h optimizer.cc watched_functions.cc
        watched_functions.h wire.h
    """,
    "ops": """
        checked.cc expect.cc expect.h expect_judge.cc points.cc probe.cc replay_inputs.cc=held.cc
        replay_inputs.h=held.h tf_abi.h tstring.h
    """,
    "eager": """
        eager_hook.cc eager_layer_stats.h=eager_inside.h eager_place.h python_abi.h
    """,
    "observers": """
        breaks.cc breaks.h guard.cc guard.h input_rows.cc input_rows.h layer_stats.cc=inside.cc
        layer_stats.h=inside.h tensor_map.h watches.cc watches.h
    """,
    "": """
        recording.cc=session.cc recording.h=session.h signals.cc tf1_runs.cc=session_runs.cc
        tf1_runs.h=session_runs.h
    """,
}

# Names at module level that get a home of their own: (old module, name) -> (new module, its source).
ARRAY = '''"""The type of NumPy arrays in signatures: rows, columns, values."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
'''

# Tests whose names are those of modules.
TESTS = {
    "tests/unit/test_ground.py": "tests/unit/test_architecture.py",
    "tests/unit/test_calm.py": "tests/unit/test_gc_pause.py",
    "tests/unit/test_grains.py": "tests/unit/test_axis_provenance.py",
    "tests/unit/test_page_whose.py": "tests/unit/test_page_peer_uid.py",
    "tests/unit/test_rundir.py": "tests/unit/test_run_folder.py",
    "tests/unit/test_look_ups.py": "tests/unit/test_key_lookup.py",
    "tests/unit/test_plan.py": "tests/unit/test_size_plan.py",
    "tests/unit/test_token_habits.py": "tests/unit/test_token_rules.py",
    "tests/compat/test_attention_habits.py": "tests/compat/test_attention_rules.py",
    "tests/unit/asked.py": "tests/unit/page_client.py",
    "tests/unit/test_memory_pool.py": "tests/unit/test_onednn_pool.py",
}


def modules() -> dict[str, str]:
    """Old dotted name (without `tensorsleuth.`) -> new one; new modules map from `+new`."""
    found: dict[str, str] = {}
    for folder, text in PYTHON.items():
        for entry in text.split():
            name, _, old = entry.partition("=")
            new = ".".join([*folder.split("/"), name]) if folder else name
            if old == "+":
                continue
            old = old + name if old.endswith(".") or not old else old
            if old in found:
                raise SystemExit(f"{old} has two places: {found[old]}, {new}")
            found[old] = new
    for new, old in INIT_TO_MODULE.items():
        found[old.replace("/", ".")] = new.replace("/", ".")
    return found


def packages() -> dict[str, str]:
    """Old package (dotted) -> new one, of those whose `__init__` moves."""
    return {old.replace("/", "."): new.replace("/", ".") for new, old in INITS.items()}


def native() -> dict[str, str]:
    found: dict[str, str] = {}
    for folder, text in NATIVE.items():
        for entry in text.split():
            new, _, old = entry.partition("=")
            found[old or new] = f"{folder}/{new}" if folder else new
    return found


def check(root: Path) -> list[str]:
    package = root / "src/tensorsleuth"
    there = {
        ".".join(path.relative_to(package).with_suffix("").parts)
        for path in package.rglob("*.py")
        if path.name != "__init__.py"
    }
    known = set(modules()) - {old.replace("/", ".") for old in INIT_TO_MODULE.values()}
    wrong = [f"no place for {name}" for name in sorted(there - known)]
    wrong += [f"there is no {name}" for name in sorted(known - there)]
    for path in package.rglob("__init__.py"):
        old = path.parent.relative_to(package).as_posix().removeprefix(".")
        if path.read_text().strip() and old not in INITS.values() and old not in INIT_TO_MODULE.values():
            wrong.append(f"no place for the __init__ of {old}")
    sources = {path.name for path in (package / "native/src").iterdir() if path.is_file()}
    wrong += [f"no place for native/src/{name}" for name in sorted(sources - set(native()))]
    wrong += [f"there is no native/src/{name}" for name in sorted(set(native()) - sources)]
    wrong += [
        f"no place for {path.relative_to(root)}"
        for path in package.rglob("*.*")
        if path.is_file() and path.parent != package and path.suffix not in (".py", ".pyc", ".cc", ".h", ".so")
        if STATIC[0] not in path.as_posix() and path.relative_to(root).as_posix() not in FILES
    ]
    new = list(modules().values())
    wrong += [f"two modules are to be {name}" for name in sorted({one for one in new if new.count(one) > 1})]
    wrong += [f"{folder}: {len(text.split())} modules" for folder, text in PYTHON.items() if len(text.split()) > 18]
    return wrong


if __name__ == "__main__":
    problems = check(Path(sys.argv[1]))
    print("\n".join(problems) or "every module has one place")
    for folder, text in PYTHON.items():
        print(f"{len(text.split()):3} {folder or '(top)'}")
    sys.exit(bool(problems))
