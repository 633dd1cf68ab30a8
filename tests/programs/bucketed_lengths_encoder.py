"""Encodes sentences that are padded to the length of their bucket; each bucket is traced once."""

import tensorflow as tf

tf.random.set_seed(13)
table = tf.Variable(tf.random.normal([50, 8], stddev=0.3))
buckets = (4, 6, 8, 10, 12, 14, 16, 20, 24)


@tf.function
def train_step(tokens):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.reduce_mean(tf.gather(table, tokens), axis=1) - 0.1))
    gradient = tf.convert_to_tensor(tape.gradient(loss, table))
    table.assign_sub(0.5 * gradient)
    return loss


for step in range(54):
    tokens = tf.random.uniform([16, buckets[step % len(buckets)]], maxval=50, dtype=tf.int32)
    loss = train_step(tokens)
print(f"loss {float(loss):.4f}")
