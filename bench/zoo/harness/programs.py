"""The programs of the zoo, and how many steps of each the benchmark runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
QUICK = 10
"""`--quick` runs this part of a program's steps."""


@dataclass(frozen=True)
class Program:
    """A file of the zoo. Its `--steps` is `steps` by default; Keras takes them in whole epochs."""

    name: str
    steps: int
    epoch: int = 1

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.py"

    def quickly(self) -> Program:
        """Return the program with few steps, to see that it runs."""
        epochs = max(1, self.steps // QUICK // self.epoch)
        return replace(self, steps=epochs * self.epoch)


PROGRAMS = [
    Program("keras_mlp", 5000, 500),
    Program("keras_cnn", 1000, 100),
    Program("resnet", 100, 25),
    Program("lstm", 800, 100),
    Program("gru_loop", 150),
    Program("transformer", 400, 50),
    Program("gan", 500, 50),
    Program("dqn", 2000),
    Program("vae", 600),
    Program("gnn", 600),
    Program("data_pipeline", 500, 50),
    Program("tf1_session", 5000),
]
