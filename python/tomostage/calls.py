# SPDX-License-Identifier: Apache-2.0
"""What the functions of stages.py do: with an array they run the stage on it, without one they are a part of a chain."""
import functools
import itertools
import sys
import warnings

from .arrays import as_array, device_of, kind_of
from .chain import Chain, memory, text_of
from .errors import ChainWarning
from .image import Image, asimage

_numbers = itertools.count(1)


def _is_array(value):
    return isinstance(value, Image) or kind_of(value) is not None


def _part(name, parameters, first=""):
    """Returns a part of a chain. References that are arrays become inputs of it."""
    words, inputs, arrays = [name, *([first] if first else [])], [], {}
    for key, value in parameters.items():
        if value is None:
            continue
        if _is_array(value) and getattr(value, "ndim", 0) >= 2 and key != "weights":
            label = f"{key}_{next(_numbers)}"
            inputs.append(f"input {label} memory {label} | ")
            arrays[label], value = asimage(value), label
        words.append(f"{key}={text_of(value)}")
    return Chain._of("".join(inputs) + " ".join(words), arrays)


def _on_array(image, chain, angles, level=3):
    """Runs the chain on an array. Returns one of its kind, or an Image for an Image. level: where warnings are said to be."""
    described = isinstance(image, Image)
    if not described:
        image = as_array(image)
        if image.ndim > 4 or image.ndim == 4 and device_of(image) >= 0:
            return _on_batch(image, chain, angles, level + 2)
        image = asimage(image, angles=angles)
    device = device_of(image.array)
    result = (memory(image) | chain).run("cpu" if device < 0 else f"cuda:{device}")
    for record in result.warnings:
        warnings.warn(str(record), ChainWarning, stacklevel=level)
    made = result.images["data"]
    if described:
        return made
    if image.ndim == 2:
        return made.array.reshape(made.shape[:-3] + made.shape[-2:])
    return made.array.reshape((1, *made.shape)) if made.ndim < image.ndim else made.array


def _on_batch(array, chain, angles, level):
    """Runs the chain on volumes with several axes before them, and on a device, which takes one volume at a time."""
    lead, volumes = array.shape[:-3], array.reshape((-1, *array.shape[-3:]))
    if device_of(array) < 0:
        made = _on_array(volumes, chain, angles, level)
    else:
        package = sys.modules[{"jax": "jax.numpy"}.get(kind_of(array), kind_of(array))]
        made = []
        for volume in volumes:  # no comprehension, which has a place of its own for warnings
            made.append(_on_array(volume, chain, angles, level))
        made = package.stack(made)
    return made.reshape((*lead, *made.shape[1:]))


def stage(function, describes_scan=False):
    """Makes the function of a stage of a signature, which Python checks."""

    @functools.wraps(function)
    def call(image=None, /, **parameters):
        function(image, **parameters)
        angles = parameters.pop("angles", None) if describes_scan else None
        part = _part(function.__name__, parameters)
        return part if image is None else _on_array(image, part, angles)

    return call


# Of a stage that only takes scans, whose angles may be given with the array.
scan_stage = functools.partial(stage, describes_scan=True)


def source(function):
    """Makes the function of an input of a signature."""

    @functools.wraps(function)
    def call(paths, /, **parameters):
        function(paths, **parameters)
        return _part(function.__name__, parameters, text_of(paths))

    return call
