# SPDX-License-Identifier: Apache-2.0
"""Projectors as an operator of PyTorch: torch.ops.tomostage.project."""
import weakref

import torch

# An operator of PyTorch takes tensors and numbers, and no objects: it knows projectors by number.
_projectors = weakref.WeakValueDictionary()


def _of(projector, adjoint):
    return _projectors[projector].T if adjoint else _projectors[projector]


@torch.library.custom_op("tomostage::project", mutates_args=())
def project(x: torch.Tensor, projector: int, adjoint: bool) -> torch.Tensor:
    return _of(projector, adjoint)(x.detach().contiguous())


@project.register_fake
def _(x, projector, adjoint):
    operator = _of(projector, adjoint)
    lead = x.shape[: x.ndim - len(operator.in_shape)]
    return x.new_empty((*lead, *operator.out_shape), dtype=torch.float32)


def _setup_context(ctx, inputs, output):
    _, ctx.projector, ctx.adjoint = inputs


def _backward(ctx, gradient):
    return project(gradient, ctx.projector, not ctx.adjoint), None, None


@project.register_vmap
def _(info, in_dims, x, projector, adjoint):
    return project(x.movedim(in_dims[0], 0), projector, adjoint), 0


project.register_autograd(_backward, setup_context=_setup_context)
for _device in ("cpu", "cuda"):
    project.register_autocast(_device, torch.float32)


class Layer(torch.nn.Module):
    """y = layer(x), with the gradient by the adjoint; layer.T is the layer of the adjoint."""

    def __init__(self, projector, adjoint=False):
        super().__init__()
        self.projector, self.adjoint = projector, adjoint
        _projectors[id(projector)] = projector

    def forward(self, x):
        return project(x, id(self.projector), self.adjoint)

    @property
    def T(self):
        return Layer(self.projector, not self.adjoint)

    def extra_repr(self):
        return repr(self.projector.T if self.adjoint else self.projector)
