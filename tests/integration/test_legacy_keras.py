"""`tf.keras` is tf-keras where TF_USE_LEGACY_KERAS says so: under `sleuth run`, unedited."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import tensorflow as tf
assert "tf_keras" in tf.keras.layers.Layer.__module__
class Share(tf.keras.layers.Layer):
    def call(self, x):
        return x / tf.reduce_sum(x, axis=-1, keepdims=True)
tf.keras.utils.set_random_seed(1)
inputs = tf.keras.Input((3,))
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(Share(name="share")(inputs)), name="shop")
model.compile("sgd", "mse")
sales = np.ones((32, 3), "float32")
sales[29] = 0.0
model.fit(sales, sales[:, :1], batch_size=4, epochs=2, shuffle=False, verbose=0)
"""


@pytest.mark.skipif(importlib.util.find_spec("tf_keras") is None, reason="tf-keras is not installed")
@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="TensorFlow is not installed")
def test_legacy_keras(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(PROGRAM)
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    sleuth = [sys.executable, "-m", "tensorsleuth.cli.main"]
    run = subprocess.run(
        [*sleuth, "run", "--quiet", "--logdir", "runs", "shop.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    why = subprocess.run([*sleuth, "why", "--json", "--logdir", "runs"], cwd=tmp_path, capture_output=True, text=True)
    finding = json.loads(why.stdout)["findings"][0]
    assert (finding["cause"], finding["line"]) == ("zero-over-zero", 7)
    assert (finding["layer"], finding["epoch"], finding["batch"]) == ("shop/share", 0, 7)
