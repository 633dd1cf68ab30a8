"""Trains a tiny detection head with a separate loss for foreground and background anchors."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
ANCHORS, FEATURES = 12, 6


def sample_image(i):
    feats = rng.normal(size=(ANCHORS, FEATURES)).astype("float32")
    labels = (feats[:, 0] + 0.3 * feats[:, 1] > 0.4).astype("float32")
    if i == 9:
        labels[:] = 0.0  # an image without any object
    elif labels.sum() == 0:
        labels[0] = 1.0
    return feats, labels


def anchor_losses(logits, labels):
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)


def balanced_loss(logits, labels):
    losses = anchor_losses(logits, labels)
    positive = tf.boolean_mask(losses, labels > 0.5)
    negative = tf.boolean_mask(losses, labels <= 0.5)
    pos_loss = tf.reduce_mean(positive)  # BUG: empty-mean
    neg_loss = tf.reduce_mean(negative)
    return pos_loss + 3.0 * neg_loss


head = tf.keras.Sequential(
    [
        tf.keras.layers.Dense(8, activation="tanh"),
        tf.keras.layers.Dense(1),
    ]
)
optimizer = tf.keras.optimizers.Adam(0.01)
running = tf.keras.metrics.Mean()

for i in range(15):
    feats, labels = sample_image(i)
    with tf.GradientTape() as tape:
        logits = tf.squeeze(head(feats), axis=-1)
        loss = balanced_loss(logits, labels)
    grads = tape.gradient(loss, head.trainable_variables)
    optimizer.apply_gradients(zip(grads, head.trainable_variables))
    running.update_state(loss)
    print(f"image {i:2d} loss {float(loss):.4f} running {float(running.result()):.4f}")
