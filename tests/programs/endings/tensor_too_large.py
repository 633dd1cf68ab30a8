"""Asks for a tensor of four terabytes."""

import tensorflow as tf

table = tf.zeros([1024, 1 << 30])  # END
