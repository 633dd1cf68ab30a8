"""Forecasts temperature from weather stations on two replicas with a custom loop."""

import io

import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
tf.random.set_seed(8)
rng = np.random.default_rng(8)

COLUMNS, BATCH = 5, 32


def write_csv(n=256):
    """What the export of the stations looks like: one line a day."""
    x = rng.normal(size=(n, COLUMNS))
    y = x @ np.array([1.0, -0.5, 0.3, 0.0, 0.8]) + 0.1 * rng.normal(size=n)
    lines = [",".join(f"{v:.4f}" for v in (*row, target)) for row, target in zip(x, y)]
    cells = lines[121].split(",")
    cells[2] = ""
    lines[121] = ",".join(cells)
    return "\n".join(lines)


def read_csv(text):
    table = np.genfromtxt(io.StringIO(text), delimiter=",", dtype="float32")  # ALSO: nan-in-data
    return table[:, :COLUMNS], table[:, COLUMNS:]


class Forecaster(tf.Module):
    def __init__(self, width=16, name=None):
        super().__init__(name=name)
        g = tf.random.Generator.from_seed(8)
        self.w1 = tf.Variable(g.normal((COLUMNS, width)) * 0.4, name="w1")
        self.b1 = tf.Variable(tf.zeros(width), name="b1")
        self.w2 = tf.Variable(g.normal((width, 1)) * 0.25, name="w2")

    def __call__(self, x):
        return tf.nn.relu(x @ self.w1 + self.b1) @ self.w2


def main():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    features, target = read_csv(write_csv())
    data = tf.data.Dataset.from_tensor_slices((features, target)).batch(BATCH)  # BUG: nan-in-data
    data = strategy.experimental_distribute_dataset(data)
    with strategy.scope():
        model = Forecaster(name="forecaster")

    def replica_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(model(x) - y)) / BATCH
        grads = tape.gradient(loss, model.trainable_variables)
        context = tf.distribute.get_replica_context()
        grads = context.all_reduce(tf.distribute.ReduceOp.SUM, grads)
        for variable, grad in zip(model.trainable_variables, grads):
            variable.assign_sub(0.05 * grad)
        return loss

    @tf.function
    def train_step(x, y):
        losses = strategy.run(replica_step, args=(x, y))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    for epoch in range(3):
        losses = [float(train_step(x, y)) for x, y in data]
        print(f"epoch {epoch}:", " ".join(f"{v:.3f}" for v in losses))


if __name__ == "__main__":
    main()
