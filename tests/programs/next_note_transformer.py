"""Trains a tiny decoder on note sequences, with a compiled training step."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(19)
rng = np.random.default_rng(19)

NOTES, LENGTH, WIDTH, HEADS, BATCH = 14, 16, 32, 4, 16
PAD = 0


def attention_mask(ids):
    """0 where a position may look, -inf where it may not."""
    causal = tf.linalg.band_part(tf.ones((LENGTH, LENGTH)), -1, 0) > 0
    real = (ids != PAD)[:, None, :]
    allowed = causal[None] & real
    return tf.where(allowed, 0.0, float("-inf"))[:, None]


class CausalAttention(keras.layers.Layer):
    def __init__(self, width, heads, **kwargs):
        super().__init__(**kwargs)
        self.heads, self.depth = heads, width // heads
        self.qkv = keras.layers.Dense(3 * width, use_bias=False)
        self.out = keras.layers.Dense(width)
        self.dropout = keras.layers.Dropout(0.1)

    def split(self, x):
        x = tf.reshape(x, (-1, LENGTH, self.heads, self.depth))
        return tf.transpose(x, (0, 2, 1, 3))

    def call(self, x, mask, training=False):
        q, k, v = (self.split(part) for part in tf.split(self.qkv(x), 3, axis=-1))
        scores = tf.matmul(q, k, transpose_b=True) / self.depth**0.5 + mask
        weights = self.dropout(tf.nn.softmax(scores, axis=-1), training=training)
        mixed = tf.transpose(tf.matmul(weights, v), (0, 2, 1, 3))
        return self.out(tf.reshape(mixed, (-1, LENGTH, self.heads * self.depth)))


class Decoder(keras.Model):
    def __init__(self):
        super().__init__()
        self.notes = keras.layers.Embedding(NOTES, WIDTH)
        self.places = keras.layers.Embedding(LENGTH, WIDTH)
        self.norm1 = keras.layers.LayerNormalization()
        self.attention = CausalAttention(WIDTH, HEADS)
        self.norm2 = keras.layers.LayerNormalization()
        self.ffn = keras.Sequential([keras.layers.Dense(64, activation="gelu"), keras.layers.Dense(WIDTH)])
        self.logits = keras.layers.Dense(NOTES)

    def call(self, ids, training=False):
        x = self.notes(ids) + self.places(tf.range(LENGTH))
        x = x + self.attention(self.norm1(x), attention_mask(ids), training=training)
        x = x + self.ffn(self.norm2(x))
        return self.logits(x)


def make_tunes(n=160):
    start = rng.integers(0, NOTES - 1, size=(n, 1))
    stride = rng.integers(1, 4, size=(n, 1))
    tunes = (start + stride * np.arange(LENGTH + 1)) % (NOTES - 1) + 1
    lengths = rng.integers(4, LENGTH + 2, size=(n, 1))
    tunes[np.arange(LENGTH + 1)[None] >= lengths] = PAD
    return tunes.astype("int32")


model = Decoder()
model(tf.ones((1, LENGTH), tf.int32))
optimizer = keras.optimizers.Adam(3e-3, clipnorm=1.0)
optimizer.build(model.trainable_variables)


@tf.function(jit_compile=True)
def train_step(tunes):
    ids, target = tunes[:, :-1], tunes[:, 1:]
    with tf.GradientTape() as tape:
        logits = model(ids, training=True)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)
        real = tf.cast(target != PAD, tf.float32)
        loss = tf.reduce_sum(loss * real) / tf.reduce_sum(real)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


tunes = make_tunes()
for epoch in range(4):
    for begin in range(0, len(tunes), BATCH):
        loss = train_step(tf.constant(tunes[begin : begin + BATCH]))
    print(f"epoch {epoch}: loss {float(loss):.4f}")
