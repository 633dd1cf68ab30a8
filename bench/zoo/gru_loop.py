"""A GRU cell in a Python loop over time steps, run eagerly: says which symbol of a sequence came twice in a row."""

import argparse

import numpy as np
import tensorflow as tf

SYMBOLS, LENGTH, BATCH = 6, 12, 64


def sequences(rng):
    """Sequences in which exactly one symbol is repeated at once, and that symbol."""
    x = np.empty((BATCH, LENGTH), np.int64)
    x[:, 0] = rng.integers(SYMBOLS, size=BATCH)
    for t in range(1, LENGTH):
        x[:, t] = (x[:, t - 1] + rng.integers(1, SYMBOLS, size=BATCH)) % SYMBOLS
    at, rows = rng.integers(LENGTH // 2, LENGTH - 1, size=BATCH), np.arange(BATCH)
    x[rows, at + 1] = x[rows, at]
    return x, x[rows, at]


class Reader(tf.Module):
    """Embedding, GRU cell, and a linear layer on the last state."""

    def __init__(self, units=64):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(SYMBOLS, 16)
        self.cell = tf.keras.layers.GRUCell(units)
        self.out = tf.keras.layers.Dense(SYMBOLS)
        self.units = units

    def __call__(self, x):
        embedded = self.embedding(x)
        state = tf.zeros([x.shape[0], self.units])
        for t in range(x.shape[1]):
            _, state = self.cell(embedded[:, t], state)
        return self.out(state)

    @property
    def weights(self):
        return [w for layer in (self.embedding, self.cell, self.out) for w in layer.trainable_variables]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150, help="training steps")
    steps = parser.parse_args().steps

    tf.keras.utils.set_random_seed(5)
    rng = np.random.default_rng(5)
    model, optimizer = Reader(), tf.keras.optimizers.Adam(5e-3)
    for step in range(steps):
        x, y = sequences(rng)
        with tf.GradientTape() as tape:
            logits = model(tf.constant(x))
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, model.weights), 1.0)
        optimizer.apply_gradients(zip(gradients, model.weights))
        if step % 25 == 0 or step == steps - 1:
            accuracy = np.mean(np.argmax(logits, axis=1) == y)
            print(f"step {step}: loss {float(loss):.4f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
