"""Fits a value function from a replay buffer that holds the newest experience."""

import random
from collections import deque

import tensorflow as tf

random.seed(3)
tf.random.set_seed(3)
buffer = deque(maxlen=12)
value = tf.Variable(tf.random.normal([64, 1], stddev=0.1))

for step in range(60):
    buffer.append(tf.random.normal([512, 64]))
    batch = random.choice(buffer)
    target = tf.reduce_sum(batch, axis=1, keepdims=True) * 0.1
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(batch @ value - target))
    value.assign_sub(0.1 * tape.gradient(loss, value))
print(f"loss {float(loss):.4f}")
