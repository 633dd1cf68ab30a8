"""Trains a bag-of-vectors topic tagger with word dropout in a compiled step."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(57)
rng = np.random.default_rng(57)

VOCAB, WIDTH, TOPICS, LENGTH, BATCH = 80, 24, 4, 20, 32
WORD_DROPOUT = 0.4


def make_documents(n=384):
    topic = rng.integers(0, TOPICS, size=n)
    lengths = rng.integers(8, LENGTH + 1, size=n)
    short = rng.random(n) < 0.04  # titles only
    lengths[short] = rng.integers(1, 3, size=short.sum())
    ids = rng.integers(0, VOCAB // TOPICS, size=(n, LENGTH)) * TOPICS + topic[:, None]
    noise = rng.random(ids.shape) < 0.3
    ids[noise] = rng.integers(0, VOCAB, size=noise.sum())
    present = (np.arange(LENGTH)[None, :] < lengths[:, None]).astype("float32")
    return ids.astype("int32"), present, topic.astype("int32")


def drop_words(present, seed):
    """Hides some of the words of each document."""
    coin = tf.random.stateless_uniform(tf.shape(present), seed=seed)
    return present * tf.cast(coin >= WORD_DROPOUT, present.dtype)


class Tagger(keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding = keras.layers.Embedding(VOCAB, WIDTH)
        self.hidden = keras.layers.Dense(32, activation="relu")
        self.dropout = keras.layers.Dropout(0.3)
        self.out = keras.layers.Dense(TOPICS)

    def call(self, inputs, training=False):
        ids, present = inputs
        vectors = self.embedding(ids) * present[..., None]
        counts = tf.reduce_sum(present, axis=1, keepdims=True)
        mean = tf.reduce_sum(vectors, axis=1) / counts  # BUG: empty-mean
        hidden = self.dropout(self.hidden(mean), training=training)
        return self.out(hidden)


model = Tagger()
model((tf.zeros((1, LENGTH), tf.int32), tf.ones((1, LENGTH))))
optimizer = keras.optimizers.Adam(0.01)
optimizer.build(model.trainable_variables)


@tf.function(jit_compile=True)
def train_step(ids, present, topic, seed):
    with tf.GradientTape() as tape:
        kept = drop_words(present, seed)  # ALSO: empty-mean
        logits = model((ids, kept), training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=topic, logits=logits))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def main():
    ids, present, topic = make_documents()
    data = tf.data.Dataset.from_tensor_slices((ids, present, topic)).batch(BATCH, drop_remainder=True)
    step = 0
    for epoch in range(3):
        losses = []
        for batch in data:
            seed = tf.constant([epoch, step], tf.int32)
            losses.append(float(train_step(*batch, seed)))
            step += 1
        print(f"epoch {epoch}: loss {np.mean(losses):.4f}, first {losses[0]:.4f}, last {losses[-1]:.4f}")


if __name__ == "__main__":
    main()
