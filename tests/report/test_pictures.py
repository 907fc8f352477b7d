# SPDX-License-Identifier: Apache-2.0
"""Pictures show the pixels that the claim is about: black and white where the caption says, red and blue for what changed."""

from __future__ import annotations

import base64
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from certify.report.pictures import Shape, image_shape, png
from kinds import accuracy_vectors, region_vectors, robust_vectors
from report.reading import Page, page_of, pixels
from toolkit import Layers, Specimen, model, npy

_LEVELS = np.array([[16, 0, 4, 8] * 4], np.uint8)


def image_specimen(shape: tuple[int, ...], **given: Any) -> Specimen:
    """Return a specimen about 4 x 4 levels from 0 to 16, with a network that answers 0 by far, behind an input of some shape."""
    count = int(np.prod(shape))
    layers: Layers = (([[1.0] + [0.0] * (count - 1)], [0]), ([[0], [0]], [5, 0]))
    made = robust_vectors.specimen(2)
    made.given |= {"row": 0, "label": 0, "radius": "1/8", "clip": ["0", "1"], **given}
    points = np.tile(_LEVELS, (1, count // 16))
    made.files |= {"model": ("net.onnx", shaped(layers, shape)), "points": ("points.npy", npy(points))}
    return made


def shaped(layers: Layers, shape: tuple[int, ...]) -> bytes:
    """Return the ONNX bytes of dense layers behind an input of some shape, flattened first where it is an image."""
    if len(shape) == 2 and shape[0] == 1:
        return model(layers, shape=shape)
    made = onnx.load_from_string(model(layers, shape=shape))
    made.graph.node[0].input[0] = "flat"
    made.graph.node.insert(0, helper.make_node("Flatten", ["x"], ["flat"], axis=1))
    return bytes(made.SerializeToString(deterministic=True))


def greys(page: Page, alt: str) -> list[tuple[int, ...]]:
    """Return the pixels of the image with this text in its place."""
    image, = (image for image in page.images if image["alt"].startswith(alt))
    return pixels(image)[2]


def level(value: float) -> tuple[int]:
    """Return the grey of a value from 0 to 1."""
    return (round(255 * Fraction(value)),)


def test_point_corners_and_width_of_a_flat_square() -> None:
    found = page_of(image_specimen((1, 16)))
    assert "Drawn as 4 x 4, because 16 inputs fill a square" in found.text
    assert "Black is 0, white 1, in values of the points file times 1/16" in found.text
    assert len(found.images) == 4 and all(pixels(image)[:2] == (4, 4) for image in found.images)
    assert greys(found, "the point") == [level(v) for v in (1, 0, 0.25, 0.5)] * 4
    assert greys(found, "the lowest") == [level(v) for v in (0.875, 0, 0.125, 0.375)] * 4
    assert greys(found, "the highest") == [level(v) for v in (1, 0.125, 0.375, 0.625)] * 4
    assert greys(found, "the width") == [level(v) for v in (0.5, 0.5, 1, 1)] * 4 and "black 0, white 0.25" in found.text


@pytest.mark.parametrize("shape", [(1, 1, 4, 4), (1, 4, 4)])
def test_an_image_shape_of_the_model_is_used(shape: tuple[int, ...]) -> None:
    found = page_of(image_specimen(shape))
    assert "4 x 4 in grey, as the shape of the model's input says" in found.text
    assert greys(found, "the point") == [level(v) for v in (1, 0, 0.25, 0.5)] * 4


def test_three_channels_are_drawn_in_colour() -> None:
    made = image_specimen((1, 3, 4, 4), clip=None)
    points = np.concatenate([np.full((1, 16), 16), np.full((1, 16), 8), np.zeros((1, 16))], axis=1).astype(np.uint8)
    made.files["points"] = ("points.npy", npy(points))
    found = page_of(made)
    low, high = Fraction(-1, 8), Fraction(9, 8)
    assert "in colour (3 channels)" in found.text
    assert greys(found, "the point") == [tuple(round(255 * (v - low) / (high - low)) for v in (Fraction(1), Fraction(1, 2), Fraction(0)))] * 16


def test_a_counterexample_and_what_it_changed() -> None:
    made = image_specimen((1, 16), radius="1/2", clip=None)
    layers: Layers = (([[1.0, -1.0] + [0.0] * 14], [0]), ([[1], [0]], [0, 0.25]))
    point = [Fraction(v, 16) for v in _LEVELS[0].tolist()]
    point[0], point[1] = point[0] - Fraction(1, 2), point[1] + Fraction(1, 4)
    made.files["model"] = ("net.onnx", model(layers, shape=(1, 16)))
    made.says, made.evidence, made.items, made.arrays = {"holds": False}, "witness", {"point": [str(v) for v in point]}, {}
    found = page_of(made)
    assert found.headings[0] == (1, "Verified: a counterexample")
    low, high = Fraction(-1, 2), Fraction(3, 2)
    assert greys(found, "the counterexample as") == [(round(255 * (v - low) / (high - low)),) for v in point]
    assert greys(found, "the counterexample minus") == [(47, 95, 179), tuple(round(255 - (255 - full) * Fraction(1, 2)) for full in (192, 50, 43)),
                                                        *[(255, 255, 255)] * 14]
    assert "full colour 0.5" in found.text


def test_inputs_that_are_no_images_are_listed() -> None:
    for made in (robust_vectors.bases().leaf, region_vectors.bases().leaf, accuracy_vectors.specimen()):
        assert page_of(made).images == []
    wide = image_specimen((1, 32))
    found = page_of(wide)
    assert found.images == [] and len(found.table("input")) == 24 and "8 inputs of 32 left out" in found.text
    assert found.table("input")[0] == ["X_0", "1", "0.875", "1"]


def test_pictures_of_a_data_set_show_rows_and_their_counterexamples() -> None:
    made = image_specimen((1, 16))
    layers: Layers = (([[1.0, -1.0] + [0.0] * 14], [0]), ([[1], [0]], [0, 0.25]))
    data = accuracy_vectors.specimen()
    data.given |= {"radius": "1/2", "clip": ["0", "1"]}
    point = _LEVELS[0] / 16
    point[:2] = 0.5, 0.25
    data.files = {**made.files, "model": ("net.onnx", model(layers, shape=(1, 16))), "labels": ("labels.npy", npy(np.array([0])))}
    data.items, data.arrays, data.says = {}, {"witness_row": np.array([0], "<i4"), "witness": point[None]}, accuracy_vectors.told(0, 1, 1)
    found = page_of(data)
    assert [image["alt"] for image in found.images] == ["row 0 as an image", "the counterexample as an image",
                                                        "the counterexample minus the point as an image"]
    assert greys(found, "row 0") == [level(v) for v in (1, 0, 0.25, 0.5)] * 4
    assert greys(found, "the counterexample as") == [level(v) for v in point.tolist()]
    assert "At the counterexample class 1 has 0.25, class 0 has 0.25, computed exactly." in found.text


def test_the_layout_is_the_model_s_or_a_square() -> None:
    assert image_shape((1, 64), 64) == Shape(1, 8, 8, guessed=True) and image_shape((784,), 784) == Shape(1, 28, 28, guessed=True)
    assert image_shape((1, 3, 32, 32), 3072) == image_shape((3, 32, 32), 3072) == Shape(3, 32, 32)
    assert image_shape((1, 28, 28), 784) == image_shape((28, 28), 784) == image_shape((1, 1, 28, 28), 784) == Shape(1, 28, 28)
    for shape in ((1, 5), (1, 9), (1, 2, 8, 8), (1, 20), (), (1, 1, 1, 2), (1, 3072)):
        assert image_shape(shape, int(np.prod(shape))) is None
    assert image_shape((1, 1, 600, 600), 360_000) is None


def test_a_png_of_many_blocks_is_read_again() -> None:
    rng = np.random.default_rng(1)
    data = rng.integers(0, 256, 200 * 250 * 3, dtype=np.uint8)
    read = pixels({"src": "data:image/png;base64," + base64.b64encode(png(data.tobytes(), 250, 200, 3)).decode(), "width": "250", "height": "200"})
    assert read[:2] == (250, 200) and np.array_equal(np.array(read[2], np.uint8).reshape(-1), data)
    with pytest.raises(ValueError, match="fill"):
        png(b"123", 2, 2, 1)
