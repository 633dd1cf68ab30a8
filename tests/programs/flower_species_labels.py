"""Trains a three-species flower classifier from a CSV-like table with a low-level loop."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(163)
rng = np.random.default_rng(163)
CLASSES = 3


def read_table(n=90):
    species = rng.integers(0, 3, size=n)
    measurements = rng.normal(size=(n, 4)) + species[:, None]
    rows = [f"{','.join(f'{m:.2f}' for m in row)},{s}" for row, s in zip(measurements, species)]
    rows[70] = "5.10,3.20,1.40,0.20,3"  # hybrid, entered by hand
    return rows


def parse(line):
    fields = tf.io.decode_csv(line, record_defaults=[0.0, 0.0, 0.0, 0.0, 0])
    return tf.stack(fields[:4]), fields[4]


def classification_loss(labels, logits):
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)  # BUG: label-out-of-range
    return tf.reduce_mean(losses)


w = tf.Variable(tf.random.normal([4, CLASSES], stddev=0.1))
b = tf.Variable(tf.zeros([CLASSES]))
optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = classification_loss(y, tf.matmul(x, w) + b)
    optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))
    return loss


dataset = tf.data.Dataset.from_tensor_slices(read_table()).map(parse).batch(15)
for step, (x, y) in enumerate(dataset):
    print(f"step {step} loss {train_step(x, y).numpy():.4f}")
