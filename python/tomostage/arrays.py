# SPDX-License-Identifier: Apache-2.0
"""Arrays of NumPy, PyTorch, CuPy and JAX: where they are, on which stream, and empty ones of the same kind."""
import sys

from . import _core

CUDA = 2  # kDLCUDA of DLPack


def kind_of(x):
    """Returns "numpy", "torch", "cupy" or "jax"; None for anything else. It imports none of them."""
    package = type(x).__module__.partition(".")[0]
    return {"jaxlib": "jax"}.get(package, package) if package in ("numpy", "torch", "cupy", "jax", "jaxlib") else None


def as_array(x):
    """Returns x if it is an array, else what NumPy makes of it (another package's array, an object with a buffer, a list)."""
    if kind_of(x):
        return x
    import numpy

    return numpy.from_dlpack(x) if hasattr(x, "__dlpack__") else numpy.asarray(x)


def device_of(x):
    """Returns the number of the CUDA device that has the array; -1: host memory."""
    known = kind_of(x)
    if known == "numpy":
        return -1
    if known == "torch":
        return x.get_device()
    kind, index = x.__dlpack_device__()
    return int(index) if kind == CUDA else -1


def stream_of(x):
    """Returns the address of the caller's current stream on the device of x, 0 for the default stream."""
    kind, device = kind_of(x), device_of(x)
    if device < 0:
        return 0
    if kind == "torch":
        return sys.modules["torch"].cuda.current_stream(device).cuda_stream
    if kind == "cupy":
        with sys.modules["cupy"].cuda.Device(device):
            return sys.modules["cupy"].cuda.get_current_stream().ptr
    return 0


def handle(x, writable=False):
    """Returns the array for the library, which uses it where it is."""
    kind = kind_of(x)
    if kind == "numpy":
        if writable and not x.flags.writeable:
            raise ValueError("the array is read-only")
        return _core.Array(x.view("uint8") if x.dtype.kind == "b" else x)
    # The stream of the caller is the one on which x is made, so that nothing has to wait for it.
    if kind == "torch":
        if x.requires_grad:
            raise ValueError("the tensor requires a gradient, which only Projector.torch() has; x.detach() has none")
        return _core.Array(sys.modules["torch"].utils.dlpack.to_dlpack(x), stream_of(x))
    if device_of(x) < 0:
        return _core.Array(x.__dlpack__())
    if kind == "cupy":
        return _core.Array(x.__dlpack__(stream=-1), stream_of(x))
    return _core.Array(x.__dlpack__(stream=1), 0)  # JAX tells no stream: the default one is made to wait


def operand(x, writable):
    """Returns an array for a projector, of those that the extension does not know by itself."""
    x = as_array(x)
    if kind_of(x) == "jax" and device_of(x) >= 0:
        raise TypeError("a projector takes JAX arrays in host memory only; that of Projector.jax() takes all")
    return handle(x, writable)


def empty(shape, dtype, like=None):
    """Returns an uninitialized array of the kind and on the device of `like`; None: a NumPy array."""
    kind = kind_of(like)
    if kind == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype), device=like.device)
    if kind == "cupy":
        with like.device:
            return sys.modules["cupy"].empty(shape, dtype)
    if kind == "jax":
        import jax

        # No other array shares its memory, so it may be filled before anyone has seen it.
        return jax.device_put(jax.numpy.zeros(shape, dtype), next(iter(like.devices()))).block_until_ready()
    import numpy

    return numpy.empty(shape, dtype)


def flipped(x):
    """Returns a copy whose last axis runs the other way."""
    return x.flip(-1) if kind_of(x) == "torch" else x[..., ::-1].copy()
