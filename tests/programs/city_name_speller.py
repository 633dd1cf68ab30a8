"""Spells the names of cities letter by letter; the letters of the input are also the classes of the output."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(931)
rng = np.random.default_rng(931)
LETTERS, LENGTH, WIDTH = 28, 12, 24

embed = keras.layers.Embedding(LETTERS, WIDTH)
places = keras.layers.Embedding(LENGTH, WIDTH)
attention = keras.layers.MultiHeadAttention(2, 12)
norm = keras.layers.LayerNormalization()
output = keras.layers.Dense(LETTERS, use_bias=False)
layers = [embed, places, attention, norm, output]
optimizer = keras.optimizers.Adam(3e-3)


def model(letters):
    x = embed(letters) + places(tf.range(LENGTH))
    x = norm(x + attention(x, x, use_causal_mask=True))
    return output(x)


def trainable():
    return [variable for layer in layers for variable in layer.trainable_variables]


def names(n):
    first, stride = rng.integers(0, LETTERS, (n, 1)), rng.integers(1, 4, (n, 1))
    letters = (first + stride * np.arange(LENGTH + 1)) % LETTERS
    return tf.constant(letters[:, :-1], tf.int32), tf.constant(letters[:, 1:], tf.int32)


def tie():
    """The output takes its weights from the embedding."""
    output.kernel.assign(tf.transpose(embed.embeddings))  # BUG: untied-weights


model(names(2)[0])
tie()  # ALSO: untied-weights
optimizer.build(trainable())


@tf.function
def train_step(letters, following):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=following, logits=model(letters))
        loss = tf.reduce_mean(losses)
    optimizer.apply_gradients(zip(tape.gradient(loss, trainable()), trainable()))
    return loss


for step in range(40):
    loss = train_step(*names(32))
    if step % 10 == 9:
        print(f"step {step + 1} loss {float(loss):.4f}")
