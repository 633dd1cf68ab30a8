"""Splits documents into shards and reports the tokens per shard."""

import tensorflow as tf

BUDGET = 16
DOCUMENT_LENGTHS = [[40, 12, 33, 8], [64, 20, 31], [9, 3, 2], [120, 4]]


def shards_needed(lengths):
    return tf.reduce_sum(lengths) // BUDGET  # ALSO: integer-division


def tokens_per_shard(lengths):
    shards = shards_needed(lengths)
    return tf.reduce_sum(lengths) // shards  # BUG: integer-division


@tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
def plan(lengths):
    load = tokens_per_shard(lengths)
    fill = tf.cast(load, tf.float32) / tf.cast(BUDGET, tf.float32)
    return load, fill


def main():
    total = 0
    for i, lengths in enumerate(DOCUMENT_LENGTHS):
        load, fill = plan(tf.constant(lengths))
        total += int(load)
        print(f"collection {i}: {int(load)} tokens per shard, {float(fill):.2f} of the budget")
    print("total", total)


main()
