"""Tags words of long orders with their part: a Transformer block with a longer table of positions."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(922)
rng = np.random.default_rng(922)
WORDS, LONGEST, WIDTH, PARTS = 40, 32, 16, 5

words = keras.layers.Embedding(WORDS, WIDTH)
places = keras.layers.Embedding(LONGEST, WIDTH)
attention = keras.layers.MultiHeadAttention(2, 8)
parts = keras.layers.Dense(PARTS)
layers = [words, places, attention, parts]
optimizer = keras.optimizers.Adam(1e-3)


def model(ids):
    x = words(ids) + places(tf.range(tf.shape(ids)[1]))
    return parts(x + attention(x, x))


def trainable():
    return [variable for layer in layers for variable in layer.trainable_variables]


def orders(length):
    ids = rng.integers(0, WORDS, (16, length)).astype("int32")
    return tf.constant(ids), tf.constant(ids % PARTS)


model(orders(8)[0])
optimizer.build(trainable())


@tf.function(reduce_retracing=True)
def train_step(ids, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=model(ids)))
    optimizer.apply_gradients(zip(tape.gradient(loss, trainable()), trainable()))
    return loss


for step, length in enumerate([12, 18, 24, 15, 21, 30, 12]):
    print(f"step {step} loss {float(train_step(*orders(length))):.4f}")
