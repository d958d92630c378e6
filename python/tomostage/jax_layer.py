# SPDX-License-Identifier: Apache-2.0
"""Projectors as functions of JAX, by its foreign function interface."""
import functools

import jax
import numpy

from . import _core

# What was compiled calls a projector by its address, whenever that is: projectors of JAX are kept.
_kept = {}


@functools.cache
def _register():
    jax.ffi.register_ffi_target("tomostage_project", _core.xla_handler(False), platform="cpu")
    jax.ffi.register_ffi_target("tomostage_project", _core.xla_handler(True), platform="CUDA")


class Layer:
    """y = layer(x), with the gradient by the adjoint; layer.T is the layer of the adjoint."""

    def __init__(self, projector):
        _register()
        self.projector = projector
        _kept[projector._core.address()] = projector._core
        self._apply = jax.custom_vjp(functools.partial(self._call, projector._adjoint))
        self._apply.defvjp(lambda x: (self._apply(x), None), lambda _, gradient: (self.T._apply(gradient),))

    def _call(self, adjoint, x):
        operator = self.projector
        lead = x.shape[: x.ndim - len(operator.in_shape)]
        made = jax.ShapeDtypeStruct((*lead, *operator.out_shape), numpy.float32)
        project = jax.ffi.ffi_call("tomostage_project", made, vmap_method="broadcast_all")
        x = x[..., ::-1] if operator._flipped and adjoint else x
        y = project(x, projector=numpy.int64(operator._core.address()), what=numpy.int64(adjoint))
        return y[..., ::-1] if operator._flipped and not adjoint else y

    def __call__(self, x):
        shape, end = jax.numpy.shape(x), self.projector.in_shape
        if tuple(shape[len(shape) - len(end) :]) != end:
            raise ValueError(f"the array has the shape {shape}, which does not end in {end}")
        return self._apply(jax.numpy.asarray(x, jax.numpy.float32))

    @functools.cached_property
    def T(self):
        return Layer(self.projector.T)

    def __repr__(self):
        return repr(self.projector)
