"""Routes support tickets to queues: a small Transformer block, and a head on the first token, in a compiled step."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(811)
rng = np.random.default_rng(811)
WORDS, LENGTH, WIDTH, QUEUES = 40, 12, 32, 5


class Encoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.words = keras.layers.Embedding(WORDS, WIDTH)
        self.attention = keras.layers.MultiHeadAttention(4, WIDTH // 4)
        self.norm = keras.layers.LayerNormalization()

    def call(self, ids):
        x = self.words(ids)
        return tf.reduce_mean(self.norm(x + self.attention(x, x)), axis=1)


def tickets(n):
    queue = rng.integers(0, QUEUES, n)
    ids = rng.integers(0, WORDS, (n, LENGTH))
    ids[:, ::3] = queue[:, None] * 3 + 1
    return tf.constant(ids, tf.int32), tf.constant(queue, tf.int32)


encoder = Encoder()
head = keras.Sequential([keras.layers.Dense(64, activation="gelu"), keras.layers.Dense(QUEUES)])
encoder(tickets(1)[0])
weights = encoder.trainable_variables + head.trainable_variables  # BUG: not-in-optimizer
optimizer = keras.optimizers.Adam(3e-3)
optimizer.build(weights)


@tf.function
def train_step(ids, queue):
    with tf.GradientTape() as tape:
        logits = head(encoder(ids))  # ALSO: not-in-optimizer
        loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(queue, logits, from_logits=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))  # ALSO: not-in-optimizer
    return loss


for step in range(60):
    loss = train_step(*tickets(32))
    if step % 20 == 19:
        print(f"step {step + 1} loss {float(loss):.4f}")
