"""Asks NumPy for an array of half a petabyte."""

import numpy as np
import tensorflow as tf

rows = tf.ones([3])
history = np.ones([1 << 16, 1 << 30])  # END
