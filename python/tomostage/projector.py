# SPDX-License-Identifier: Apache-2.0
"""Projection and its adjoint as an operator on arrays."""
import copy
import math
import threading
from collections import OrderedDict, namedtuple

from . import _core
from .arrays import as_array, device_of, empty, handle, kind_of, stream_of
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
        self.grid = grid if isinstance(grid, Grid) else Grid(grid)
        self.stage = f"radon {rays}" + (f" method={method}" if method else "")
        self._threads, self._adjoint = threads, False
        self._operators, self._lock = OrderedDict(), threading.Lock()
        sinogram = self._operator("cpu", 0, 1).describe()[1]
        self.in_shape = self.grid.shape
        self.out_shape = tuple(axis[1] for axis in sinogram["axes"])[-len(self.in_shape) :]

    def _operator(self, device, stream, slices):
        """Returns the operator of the library, of which each stream has its own: its calls follow each other."""
        key = (device, stream, slices)
        if key not in self._operators:
            import numpy

            shape = self.grid.shape if len(self.grid.shape) == 3 else (slices, *self.grid.shape)
            about = asimage(numpy.broadcast_to(numpy.float32(0), shape), spacing=self.grid.spacing).description()
            self._operators[key] = _core.Operator(self.stage, about, device, self._threads)
            if len(self._operators) > 8:
                self._operators.popitem(last=False)
        self._operators.move_to_end(key)
        return self._operators[key]

    def _call(self, what, x, out, inside, outside):
        x = as_array(x)
        if tuple(x.shape[-len(inside) :]) != inside:
            raise ValueError(f"the array has the shape {tuple(x.shape)}, which does not end in {inside}")
        device, stream, lead = device_of(x), stream_of(x), tuple(x.shape[: -len(inside)])
        if device >= 0 and kind_of(x) == "jax":
            raise TypeError("a projector takes JAX arrays in host memory only")
        if out is None:
            out = empty(lead + outside, "float32", x)
        elif tuple(out.shape) != lead + outside:
            raise ValueError(f"out has the shape {tuple(out.shape)}, not {lead + outside}")
        # Slices of a grid of (y, x) do not depend on each other: a batch of them is one volume.
        slices = math.prod(lead) if len(inside) == 2 else 1
        with self._lock:
            operator = self._operator("cpu" if device < 0 else f"cuda:{device}", stream, slices)
            operator.call(what, handle(x), handle(out, writable=True), stream)
        return out

    def __call__(self, x, out=None):
        """Returns A x; out: an array for it."""
        return self._call(ADJOINT if self._adjoint else APPLY, x, out, self.in_shape, self.out_shape)

    @property
    def T(self):
        """The adjoint, an operator as this one."""
        adjoint = copy.copy(self)
        adjoint._adjoint = not self._adjoint
        adjoint.in_shape, adjoint.out_shape = self.out_shape, self.in_shape
        return adjoint

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

    def __repr__(self):
        return f"<tomostage.Projector {self.in_shape} -> {self.out_shape}>"


Grid.__module__ = Projector.__module__ = "tomostage"
