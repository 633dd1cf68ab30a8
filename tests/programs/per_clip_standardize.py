"""Standardises variable-length clips with map_fn and trains on their statistics."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(223)
CLIPS, LENGTH = 24, 20


def make_clips():
    clips = rng.normal(size=(CLIPS, LENGTH)).astype("float32")
    clips[15] = 0.25  # microphone unplugged
    return tf.constant(clips)


def standardize(clip):
    mean = tf.reduce_mean(clip)
    std = tf.math.reduce_std(clip)
    return (clip - mean) / std  # BUG: zero-over-zero


@tf.function
def preprocess(clips):
    return tf.map_fn(standardize, clips, parallel_iterations=1)


def spectral_features(clips):
    spectrum = tf.abs(tf.signal.rfft(clips))
    return spectrum / (1.0 + tf.reduce_max(spectrum, axis=1, keepdims=True))


clips = preprocess(make_clips())
features = spectral_features(clips)
target = tf.constant(rng.normal(size=(CLIPS, 1)), tf.float32)
w = tf.Variable(tf.zeros([LENGTH // 2 + 1, 1]))
for step in range(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(features @ w - target))
    w.assign_sub(0.1 * tape.gradient(loss, w))
    print(f"step {step} loss {float(loss):.4f}")
