"""Keeps every batch that it makes, until the kernel's OOM killer comes."""

import tensorflow as tf

kept = []
for _ in range(12):
    kept.append(tf.ones([8192, 8192]))  # END
