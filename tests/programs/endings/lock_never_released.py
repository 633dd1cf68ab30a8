"""Waits for a lock that nobody releases, inside of an op."""

import threading

import tensorflow as tf

lock = threading.Lock()
lock.acquire()


def waits(x: tf.Tensor) -> tf.Tensor:
    with lock:  # END
        return x


@tf.function
def train_step(x: tf.Tensor) -> tf.Tensor:
    hidden = tf.nn.relu(tf.matmul(x, x) + 1.0)
    seen = tf.py_function(waits, [hidden], tf.float32)  # OP
    return tf.reduce_sum(tf.exp(seen) * 2.0)


train_step(tf.ones([4, 4]))
