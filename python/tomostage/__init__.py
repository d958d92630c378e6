# SPDX-License-Identifier: Apache-2.0
"""Medical imaging pipelines from a declarative chain of stages.

    import tomostage as ts

    image = ts.read("study", series=2)
    result = (ts.dicom("study", series=2) | ts.box(radius=2) | ts.save(name="smooth") | ts.equalize()).run()
    smooth = ts.gaussian(image, sigma=1.5)

docs/python.md is the guide. Importing this starts nothing, and asks no device.
"""
from ._core import version as _version
from .chain import Chain, Check, Result, Sweep, Table, digest, memory, read, sweep
from .errors import ChainError, ChainWarning, Record
from .image import Axis, Image, asimage
from .progress import Event
from .projector import Grid, Projector
from . import rays
from .results import Picture, batch, diff, open, rerun, verify
from .stages import *  # noqa: F403
from . import stages as _stages

__version__ = _version()
__all__ = ["Axis", "Chain", "ChainError", "ChainWarning", "Check", "Event", "Grid", "Image", "Picture", "Projector", "Record", "Result",
           "Sweep", "Table", "asimage", "batch", "diff", "digest", "memory", "open", "rays", "read", "rerun", "sweep", "verify",
           *_stages.__all__]
