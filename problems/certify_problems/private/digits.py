# SPDX-License-Identifier: Apache-2.0
"""A classifier of handwritten digits, 64-64-64-10, with a hundred images to ask about: `python -m certify_problems.private.digits FOLDER`.

The data are scikit-learn's `load_digits`, 1797 images of 8 x 8 grey levels from 0 to 16, in the order of `default_rng(0).permutation`: the first 1400
are trained on, the next hundred are asked about, the rest is only tested. Strong weight decay keeps bounds of neurons tight. The files of the example
were made with scikit-learn 1.9; another version may train other weights.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from certify_problems.nn.dense import dense_onnx
from certify_problems.private.properties import robustness

TRAINED, ASKED = 1400, 100
HIDDEN, DECAY, LEVELS = (64, 64), 4.0, 16
_IMAGE, _CALIBRATION = 3, 20
POLICY = """# The policy of a commitment to digits.onnx. Inputs are grey levels; the network divides them by 16.
modes = "crown"              # every bound of a neuron goes back to the input
uses = 16                    # how many certificates the commitment serves
calibration_radius = 1       # one grey level, around the rows that are given

[input]
lower = 0
upper = 16
"""


def data() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return images in grey levels (1797, 64) and labels, shuffled."""
    from sklearn.datasets import load_digits

    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    return found.data[order].astype(np.uint8), found.target[order].astype(np.int64)


def files() -> dict[str, bytes]:
    """Return the files of the example by name, and train the network for it; needs scikit-learn and onnx."""
    from sklearn.neural_network import MLPClassifier

    images, labels = data()
    model = MLPClassifier(HIDDEN, alpha=DECAY, max_iter=400, random_state=0).fit(images[:TRAINED] / LEVELS, labels[:TRAINED])
    print(f"digits: {model.score(images[TRAINED:] / LEVELS, labels[TRAINED:]):.3f} of the test images are labelled right")
    asked = slice(TRAINED, TRAINED + ASKED)
    image, label = images[asked][_IMAGE], int(labels[asked][_IMAGE])
    return {
        "digits.onnx": dense_onnx([weight.T for weight in model.coefs_], model.intercepts_, "digits", [("Div", np.array([[LEVELS]]))]),
        "digits-policy.toml": POLICY.encode(),
        "digits-images.npy": _npy(images[asked]),
        "digits-labels.npy": _npy(labels[asked]),
        "digits-calibration.npy": _npy(images[:_CALIBRATION]),
        "digits.vnnlib": robustness(image.tolist(), 1, 0, LEVELS, label, 10).encode(),
    }


def _npy(array: np.ndarray[Any, Any]) -> bytes:
    stream = BytesIO()
    np.save(stream, np.ascontiguousarray(array))
    return stream.getvalue()


if __name__ == "__main__":
    for name, content in files().items():
        (Path(sys.argv[1]) / name).write_bytes(content)
