"""Chooses items with a pointer network whose padded slots get very negative logits."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(317)
rng = np.random.default_rng(317)
SLOTS, DIM = 10, 4
VERY_NEGATIVE = -1e9

projection = tf.Variable(tf.random.normal([DIM, 1], stddev=0.2))
optimizer = tf.keras.optimizers.Adam(0.05)


def make_batch(n=16):
    items = rng.normal(size=(n, SLOTS, DIM)).astype("float32")
    sizes = rng.integers(2, SLOTS + 1, size=n)
    mask = (np.arange(SLOTS)[None] < sizes[:, None]).astype("float32")
    best = np.argmax(np.where(mask > 0, items[:, :, 0], -np.inf), axis=1)
    return items, mask, best.astype("int32")


def pointer_logits(items, mask):
    logits = tf.squeeze(tf.matmul(items, projection), axis=-1)
    return logits * mask + VERY_NEGATIVE * (1.0 - mask)


@tf.function
def train_step(items, mask, best):
    with tf.GradientTape() as tape:
        logits = pointer_logits(items, mask)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=best, logits=logits))
    optimizer.apply_gradients([(tape.gradient(loss, projection), projection)])
    hit = tf.equal(tf.argmax(logits, axis=1, output_type=tf.int32), best)
    return loss, tf.reduce_mean(tf.cast(hit, tf.float32))


for step in range(40):
    loss, accuracy = train_step(*make_batch())
    if step % 10 == 9:
        print(f"step {step + 1} loss {loss.numpy():.4f} accuracy {accuracy.numpy():.2f}")
