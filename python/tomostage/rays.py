# SPDX-License-Identifier: Apache-2.0
"""The rays of a Projector: parallel and fan beams. Angles are in degrees, lengths in mm (docs/geometry.md)."""
from collections import namedtuple

from .chain import text_of


class Rays(namedtuple("Rays", "parameters")):
    """Rays, as parameters of the stage radon."""

    __slots__ = ()

    def __str__(self):
        return " ".join(f"{key}={text_of(value)}" for key, value in self.parameters.items() if value is not None)


def parallel(angles, detectors=None, spacing=None, center=None):
    """Parallel rays. angles: of the views, or how many there are over half a turn. detectors, spacing: of a row of the
    detector; None: as many as the slice's diagonal takes, at the distance of its pixels. center: the detector index of the
    rotation axis; None: the middle."""
    views = "views" if isinstance(angles, int) else "angles"
    return Rays({views: angles, "detectors": detectors, "detector_spacing": spacing, "center": center})


def fan(angles, source_axis, source_detector, detectors=None, spacing=None, center=None, flat=True):
    """Rays of a source at source_axis mm from the rotation axis and source_detector mm from the detector, which is a line
    (flat) or an arc around the source. angles: of the views, or how many there are over a turn."""
    beam = {"beam": "fan-flat" if flat else "fan-arc", "source_axis": source_axis, "source_detector": source_detector}
    return Rays({**parallel(angles, detectors, spacing, center).parameters, **beam})
