"""Fits a churn model with class weights, callbacks and several steps per call, then evaluates and predicts."""

import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(417)
rng = np.random.default_rng(417)


def make_customers(n):
    usage = rng.gamma(2.0, 1.0, size=(n, 5)).astype("float32")
    plan = rng.integers(0, 4, size=(n, 1))
    churned = (usage[:, :1] + 0.4 * plan < 1.2).astype("float32")
    return {"usage": usage, "plan": plan}, churned


usage = keras.Input((5,), name="usage")
plan = keras.Input((1,), name="plan", dtype="int32")
table = keras.layers.Flatten()(keras.layers.Embedding(4, 3, name="plans")(plan))
joined = keras.layers.Concatenate()([keras.layers.LayerNormalization()(usage), table])
hidden = keras.layers.Dropout(0.2)(keras.layers.Dense(24, activation="gelu")(joined))
churn = keras.layers.Dense(1, activation="sigmoid", name="churn")(hidden)
model = keras.Model([usage, plan], churn, name="churn_model")
model.compile(
    optimizer=keras.optimizers.RMSprop(0.005, clipnorm=1.0),
    loss="binary_crossentropy",
    metrics=["accuracy", keras.metrics.AUC(name="auc"), keras.metrics.Precision(name="precision")],
    steps_per_execution=4,
)
x, y = make_customers(384)
vx, vy = make_customers(96)
callbacks = [
    keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True),
    keras.callbacks.ReduceLROnPlateau(patience=1),
    keras.callbacks.TerminateOnNaN(),
]
model.fit(x, y, validation_data=(vx, vy), epochs=5, verbose=2, class_weight={0: 1.0, 1: 3.0}, callbacks=callbacks)
print(model.evaluate(vx, vy, verbose=0, return_dict=True))
print("at risk", int((model.predict(vx, verbose=0) > 0.5).sum()), "of", len(vy))
print("one more batch", model.train_on_batch(vx, vy, return_dict=True))
