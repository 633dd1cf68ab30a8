"""A program with a bug: it learns to read handwritten digits for two steps, then never again.

    sleuth demo                                 finds the line at fault
    python -m tensorsleuth.demo.digits_mlp      the same program, unwatched: accuracy sticks at chance
    python -m tensorsleuth.demo.digits_mlp --fixed      and with the bug taken out

It is written on the low-level API, as the MNIST program of the tfdbg2 tutorial is, and takes the same flags.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import tensorflow as tf

DIGITS = Path(__file__).with_name("digits.npz")  # 1,797 images of 8x8 pixels, each 0 to 16
IMAGE_SIZE, HIDDEN_SIZE, CLASSES = 8, 500, 10
TEST_IMAGES = 297
SEED = 0


def load_digits(fake: bool):
    """Images and labels in an order that is the same in every run."""
    random = np.random.default_rng(SEED)
    if fake:
        return random.integers(0, 17, (1000, IMAGE_SIZE, IMAGE_SIZE)), random.integers(0, CLASSES, 1000)
    with np.load(DIGITS) as digits:
        order = random.permutation(len(digits["labels"]))
        return digits["images"][order], digits["labels"][order]


def to_example(image, label):
    """Flat float pixels and a one-hot label."""
    return tf.reshape(tf.cast(image, tf.float32), [IMAGE_SIZE**2]), tf.one_hot(label, CLASSES)


def batches(images, labels, size: int):
    """An endless iterator over batches of examples."""
    examples = tf.data.Dataset.from_tensor_slices((images, labels)).map(to_example)
    return iter(examples.repeat().batch(size))


class Dense(tf.Module):
    """One fully connected layer."""

    def __init__(self, inputs: int, outputs: int, random: np.random.Generator):
        super().__init__()
        self.kernel = tf.Variable(random.normal(0.0, 0.1, [inputs, outputs]), dtype=tf.float32, name="kernel")
        self.bias = tf.Variable(tf.fill([outputs], 0.1), name="bias")

    @tf.function
    def __call__(self, x):
        return tf.matmul(x, self.kernel) + self.bias


class Classifier(tf.Module):
    """A perceptron with one hidden layer."""

    def __init__(self):
        super().__init__()
        random = np.random.default_rng(SEED)
        self.hidden = Dense(IMAGE_SIZE**2, HIDDEN_SIZE, random)
        self.output = Dense(HIDDEN_SIZE, CLASSES, random)

    @tf.function
    def logits(self, x):
        return self.output(tf.nn.relu(self.hidden(x)))

    @tf.function
    def probabilities(self, x):
        return tf.nn.softmax(self.logits(x))


@tf.function
def cross_entropy(labels, probs):
    """Mean negative log likelihood."""
    return -tf.reduce_mean(tf.reduce_sum(labels * tf.math.log(probs), axis=1))


@tf.function
def cross_entropy_from_logits(labels, logits):
    """Return the same quantity from the logits, so that no probability is ever rounded to 0."""
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, logits))


def train(flags: argparse.Namespace) -> None:
    """Train step by step, and print the accuracy on the test images after each."""
    images, labels = load_digits(flags.fake_data)
    training = batches(images[:-TEST_IMAGES], labels[:-TEST_IMAGES], flags.train_batch_size)
    test_x, test_y = next(batches(images[-TEST_IMAGES:], labels[-TEST_IMAGES:], TEST_IMAGES))
    model = Classifier()
    optimizer = tf.optimizers.Adam(flags.learning_rate)
    variables = model.trainable_variables

    for step in range(flags.max_steps):
        x, y = next(training)
        with tf.GradientTape() as tape:
            if flags.fixed:
                loss = cross_entropy_from_logits(y, model.logits(x))
            else:
                loss = cross_entropy(y, model.probabilities(x))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

        right = tf.equal(tf.argmax(model.probabilities(test_x), axis=1), tf.argmax(test_y, axis=1))
        print(f"Accuracy at step {step}: {tf.reduce_mean(tf.cast(right, tf.float32)).numpy():.4f}")


def parse_flags(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a perceptron on handwritten digits, with a bug in it.")
    option = parser.add_argument

    def switch(name: str, help: str) -> None:  # --name, or --name true, or --name false
        option(name, type=lambda text: text.lower() == "true", nargs="?", const=True, default=False, help=help)

    option("--max_steps", type=int, default=50, help="training steps to run")
    option("--train_batch_size", type=int, default=100, help="images a step")
    option("--learning_rate", type=float, default=0.008, help="learning rate of Adam")
    switch("--fixed", "take the bug out")
    switch("--fake_data", "train on random pixels")
    switch("--check_numerics", "let TensorFlow stop at the first NaN or infinity")
    option("--dump_dir", help="record the run with tensorsleuth, into this directory")
    option("--dump_tensor_debug_mode", default="NO_TENSOR", help="how much to record of each tensor")
    option("--dump_circular_buffer_size", type=int, default=1000, help="events to keep")
    option("--data_dir", help="has no effect: the digits come with the program")
    switch("--use_random_config_path", "has no effect: there is no configuration file")
    flags = parser.parse_args(arguments)
    if flags.check_numerics and flags.dump_dir:
        parser.error("--check_numerics and --dump_dir cannot be given together: choose one")
    return flags


def main() -> None:
    flags = parse_flags()
    if flags.check_numerics:
        tf.debugging.enable_check_numerics()
    if flags.dump_dir:
        import tensorsleuth

        tensorsleuth.enable_dump_debug_info(
            flags.dump_dir,
            tensor_debug_mode=flags.dump_tensor_debug_mode,
            circular_buffer_size=flags.dump_circular_buffer_size,
        )
    train(flags)


if __name__ == "__main__":
    main()
