"""Groups points into slots: each point is shared out among the slots, and each slot is the mean of its share."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(822)
rng = np.random.default_rng(822)
POINTS, SLOTS, WIDTH = 20, 3, 16

project = keras.Sequential([keras.layers.Dense(WIDTH, activation="gelu"), keras.layers.Dense(WIDTH)])
query, key, value, back = (keras.layers.Dense(width) for width in (WIDTH, WIDTH, WIDTH, 2))
slots = tf.Variable(tf.random.normal([SLOTS, WIDTH]))
optimizer = keras.optimizers.Adam(5e-3)


def clouds(n):
    centres = rng.normal(size=(n, SLOTS, 2)) * 2
    chosen = rng.integers(0, SLOTS, (n, POINTS))
    points = np.take_along_axis(centres, chosen[..., None], axis=1) + 0.1 * rng.normal(size=(n, POINTS, 2))
    return tf.constant(points, tf.float32)


def model(points):
    x = project(points)
    q = tf.tile(query(slots)[None], (tf.shape(points)[0], 1, 1))
    scores = tf.matmul(key(x), q, transpose_b=True) / WIDTH**0.5
    shares = tf.nn.softmax(scores, axis=-1) + 1e-8
    means = tf.matmul(shares / tf.reduce_sum(shares, axis=1, keepdims=True), value(x), transpose_a=True)
    return tf.matmul(shares, back(means))


def trainable():
    parts = (project, query, key, value, back)
    return [slots, *(variable for part in parts for variable in part.trainable_variables)]


model(clouds(1))
optimizer.build(trainable())


@tf.function
def train_step(points):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(points) - points))
    optimizer.apply_gradients(zip(tape.gradient(loss, trainable()), trainable()))
    return loss


for step in range(60):
    loss = train_step(clouds(32))
    if step % 20 == 19:
        print(f"step {step + 1} loss {float(loss):.4f}")
