# SPDX-License-Identifier: Apache-2.0
# A package of Spack 1.0 or later, for a clone of the tree:
#   spack repo create ~/tomostage-spack tomostage_repo && mkdir -p ~/tomostage-spack/packages/tomostage
#   cp cmake/packaging/package.py ~/tomostage-spack/packages/tomostage && spack repo add ~/tomostage-spack
#   spack dev-build tomostage@0.2.0 +cuda cuda_arch=90
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Tomostage(CMakePackage, CudaPackage):
    """Medical imaging pipelines: a chain of stages, written in a few lines of YAML, over CT, MR and PET studies and over
    projections, with HDF5, NIfTI, DICOM, TIFF and PNG as results."""

    has_code = True
    license("Apache-2.0")

    version("0.2.0")

    variant("mpi", default=False, description="several processes carry out one run")
    variant("fftw", default=True, description="Fourier transforms by FFTW (GPL); else by KissFFT (BSD)")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libyaml")
    depends_on("hdf5+hl~mpi")
    depends_on("dcmtk")
    depends_on("openssl@3:")
    depends_on("libdeflate")
    depends_on("isa-l")
    depends_on("zlib-api")
    depends_on("openjpeg@2.5:")
    depends_on("libtiff@4.5:")
    depends_on("lz4")
    depends_on("zstd")
    depends_on("c-blosc")
    depends_on("fftw precision=float", when="+fftw")
    depends_on("kissfft", when="~fftw")
    depends_on("mpi", when="+mpi")
    depends_on("cuda@12:", when="+cuda")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs that it is for: cuda_arch=90")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define("TOMOSTAGE_TESTS", False),
            self.define("TOMOSTAGE_SHARED", True),
            self.define("TOMOSTAGE_VIEW", "off"),
            self.define("TOMOSTAGE_CUDA", "on" if self.spec.satisfies("+cuda") else "off"),
            self.define("TOMOSTAGE_FFT", "fftw" if self.spec.satisfies("+fftw") else "kissfft"),
            self.define_from_variant("TOMOSTAGE_MPI", "mpi"),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args
