"""Projects compound growth of several portfolios over a long horizon."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(33)
PORTFOLIOS, HORIZON = 5, 360
DRIFT = np.array([0.02, 0.05, 0.10, 0.35, 0.03], dtype="float32")


def simulate_rates():
    noise = rng.normal(scale=0.02, size=(PORTFOLIOS, HORIZON)).astype("float32")
    return tf.constant(DRIFT[:, None] + noise)


def growth_path(rates):
    return tf.math.cumprod(1.0 + rates, axis=1)  # BUG: cumprod-overflow


def drawdown(path):
    peak = tf.scan(tf.maximum, tf.transpose(path))
    return tf.reduce_max(1.0 - tf.transpose(path) / peak, axis=0)


@tf.function
def report(rates, capital):
    path = growth_path(rates) * capital[:, None]
    return {
        "final": path[:, -1],
        "drawdown": drawdown(path),
        "share": path[:, -1] / tf.reduce_sum(path[:, -1]),
    }


capital = tf.constant([100.0, 50.0, 20.0, 10.0, 80.0])
summary = report(simulate_rates(), capital)
for i in range(PORTFOLIOS):
    print(
        f"portfolio {i}: final {summary['final'][i].numpy():.3e} "
        f"drawdown {summary['drawdown'][i].numpy():.3f} share {summary['share'][i].numpy():.3f}"
    )
print("mean drawdown", float(tf.reduce_mean(summary["drawdown"])))
