"""A dataset's generator waits for a queue that nobody fills."""

import queue
from collections.abc import Iterator

import tensorflow as tf

batches: queue.Queue[list[float]] = queue.Queue()


def read() -> Iterator[list[float]]:
    yield [1.0, 2.0]
    yield batches.get()  # END


dataset = tf.data.Dataset.from_generator(read, output_signature=tf.TensorSpec([2], tf.float32))
for batch in dataset:  # OP
    tf.reduce_sum(batch)
