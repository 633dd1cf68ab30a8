"""Trains with Adam; all that it keeps is made in the first step."""

import keras
import tensorflow as tf

keras.utils.set_random_seed(7)
layers = [tf.Variable(tf.random.normal([128, 128], stddev=0.1)) for _ in range(6)]
optimizer = keras.optimizers.Adam(0.001)

for step in range(20):
    batch = tf.random.normal([128, 128])
    with tf.GradientTape() as tape:
        hidden = batch
        for layer in layers:
            hidden = tf.tanh(hidden @ layer)
        loss = tf.reduce_mean(tf.square(hidden - batch))
    optimizer.apply_gradients(zip(tape.gradient(loss, layers), layers))
print(f"loss {float(loss):.4f}")
