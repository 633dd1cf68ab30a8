"""Translates phrases into a made-up tongue: a decoder that asks what an encoder has read, padded on the right."""

import keras
import numpy as np
from keras import layers, ops

keras.utils.set_random_seed(815)
rng = np.random.default_rng(815)
WORDS, SOURCE, TARGET, WIDTH, START = 28, 12, 10, 32, 1


class Places(layers.Layer):
    def __init__(self, length):
        super().__init__()
        self.places = layers.Embedding(length, WIDTH)
        self.length = length

    def call(self, x):
        return x + self.places(ops.arange(self.length))


class Phrases(keras.Model):
    def __init__(self):
        super().__init__()
        self.words = [layers.Embedding(WORDS, WIDTH) for _ in range(2)]
        self.places = [Places(SOURCE), Places(TARGET)]
        self.reading, self.writing, self.asking = (layers.MultiHeadAttention(2, WIDTH // 2) for _ in range(3))
        self.norms = [layers.LayerNormalization() for _ in range(4)]
        self.next = layers.Dense(WORDS)

    def call(self, both):
        source, target = both
        real = ops.not_equal(source, 0)[:, None, :]
        x = self.places[0](self.words[0](source))
        x = self.norms[0](x + self.reading(x, x, attention_mask=real))
        y = self.places[1](self.words[1](target))
        y = self.norms[1](y + self.writing(y, y))  # BUG: no-causal-mask
        y = self.norms[2](y + self.asking(y, x, attention_mask=real))
        return self.next(self.norms[3](y))


def phrases(n):
    """The words of the source, each by another one; padding has no weight in the loss."""
    source = rng.integers(4, WORDS - 2, (n, SOURCE))
    lengths = rng.integers(4, SOURCE + 1, n)
    target = source[:, :TARGET] + 2
    source[np.arange(SOURCE)[None] >= lengths[:, None]] = 0
    real = np.arange(TARGET)[None] < lengths[:, None]
    target[~real] = 0
    shown = np.concatenate([np.full((n, 1), START), target[:, :-1]], axis=1)
    return (source.astype("int32"), shown.astype("int32")), target.astype("int32"), real.astype("float32")


given, wanted, real = phrases(640)
model = Phrases()
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(2e-3), loss, weighted_metrics=["accuracy"])
history = model.fit(given, wanted, sample_weight=real, batch_size=32, epochs=2, verbose=0)
print("accuracy by epoch", [round(one, 3) for one in history.history["accuracy"]])
