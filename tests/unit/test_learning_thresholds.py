"""Thresholds of the rules of training, on made-up samples."""

from __future__ import annotations

import numpy as np
import pytest

from tensorsleuth.core.catalog import FailedCall
from tensorsleuth.diagnose.attention.masks import masked_rows
from tensorsleuth.diagnose.graph.position_table import _POSITION_INDEX, PositionOverrun, _sample_length
from tensorsleuth.diagnose.training.gradients import exploding_gradients
from tensorsleuth.diagnose.training.loss import flat_loss
from tensorsleuth.diagnose.training.optimizer import UpdateNorms
from tensorsleuth.diagnose.training.weights import step_length

STEPS = np.array([0, 1, 2, 4, 8, 16, 32, 64, 100])


def pace(gradient: float | np.ndarray, ratio: float | np.ndarray) -> UpdateNorms:
    weight = np.full(len(STEPS), 4.0)
    return UpdateNorms(STEPS, np.ones(len(STEPS)) * gradient, weight * ratio, weight)


@pytest.mark.parametrize(
    ("gradient", "ratio", "explodes"),
    [
        (4.0 ** np.arange(9), 3.0, True),
        (4.0 ** np.arange(9), 0.01, False),  # clipped, or Adam
        (np.array([1, 1, 1, 1, 1, 1, 1, 1, 1e6]), 3.0, False),  # a single spike
        (np.array([1, 1, 1, 1, 1, 1, 1e6, 1e4, 1e3]), 3.0, False),  # comes back
        (1.0, 3.0, False),
        (np.append(4.0 ** np.arange(8), np.nan), 3.0, False),  # the origin of the bad value explains this
    ],
)
def test_gradients_explode_where_steps_throw_the_weights(
    gradient: float | np.ndarray, ratio: float, explodes: bool
) -> None:
    assert exploding_gradients._explodes(pace(gradient, ratio)) is explodes


def test_slow_is_at_every_look() -> None:
    assert flat_loss._is_slow(pace(1.0, 9e-8))
    assert not flat_loss._is_slow(pace(1.0, np.append(np.full(8, 9e-8), 1e-5)))  # the end of a warm-up


def test_a_loss_stays_where_only_batches_move_it() -> None:
    noise = np.random.default_rng(1).normal(0, 0.1, 400)
    assert flat_loss.is_flat(2.0 + noise)
    assert not flat_loss.is_flat(2.0 + noise - np.linspace(0, 0.5, 400))
    assert flat_loss.is_flat(np.full(400, 2.0))


def test_nothing_is_left_to_learn_where_gradients_are_small_beside_the_loss() -> None:
    assert flat_loss.has_to_learn(pace(0.1, 1e-9), np.full(400, 2.0))
    assert not flat_loss.has_to_learn(pace(1e-3, 1e-9), np.full(400, 2.0))


@pytest.mark.parametrize(
    ("last", "fall", "stuck"), [(2.0, 0.0, True), (2.0, 1.0, False), (0.1, 0.0, False), (6.0, -1.0, True)]
)
def test_a_loss_is_stuck_if_it_is_far_from_zero_and_falls_no_more(last: float, fall: float, stuck: bool) -> None:
    noise = np.random.default_rng(1).normal(0, 0.02, 400)
    losses = np.append(4.0, last + np.linspace(fall, 0, 400) + noise)
    assert step_length._is_stuck(losses) is stuck


def test_steps_are_too_short_if_all_of_them_lead_nowhere() -> None:
    flat = 2.0 + np.random.default_rng(1).normal(0, 0.1, 400)
    assert step_length._is_too_short(pace(0.1, 1e-6), flat)
    assert not step_length._is_too_short(pace(0.1, 1e-5), flat)
    assert not step_length._is_too_short(pace(0.1, 1e-6), flat[:90])
    assert not step_length._is_too_short(pace(1e-3, 1e-6), flat)  # nothing is left to learn


def causal(own: bool, padding: int = 0) -> np.ndarray:
    """Weights [2, 2, 6, 6] of a mask that hides later keys, each its own where asked to, and the first as padding."""
    place, scores = np.arange(6), np.random.default_rng(2).normal(size=(2, 2, 6, 6))
    seen = (place[:, None] >= place if own else place[:, None] > place) & (place >= padding)
    weights = np.exp(np.where(seen, scores, -1e9) - np.where(seen, scores, -1e9).max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), np.float32)


def test_rows_are_covered_where_all_keys_get_the_same_and_others_look_there() -> None:
    assert masked_rows._covered(causal(own=False)).tolist() == [True, *[False] * 5]
    assert not masked_rows._covered(causal(own=True)).any()
    assert not masked_rows._covered(causal(own=True, padding=2)).any()  # nothing attends to padding on the left
    assert not masked_rows._covered(np.full((2, 2, 6, 6), 1 / 6, np.float32)).any()  # nothing is masked at all


@pytest.mark.parametrize(
    ("message", "counted"),
    [
        ("indices[24] = 24 is not in [0, 24)", True),
        ("indices[0,24] = 24 is not in [0, 24)", True),
        ("indices[3,17] = 4031 is not in [0, 4000)", False),  # an id
        ("indices[2] = 24 is not in [0, 24)", False),  # an id that is one too large
        ("indices[24] = 24 is not in [0, 20)", False),
    ],
)
def test_positions_count_up_to_the_end_of_their_table(message: str, counted: bool) -> None:
    assert bool(_POSITION_INDEX.search(message)) is counted


def test_how_long_a_table_of_positions_has_to_be() -> None:
    fed = ("float32 [4, 90], 0 … 1", "int32 [16, 30], 0 … 39", "int64 [16, 8], 0 … 4", "int32 [50], 0 … 3")
    assert _sample_length(FailedCall(1, 1, "InvalidArgumentError", "", fed)) == 30
    assert (
        "30 tokens" in PositionOverrun(24, 30, "places").words
        and "at least 30 rows" in PositionOverrun(24, 30, "places").fix
    )
    assert "tokens" not in PositionOverrun(24, 25, None).words
