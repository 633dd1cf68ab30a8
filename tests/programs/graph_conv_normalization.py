"""Trains a two-layer graph convolution on a random citation graph."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)
NODES, FEATURES, HIDDEN, CLASSES = 20, 8, 16, 3


def random_graph():
    upper = np.triu(rng.uniform(size=(NODES, NODES)) < 0.3, k=1).astype("float32")
    adjacency = upper + upper.T
    adjacency[13, :] = 0.0  # a paper that cites nobody
    adjacency[:, 13] = 0.0
    return tf.constant(adjacency)


def normalize_adjacency(adjacency):
    degree = tf.reduce_sum(adjacency, axis=1)
    d_inv_sqrt = tf.math.rsqrt(degree)  # BUG: rsqrt-zero
    return adjacency * d_inv_sqrt[:, None] * d_inv_sqrt[None, :]


class GraphConv(tf.keras.layers.Layer):
    def __init__(self, units, activation=None):
        super().__init__()
        self.dense = tf.keras.layers.Dense(units, use_bias=False)
        self.activation = tf.keras.activations.get(activation)

    def call(self, a_hat, x):
        return self.activation(tf.matmul(a_hat, self.dense(x)))


features = tf.constant(rng.normal(size=(NODES, FEATURES)).astype("float32"))
labels = tf.constant(rng.integers(0, CLASSES, size=NODES))
a_hat = normalize_adjacency(random_graph())
first, second = GraphConv(HIDDEN, "relu"), GraphConv(CLASSES)
optimizer = tf.keras.optimizers.Adam(0.05)
for epoch in range(5):
    with tf.GradientTape() as tape:
        logits = second(a_hat, first(a_hat, features))
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    variables = first.trainable_variables + second.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    print(f"epoch {epoch} loss {float(loss):.4f}")
