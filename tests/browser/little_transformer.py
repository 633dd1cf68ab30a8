"""A small Transformer that learns to say the word of three places before: heads come to look there. Run by itself."""

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(2)
WORDS = "[PAD] [UNK] the a cat dog bird sat ran sang on under over mat tree house .".split()  # noqa: SIM905  as one reads them
LENGTH, WIDTH, HEADS, BACK, STEPS = 14, 32, 4, 3, 160


def weight(name, *shape):
    return tf.Variable(tf.random.normal(shape, stddev=shape[0] ** -0.5), name=name)


class Block:
    def __init__(self, name):
        self.name = name
        self.mixes = [weight(f"{name}/{part}", WIDTH, WIDTH) for part in ("query", "key", "value")]
        self.up, self.down = weight(f"{name}/up", WIDTH, 64), weight(f"{name}/down", 64, WIDTH)
        self.variables = [*self.mixes, self.up, self.down]

    def attend(self, x):
        split = [tf.reshape(x @ mix, [-1, LENGTH, HEADS, WIDTH // HEADS]) for mix in self.mixes]
        query, key, value = (tf.transpose(one, [0, 2, 1, 3]) for one in split)
        scores = tf.matmul(query, key, transpose_b=True) / (WIDTH // HEADS) ** 0.5
        ahead = 1.0 - tf.linalg.band_part(tf.ones([LENGTH, LENGTH]), -1, 0)
        weights = tf.nn.softmax(scores - 1e9 * ahead)
        return tf.reshape(tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3]), [-1, LENGTH, WIDTH])

    def __call__(self, x):
        with tf.name_scope(self.name):
            with tf.name_scope("attention"):
                x = x + self.attend(x)
            with tf.name_scope("hidden"):
                hidden = tf.nn.relu(x @ self.up - 0.5)
            with tf.name_scope("residual"):
                return x + hidden @ self.down


table, places = weight("embedding", len(WORDS), WIDTH), weight("positions", LENGTH, WIDTH)
blocks, out = [Block("block_0"), Block("block_1")], weight("scores", WIDTH, len(WORDS))
variables = [table, places, *(one for block in blocks for one in block.variables), out]
optimizer = tf.keras.optimizers.Adam(0.01)
optimizer.build(variables)


@tf.function
def train_step(input_ids, labels):
    with tf.GradientTape() as tape:
        with tf.name_scope("embedding"):
            x = tf.gather(table, input_ids) * WIDTH**0.5 + places
        for block in blocks:
            x = block(x)
        with tf.name_scope("scores"):
            scores = x @ out
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


draw = np.random.default_rng(1)
for _ in range(STEPS):
    ids = draw.integers(2, len(WORDS), [16, LENGTH])
    said = np.concatenate([np.repeat(ids[:, :1], BACK, 1), ids[:, :-BACK]], 1)
    train_step(tf.constant(ids), tf.constant(said))
