"""Classifies short product reviews with attention pooling, compiled with XLA."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(31)
rng = np.random.default_rng(31)

VOCAB = 60
LENGTH = 12
PAD = 0


class TokenEmbedding(keras.layers.Layer):
    """Embeds token ids and hands on which of them are real."""

    def __init__(self, vocab, width, **kwargs):
        super().__init__(**kwargs)
        self.table = keras.layers.Embedding(vocab, width)

    def call(self, ids):
        return self.table(ids), tf.not_equal(ids, PAD)


class AttentionPooling(keras.layers.Layer):
    """A learnt weighted mean over the real tokens."""

    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        self.hidden = keras.layers.Dense(width, activation="tanh")
        self.score = keras.layers.Dense(1, use_bias=False)

    def call(self, tokens, keep):
        scores = tf.squeeze(self.score(self.hidden(tokens)), axis=-1)
        scores = tf.where(keep, scores, -np.inf)  # ALSO: masked-row
        weights = tf.nn.softmax(scores, axis=-1)  # BUG: masked-row
        return tf.einsum("bt,btd->bd", weights, tokens)


class ReviewClassifier(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.embed = TokenEmbedding(VOCAB, 16, name="embed")
        self.pool = AttentionPooling(16, name="pool")
        self.head = keras.layers.Dense(1, name="head")

    def call(self, ids):
        tokens, keep = self.embed(ids)
        return self.head(self.pool(tokens, keep))


def make_reviews(n):
    """Token ids padded to LENGTH; the label depends on how many low ids there are."""
    ids = rng.integers(1, VOCAB, size=(n, LENGTH))
    lengths = rng.integers(2, LENGTH + 1, size=n)
    if n > 150:
        lengths[137] = 0  # someone who gave stars but no words
    ids[np.arange(LENGTH)[None, :] >= lengths[:, None]] = PAD
    low = ((ids > 0) & (ids < VOCAB // 2)).sum(axis=1)
    label = (low * 2 > lengths).astype("float32")[:, None]
    return ids.astype("int32"), label


def main():
    ids, label = make_reviews(192)
    model = ReviewClassifier(name="reviews")
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
        jit_compile=True,
    )
    history = model.fit(ids, label, batch_size=16, epochs=3, shuffle=False, verbose=2)
    print("loss by epoch:", [round(float(v), 4) for v in history.history["loss"]])


if __name__ == "__main__":
    main()
