"""Scores map tiles that come in at random; features of a tile are computed once and looked up after that."""

import tensorflow as tf

tf.random.set_seed(2)
kernel = tf.Variable(tf.random.normal([256, 128], stddev=0.1))
score = tf.Variable(tf.random.normal([128, 1], stddev=0.1))
cache = {}


def features_of(tile, pixels):
    key = (tile, pixels.ref())
    if key not in cache:
        cache[key] = tf.tanh(pixels @ kernel)  # BUG: kept-tensors
    return cache[key]


for step in range(40):
    tile = step % 8
    pixels = tf.random.stateless_normal([200, 256], seed=[tile, 7])
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(features_of(tile, pixels) @ score - 1.0))
    score.assign_sub(0.1 * tape.gradient(loss, score))
print(f"loss {float(loss):.4f}")
