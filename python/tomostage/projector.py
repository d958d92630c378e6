# SPDX-License-Identifier: Apache-2.0
"""Projection and its adjoint as an operator on arrays."""
import copy
import math
from collections import namedtuple

from . import _core
from .arrays import as_array, empty, flipped, kind_of
from .image import asimage

APPLY, ADJOINT, NORMAL = range(3)


class Grid(namedtuple("Grid", "shape spacing")):
    """The pixels of a projector: the shape (y, x) or (z, y, x), and their distances in mm, one number or one for each axis."""

    __slots__ = ()

    def __new__(cls, shape, spacing=1.0):
        return super().__new__(cls, tuple(int(n) for n in shape), spacing)


class Projector:
    """A x, its exact adjoint A.T y, and A.normal(x) = A.T A x, of float32 arrays of NumPy, CuPy and PyTorch.

    grid: a Grid, or the shape (y, x) or (z, y, x). rays: rays.parallel(...) or rays.fan(...). method: of the stage radon.
    threads: on the CPU; 0: all. Axes before those of the grid are a batch, which is computed at once. Results are where the
    input is, and on its stream. in_shape, out_shape: of one image and its sinogram.
    """

    def __init__(self, grid, rays, method=None, threads=0):
        import numpy

        self.grid = grid if isinstance(grid, Grid) else Grid(grid)
        self.stage = f"radon {rays}" + (f" method={method}" if method else "")
        flat = len(self.grid.shape) == 2  # slices do not depend on each other: a batch of them is one volume
        about = asimage(numpy.broadcast_to(numpy.float32(0), (1,) * flat + self.grid.shape), spacing=self._spacings()).description()
        self._core, self._flipped, self._adjoint = _core.Projector(self.stage, about, flat, threads), rays.flipped, False
        self.in_shape, self.out_shape = self._core.shape(0), self._core.shape(1)
        self._transposed = None

    def _spacings(self):
        """Returns the distance of pixels along z, y and x, or for all."""
        spacing = self.grid.spacing
        return (1.0, *spacing) if hasattr(spacing, "__len__") and len(spacing) == 2 == len(self.grid.shape) else spacing

    def _call(self, what, x, out, inside, outside):
        if out is None:
            x = as_array(x)
            out = empty(tuple(x.shape[: -len(inside)]) + outside, "float32", x)
        if self._flipped and what != NORMAL:
            return self._call_flipped(what, x, out)
        self._core.call(what, x, out)
        return out

    def _call_flipped(self, what, x, out):
        """Does the same with sinograms whose detector runs the other way."""
        if what == ADJOINT:
            self._core.call(what, flipped(x), out)
            return out
        made = empty(tuple(out.shape), "float32", out)
        self._core.call(what, x, made)
        if kind_of(out) == "jax":
            return flipped(made)
        out[...] = flipped(made)
        return out

    def __call__(self, x, out=None):
        """Returns A x; out: an array for it."""
        return self._call(ADJOINT if self._adjoint else APPLY, x, out, self.in_shape, self.out_shape)

    @property
    def T(self):
        """The adjoint, an operator as this one."""
        if self._transposed is None:
            adjoint = copy.copy(self)
            adjoint._adjoint, adjoint._transposed = not self._adjoint, self
            adjoint.in_shape, adjoint.out_shape = self.out_shape, self.in_shape
            self._transposed = adjoint
        return self._transposed

    def normal(self, x, out=None):
        """Returns A.T A x."""
        if self._adjoint:
            return self.T(self(x), out)
        return self._call(NORMAL, x, out, self.in_shape, self.in_shape)

    def norm(self, iterations=100, tolerance=1e-5):
        """Returns the largest singular value, by the power method from fixed random numbers, on the CPU."""
        import numpy

        x, value = numpy.random.default_rng(0).random(self.in_shape, numpy.float32), 0.0
        for _ in range(iterations):
            x /= numpy.linalg.norm(x)
            x, before = self.normal(x), value
            value = math.sqrt(numpy.linalg.norm(x))
            if abs(value - before) <= tolerance * value:
                break
        return value

    def linop(self):
        """Returns a scipy.sparse.linalg.LinearOperator on flat arrays."""
        import numpy
        from scipy.sparse.linalg import LinearOperator

        def flat(operator):
            return lambda x: operator(numpy.asarray(x, numpy.float32).reshape(operator.in_shape)).ravel()

        shape = (math.prod(self.out_shape), math.prod(self.in_shape))
        return LinearOperator(shape, matvec=flat(self), rmatvec=flat(self.T), dtype=numpy.float32)

    def torch(self):
        """Returns a torch.nn.Module, with gradients, for networks: it works under torch.compile, vmap and autocast."""
        from .torch_layer import Layer

        return Layer(self)

    def jax(self):
        """Returns a function of JAX arrays, with gradients, for jit, vmap and grad, on the CPU and on CUDA devices."""
        from .jax_layer import Layer

        return Layer(self)

    def __repr__(self):
        return f"<tomostage.Projector {self.in_shape} -> {self.out_shape}>"


Grid.__module__ = Projector.__module__ = "tomostage"
