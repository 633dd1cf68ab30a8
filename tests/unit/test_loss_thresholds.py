"""Thresholds of the rules of losses and gradients, on made-up samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.test_learning_thresholds import pace

from tensorsleuth.diagnose.training.gradients import zero_gradients
from tensorsleuth.diagnose.training.loss import logits_as_probabilities, loss_rose
from tensorsleuth.diagnose.training.weights import learning_rate_too_high

rng = np.random.default_rng(3)


@pytest.mark.parametrize(
    ("ratio", "thrown"),
    [
        (np.array([1.5, 0.6, 0.4, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005]), True),  # Adam: weights grow, steps do not
        (np.full(9, 0.06), True),  # all the way
        (np.array([0.3, 0.2, 0.09, *[0.01] * 6]), False),
        (np.full(9, 0.005), False),
    ],
)
def test_weights_are_thrown_by_the_first_steps_or_by_all(ratio: np.ndarray, thrown: bool) -> None:
    assert learning_rate_too_high._moves_too_far(pace(1.0, ratio)) is thrown


def curve(first: float, early: float, end: float, noise: float = 0.05) -> np.ndarray:
    """A loss that goes to `early` after its first step, and from there to `end`."""
    rest = end + (early - end) * np.exp(-np.arange(149) / 10)
    return np.append(first, rest * np.exp(noise * rng.normal(size=149)))


@pytest.mark.parametrize(
    ("losses", "jumps", "no_better"),
    [
        (curve(0.57, 35.0, 0.56), True, True),
        (curve(1.5, 4000.0, 1300.0, noise=0.8), True, True),
        (curve(1.6, 50.0, 0.8), True, False),  # it came down after all
        (np.append(3.4, np.geomspace(1300.0, 20.0, 119)), True, False),  # it still comes back
        (curve(1.6, 1.7, 1.6), False, True),  # nothing was learned, but the weights did not jump either
        (curve(0.3, 1.0, 1.0, noise=2.2), False, True),  # single samples: the first was an easy one
        (np.append(curve(0.57, 35.0, 0.56), np.nan), False, False),  # the origin of the bad value explains this
        (curve(0.1, 3.0, 0.1) - 1.0, False, False),  # there is no finding for a loss that may be negative
    ],
)
def test_the_loss_jumps_by_more_than_it_varies(losses: np.ndarray, jumps: bool, no_better: bool) -> None:
    assert learning_rate_too_high._jumps(losses) is jumps
    assert not jumps or learning_rate_too_high._is_no_better(losses) is no_better


def noisy(losses: np.ndarray, noise: float, seed: int) -> np.ndarray:
    return np.append(losses[0], losses[1:] * np.exp(noise * np.random.default_rng(seed).normal(size=len(losses) - 1)))


@pytest.mark.parametrize("seed", range(20))
def test_noise_does_not_decide_whether_a_loss_comes_back(seed: int) -> None:
    falls = np.append(3.4, np.geomspace(1300.0, 20.0, 119))
    stays = np.append(3.4, np.linspace(1300.0, 900.0, 119))
    assert not learning_rate_too_high._is_no_better(noisy(falls, 0.5, seed))  # the tenths do not fall one by one
    assert learning_rate_too_high._is_no_better(noisy(stays, 0.5, seed))
    level = noisy(np.full(120, 3.4), 0.3, seed)
    assert learning_rate_too_high._comes_back(level) is False  # chance is no pace


@pytest.mark.parametrize(("last", "comes_back"), [(2.2, True), (2.6, False)])
def test_a_loss_comes_back_where_as_many_steps_again_would_bring_it_down(last: float, comes_back: bool) -> None:
    quarters = np.repeat([1.0, 4.0, 3.0, last], 25)  # 2.2 * (2.2 / 3) ** 4 = 0.64, 2.6 * (2.6 / 3) ** 4 = 1.5
    assert learning_rate_too_high._comes_back(quarters) is comes_back


@pytest.mark.parametrize("zeros", [[], [19], [57, 58, 59, 63], [88, 95], [86, 88, 90, 92, 94]])
def test_batches_whose_loss_is_0_do_not_hide_a_jump(zeros: list[int]) -> None:
    losses = noisy(np.append(1.77, np.full(95, 1000.0)), 0.8, 5)  # logits so large that right answers have no loss
    losses[zeros] = 0.0
    assert learning_rate_too_high._jumps(losses) and learning_rate_too_high._is_no_better(losses)


def test_a_loss_that_is_0_at_the_start_or_mostly_does_not_jump() -> None:
    assert not learning_rate_too_high._jumps(np.append(0.0, np.full(99, 3.0)))  # no reward yet
    assert not learning_rate_too_high._jumps(np.append(1.0, np.zeros(99)))


@pytest.mark.parametrize(
    ("losses", "left"),
    [
        (np.full(100, 39.8), True),
        (np.linspace(1.3, 0.0, 100), False),  # a hinge that is met has no gradient
        (np.zeros(100), False),  # no reward yet
        (np.linspace(2.0, 0.4, 100), False),
        (np.append(np.full(99, 2.0), np.inf), False),
    ],
)
def test_something_is_left_to_learn_where_the_loss_is_up(losses: np.ndarray, left: bool) -> None:
    assert zero_gradients._can_learn(losses) is left


class _Series:
    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)


def gradient(*zeros: int) -> Any:
    """Of 6 numbers; how many are zero at each look."""
    return _Series(np.array([(one, 6) for one in zeros], [("zero", "u4"), ("elements", "u4")]))


def test_zeros_are_counted_from_the_last_look_back_and_in_all() -> None:
    assert zero_gradients._zero_samples([gradient(6, 6, 6), gradient(6, 6, 6)]) == 3
    assert zero_gradients._zero_samples([gradient(0, 6, 6), gradient(6, 6, 6)]) == 2
    assert zero_gradients._zero_samples([gradient(6, 6, 6), gradient(6, 6, 5)]) == 0
    assert zero_gradients._zero_samples([]) == 0


def test_probabilities_are_between_0_and_1_and_shares_of_one_sign() -> None:
    rows = np.array([(0, 1), (-1e-6, 1 + 1e-6), (-0.2, 0.4), (0.1, 3.0), (-3.0, -1.0)], [("min", "f4"), ("max", "f4")])
    assert logits_as_probabilities._outside(rows, False).tolist() == [False, False, True, True, True]
    assert logits_as_probabilities._outside(rows, True).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize(
    ("start", "end", "noise", "rises"),
    [
        (12.0, 30.0, 1.0, True),
        (12.0, 13.0, 0.1, False),  # by less than a fifth
        (1.0, 1.5, 2.0, False),  # by less than chance
        (30.0, 12.0, 1.0, False),
        (-2.0, 2.0, 0.1, False),  # no distance from a goal
    ],
)
def test_a_loss_rises_by_more_than_chance(start: float, end: float, noise: float, rises: bool) -> None:
    drawn = np.random.default_rng(8).normal(size=200)
    losses = np.linspace(start, end, 200) + noise * drawn
    assert loss_rose._rises(losses if start < 0 else np.abs(losses)) is rises
