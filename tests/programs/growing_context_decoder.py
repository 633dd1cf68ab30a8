"""Generates a series one value at a time, from all of the values before."""

import tensorflow as tf

tf.random.set_seed(10)
mix = tf.Variable(tf.random.normal([4, 4], stddev=0.3))


@tf.function
def next_value(context):
    weights = tf.nn.softmax(tf.reduce_sum(context, axis=1))
    return tf.tanh(tf.reduce_sum(weights[:, tf.newaxis] * (context @ mix), axis=0, keepdims=True) + 0.1)


context = tf.random.normal([3, 4])
for _ in range(18):
    context = tf.concat([context, next_value(context)], axis=0)  # BUG: retracing
print("last", context[-1].numpy())
