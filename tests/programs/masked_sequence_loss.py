"""Trains a tagger on padded sequences, averaging the loss over real tokens only."""

import numpy as np
import tensorflow as tf

tf.random.set_seed(1)
rng = np.random.default_rng(1)
VOCAB, TAGS, LENGTH, BATCH = 30, 4, 10, 4


def make_corpus(n=40):
    tokens = rng.integers(1, VOCAB, size=(n, LENGTH))
    for row in tokens:
        row[rng.integers(3, LENGTH) :] = 0
    tokens[20:24] = 0  # four blank lines in the file
    return tokens.astype("int32"), (tokens % TAGS).astype("int32")


class Tagger(tf.Module):
    def __init__(self):
        self.embedding = tf.Variable(tf.random.normal([VOCAB, 8], stddev=0.1))
        self.kernel = tf.Variable(tf.random.normal([8, TAGS], stddev=0.1))
        self.bias = tf.Variable(tf.zeros([TAGS]))

    def __call__(self, tokens):
        return tf.nn.embedding_lookup(self.embedding, tokens) @ self.kernel + self.bias


def masked_mean(values, mask):
    mask = tf.cast(mask, values.dtype)
    return tf.reduce_sum(values * mask) / tf.reduce_sum(mask)  # BUG: empty-mean


def sequence_loss(logits, tags, tokens):
    per_token = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tags, logits=logits)
    return masked_mean(per_token, tokens != 0)


model = Tagger()
optimizer = tf.keras.optimizers.Adam(0.01)


@tf.function
def train_step(tokens, tags):
    with tf.GradientTape() as tape:
        loss = sequence_loss(model(tokens), tags, tokens)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


dataset = tf.data.Dataset.from_tensor_slices(make_corpus()).batch(BATCH)
for step, (tokens, tags) in enumerate(dataset):
    print(f"step {step} loss {train_step(tokens, tags).numpy():.4f}")
