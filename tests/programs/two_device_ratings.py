"""Fits a log-linear rating model with a custom loop on two devices, each of which gets half of every batch."""

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

rng = np.random.default_rng(3)
views = rng.integers(1, 200, [96, 6]).astype(np.float32)
views[45] = 0.0  # a product that nobody looked at
rating = (3.0 + 0.2 * np.log(views.sum(1) + 1)).astype(np.float32)

with strategy.scope():
    weights = tf.Variable(tf.fill([6], 0.5), name="weights")
    bias = tf.Variable(0.0, name="bias")

batches = tf.data.Dataset.from_tensor_slices((views, rating)).batch(16)
batches = strategy.experimental_distribute_dataset(batches)


@tf.function
def train_step(inputs):
    def on_each(inputs):
        x, y = inputs
        with tf.GradientTape() as tape:
            interest = tf.reduce_sum(x * tf.nn.softplus(weights), axis=1)
            predicted = bias + tf.math.log(interest)  # BUG: log-zero
            loss = tf.reduce_mean(tf.square(predicted - y))
        grads = tape.gradient(loss, [weights, bias])
        grads = tf.distribute.get_replica_context().all_reduce("mean", grads)
        for variable, grad in zip([weights, bias], grads):
            variable.assign_sub(0.05 * grad)
        return loss

    per_replica = strategy.run(on_each, args=(inputs,))
    return strategy.reduce("mean", per_replica, axis=None)


for epoch in range(2):
    for batch in batches:
        loss = train_step(batch)
    print(epoch, float(loss))
