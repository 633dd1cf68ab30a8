"""Resumes training of a small model from weights saved by an earlier run."""

import os
import tempfile

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(193)
SHAPES = {"w1": (5, 8), "b1": (8,), "w2": (8, 1), "b2": (1,)}


def earlier_run(path):
    """Leaves behind what a run that was killed at a bad moment had saved."""
    arrays = {k: rng.normal(scale=0.3, size=s).astype("float32") for k, s in SHAPES.items()}
    arrays["w2"][3, 0] = np.nan
    np.savez(path, **arrays)


class Network(tf.Module):
    def __init__(self):
        super().__init__()
        self.params = {k: tf.Variable(tf.zeros(s), name=k) for k, s in SHAPES.items()}

    def __call__(self, x):
        p = self.params
        hidden = tf.nn.relu(x @ p["w1"] + p["b1"])
        return hidden @ p["w2"] + p["b2"]


def restore(network, path):
    with np.load(path) as archive:
        for name, variable in network.params.items():
            variable.assign(archive[name])  # BUG: nan-in-checkpoint
    print("restored", len(network.params), "tensors")


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weights.npz")
        earlier_run(path)
        network = Network()
        restore(network, path)
    x = tf.constant(rng.normal(size=(32, 5)), tf.float32)
    y = tf.reduce_sum(x, axis=1, keepdims=True)
    optimizer = tf.keras.optimizers.Adam(0.01)
    for step in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(network(x) - y))
        grads = tape.gradient(loss, network.trainable_variables)
        optimizer.apply_gradients(zip(grads, network.trainable_variables))
        print(f"step {step} loss {loss.numpy():.4f}")


main()
