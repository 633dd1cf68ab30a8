"""Fits a log-linear model to event counts by minimising the Poisson deviance."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(0)
rng = np.random.default_rng(0)

N, D = 256, 4
X = rng.normal(size=(N, D)).astype("float32") * 0.3
true_w = np.array([0.5, -0.4, 0.2, 0.1], dtype="float32")
counts = rng.poisson(np.exp(X @ true_w + 2.2)).astype("float32")
counts[counts == 0] = 1
counts[170] = 0  # a quiet day

weights = tf.Variable(tf.zeros([D, 1]), name="weights")
intercept = tf.Variable(1.0, name="intercept")
optimizer = tf.keras.optimizers.SGD(0.01)


def rate(x):
    return tf.exp(tf.squeeze(tf.matmul(x, weights), -1) + intercept)


def poisson_deviance(y, mu):
    ratio = tf.math.log(y / mu)  # BUG: log-zero
    unit = y * ratio - (y - mu)
    return 2.0 * tf.reduce_mean(unit)


@tf.function
def evaluate(x, y):
    return poisson_deviance(y, rate(x))


@tf.function
def fit_batch(x, y):
    with tf.GradientTape() as tape:
        loss = poisson_deviance(y, rate(x))
    variables = [weights, intercept]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


batches = tf.data.Dataset.from_tensor_slices((X, counts)).batch(32)
for epoch in range(3):
    for xb, yb in batches:
        loss = fit_batch(xb, yb)
    print(f"epoch {epoch}: last batch deviance {loss.numpy():.4f}")
print("first 64 rows:", evaluate(X[:64], counts[:64]).numpy())
