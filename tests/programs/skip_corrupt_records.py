"""Parses records in batches and skips those that TensorFlow refuses."""

import tensorflow as tf

RECORDS = ["1.5,2.0,0", "0.3,1.1,1", "broken line", "2.2,0.7,0", "1.0,x,1", "0.9,1.4,1", "1.1,0.2,0"]

w = tf.Variable([[0.1], [0.1]])
b = tf.Variable(0.0)


@tf.function(input_signature=[tf.TensorSpec([], tf.string)])
def parse(line):
    fields = tf.strings.to_number(tf.strings.split(line, ","))
    return tf.ensure_shape(fields, [3])


@tf.function
def train_step(row):
    features, label = row[None, :2], row[2:]
    with tf.GradientTape() as tape:
        logit = tf.squeeze(tf.matmul(features, w), axis=1) + b
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logit))
    gw, gb = tape.gradient(loss, [w, b])
    w.assign_sub(0.1 * gw)
    b.assign_sub(0.1 * gb)
    return loss


skipped = 0
for epoch in range(3):
    total, seen = 0.0, 0
    for record in RECORDS:
        try:
            row = parse(tf.constant(record))
        except tf.errors.InvalidArgumentError:
            skipped += 1
            continue
        total += float(train_step(row))
        seen += 1
    print(f"epoch {epoch} mean loss {total / seen:.4f}")
print("skipped", skipped, "records")
