"""Classifies short synthetic audio clips from their log power spectrogram with a small Keras model."""

import numpy as np
import tensorflow as tf

keras = tf.keras
keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)
RATE, LENGTH = 2000, 1024


def synth_clip(label):
    t = np.arange(LENGTH) / RATE
    freq = 200.0 if label == 0 else 450.0
    noise = rng.normal(scale=0.1, size=LENGTH)
    return (np.sin(2 * np.pi * freq * t) + noise).astype("float32")


def load_clips(n=48):
    labels = rng.integers(0, 2, size=n)
    clips = np.stack([synth_clip(k) for k in labels])
    clips[37, 600:] = 0.0  # recording stopped early, padded with silence
    return clips, labels.astype("int32")


def power_spectrogram(waveform):
    stft = tf.signal.stft(waveform, frame_length=256, frame_step=128)
    return tf.square(tf.abs(stft))


def log_features(waveform):
    power = power_spectrogram(waveform)
    log_power = tf.math.log(power)  # BUG: log-zero
    mean = tf.reduce_mean(log_power, axis=0, keepdims=True)
    return log_power - mean


def to_example(waveform, label):
    features = log_features(waveform)
    return tf.expand_dims(features, -1), label


clips, labels = load_clips()
train = tf.data.Dataset.from_tensor_slices((clips, labels)).map(to_example).batch(8)

model = keras.Sequential(
    [
        keras.layers.Conv2D(4, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(2),
    ]
)
model.compile(
    optimizer="adam",
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = model.fit(train, epochs=2, verbose=2)
print("losses", history.history["loss"])
