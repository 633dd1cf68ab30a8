"""Learns to predict the next reading of a sensor, on two devices, with a distributed dataset and a custom loop."""

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

rng = np.random.default_rng(11)
readings = np.cumsum(rng.normal(0, 0.1, 200)).astype(np.float32)
readings[130] = np.nan  # the logger was restarted
windows = np.lib.stride_tricks.sliding_window_view(readings, 9)

with strategy.scope():
    kernel = tf.Variable(tf.zeros([8]), name="kernel")
    offset = tf.Variable(0.0, name="offset")


def train(inputs, target):
    with tf.GradientTape() as tape:
        predicted = tf.linalg.matvec(inputs, kernel) + offset
        loss = tf.reduce_mean(tf.square(predicted - target))
    context = tf.distribute.get_replica_context()
    grads = context.all_reduce("mean", tape.gradient(loss, [kernel, offset]))
    for variable, grad in zip([kernel, offset], grads):
        variable.assign_sub(0.05 * grad)
    return loss


@tf.function
def step(batch):
    return strategy.reduce("mean", strategy.run(train, args=batch), axis=None)


data = tf.data.Dataset.from_tensor_slices((windows[:, :8], windows[:, 8]))  # BUG: nan-in-data
data = strategy.experimental_distribute_dataset(data.batch(16, drop_remainder=True))
for batch in data:
    loss = step(batch)
print(float(loss))
