"""Predicts what a bakery sells in a day from its number, the weekday and the weather, on a device that likes halves."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(976)
rng = np.random.default_rng(976)
SHOPS, ROOM, WIDTH = 1000, 1024, 8

shop_table = tf.Variable(0.1 * rng.standard_normal((ROOM, WIDTH)).astype("float32"), name="shops")
weights = tf.Variable(0.1 * rng.standard_normal((WIDTH + 2, 1)).astype("float32"), name="weights")
habit = rng.normal(size=SHOPS)


def days(n):
    shop, weekday, sun = rng.integers(0, SHOPS, n), rng.integers(0, 7, n), rng.random(n)
    sold = habit[shop] + 0.1 * weekday + sun
    return np.stack([shop, weekday, sun], axis=1).astype("float32"), sold.astype("float32")


@tf.function
def train_step(rows, sold):
    shop = tf.cast(rows[:, 0], tf.int32)
    rows = tf.cast(rows, tf.bfloat16)
    with tf.GradientTape() as tape:
        known = tf.gather(shop_table, shop)
        features = tf.concat([known, tf.cast(rows[:, 1:], tf.float32)], axis=1)
        loss = tf.reduce_mean(tf.square(tf.matmul(features, weights)[:, 0] - sold))
    for variable, gradient in zip((shop_table, weights), tape.gradient(loss, (shop_table, weights))):
        variable.assign_sub(0.02 * tf.convert_to_tensor(gradient))
    return loss


for step in range(60):
    rows, sold = days(256)
    loss = train_step(tf.constant(rows), tf.constant(sold))
    if step % 20 == 19:
        print(f"step {step + 1} loss {float(loss):.4f}")
