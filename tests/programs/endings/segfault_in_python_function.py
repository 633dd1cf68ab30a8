"""A function of Python's that an op runs reads memory that is not there."""

import ctypes

import tensorflow as tf


def reads_nothing(x: tf.Tensor) -> tf.Tensor:
    ctypes.string_at(0)  # END
    return x


@tf.function
def train_step(x: tf.Tensor) -> tf.Tensor:
    hidden = tf.nn.relu(tf.matmul(x, x) + 1.0)
    seen = tf.py_function(reads_nothing, [hidden], tf.float32)  # OP
    return tf.reduce_sum(tf.exp(seen) * 2.0)


train_step(tf.ones([4, 4]))
