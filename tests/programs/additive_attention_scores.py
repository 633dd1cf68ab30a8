"""Additive attention in one function: every query meets every key."""

import tensorflow as tf

tf.random.set_seed(17)
query_weights = tf.Variable(tf.random.normal([8, 1], stddev=0.3))
key_weights = tf.Variable(tf.random.normal([8, 1], stddev=0.3))


@tf.function
def train_step(tokens):
    with tf.GradientTape() as tape:
        queries = tokens @ query_weights
        keys = tf.reshape(tokens @ key_weights, [1, -1])
        attention = tf.nn.softmax(queries + keys)
        loss = tf.reduce_mean(tf.square(attention @ tokens - tokens))
    variables = (query_weights, key_weights)
    for variable, gradient in zip(variables, tape.gradient(loss, variables)):
        variable.assign_sub(0.1 * gradient)
    return loss


for step in range(12):
    loss = train_step(tf.random.normal([20, 8]))
print(f"loss {float(loss):.4f}")
