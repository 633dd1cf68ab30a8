"""Trains a rare-event detector with a focal loss that is switched on by tf.cond."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(227)
rng = np.random.default_rng(227)

net = tf.keras.Sequential(
    [
        tf.keras.layers.Input((6,)),
        tf.keras.layers.Dense(12, activation="relu"),
        tf.keras.layers.Dense(1),
    ]
)
optimizer = tf.keras.optimizers.Adam(0.01)


def plain_loss(labels, logits):
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))


def focal_loss(labels, logits, gamma=0.5):
    p = tf.nn.sigmoid(logits)
    p_true = labels * p + (1.0 - labels) * (1.0 - p)
    modulation = tf.pow(1.0 - p_true, gamma)  # BUG: grad-pow-zero
    ce = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(modulation * ce)


@tf.function
def train_step(x, y, step):
    with tf.GradientTape() as tape:
        logits = tf.squeeze(net(x), axis=1)
        loss = tf.cond(step < 6, lambda: plain_loss(y, logits), lambda: focal_loss(y, logits))
    grads = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(grads, net.trainable_variables))
    return loss


def make_batch(step):
    x = rng.normal(size=(32, 6)).astype("float32")
    y = (x[:, 0] > 1.0).astype("float32")
    if step == 10:
        x[0] *= 400.0  # an easy, extreme example
        y[0] = float(tf.squeeze(net(x[:1])) > 0)
    return tf.constant(x), tf.constant(y)


for step in range(14):
    loss = train_step(*make_batch(step), tf.constant(step))
    print(f"step {step:2d} loss {loss.numpy():.5f}")
