"""Fits topic proportions of documents with the older Keras (tf_keras), still in use here."""

import numpy as np
import tensorflow as tf
import tf_keras as keras

keras.utils.set_random_seed(418)
rng = np.random.default_rng(418)
TOPICS = 6


class TopicDivergence(keras.metrics.Metric):
    def __init__(self, name="divergence", **kwargs):
        super().__init__(name=name, **kwargs)
        self.total = self.add_weight(name="total", initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")

    def update_state(self, truth, proportions, sample_weight=None):
        apart = tf.reduce_sum(tf.abs(truth - proportions), axis=-1)
        self.total.assign_add(tf.reduce_sum(apart))
        self.count.assign_add(tf.cast(tf.size(apart), tf.float32))

    def result(self):
        return tf.math.divide_no_nan(self.total, self.count)


def divergence(truth, proportions):
    ratio = truth / proportions
    return tf.reduce_sum(truth * tf.math.log(ratio), axis=-1)  # BUG: log-zero


def make_documents(n=160):
    counts = rng.poisson(3.0, size=(n, 20)).astype("float32")
    truth = rng.dirichlet(np.ones(TOPICS), size=n).astype("float32")
    truth[100] = np.eye(TOPICS)[2]  # all about one thing
    return counts, truth


counts, truth = make_documents()
words = keras.layers.Dense(32, activation="relu", name="words")
topics = keras.layers.Dense(TOPICS, activation="softmax", name="topics")
model = keras.Sequential([words, topics], name="topic_model")
model.compile(optimizer="adam", loss=divergence, metrics=[TopicDivergence()])
history = model.fit(counts, truth, batch_size=32, epochs=2, shuffle=False, verbose=0)
print(history.history)
