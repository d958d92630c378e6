# SPDX-License-Identifier: Apache-2.0
"""A portable libtomostage takes the cuFFT that its process has loaded, else that of NVIDIA's package for Python beside it,
else the system's. Libraries that say who they are stand for cuFFT; no device is needed.

usage: portable_cufft.py FOLDER-OF-LIBTOMOSTAGE
"""
import ctypes
import os
import re
import subprocess
import sys
import tempfile

FUNCTIONS = ["Create", "Destroy", "SetAutoAllocation", "MakePlanMany64", "SetWorkArea", "SetStream", "ExecC2C", "ExecR2C", "ExecC2R",
             "GetVersion"]


def ask(library, loaded):
    """In a process of its own: makes a plan of cuFFT, which fails, and prints why."""
    if loaded:
        ctypes.CDLL(loaded)
    lib, libc = ctypes.CDLL(library), ctypes.CDLL(None)
    lib.ts_diag_create.restype = ctypes.c_void_p
    diag = ctypes.c_void_p(lib.ts_diag_create())
    assert lib.ts_cuda_fft_create(None, b"filter", ctypes.create_string_buffer(1024), None, diag, ctypes.byref(ctypes.c_void_p())) != 0
    lib.ts_diag_print(diag, ctypes.c_void_p.in_dll(libc, "stdout"))
    libc.fflush(None)


def main(folder):
    with open(os.path.join(folder, "libtomostage.so"), "rb") as file:
        name = re.search(rb"libcufft\.so\.\d+", file.read()).group().decode()
    major = 13 if name.endswith(".12") else 12
    with tempfile.TemporaryDirectory() as place:
        def fake(where, says):
            os.makedirs(f"{place}/{where}", exist_ok=True)
            code = f'#include <unistd.h>\n__attribute__((constructor)) static void say(void) {{ (void)!write(1, "<{says}>", {len(says) + 2}); }}\n'
            code += "".join(f"int cufft{one}(void) {{ return 5; }}\n" for one in FUNCTIONS)
            subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-", f"-Wl,-soname,{name}", "-o", f"{place}/{where}/{name}"], input=code,
                           text=True, check=True)
            return f"{place}/{where}/{name}"

        def said(loaded="", system=""):
            environment = {"LD_LIBRARY_PATH": system, "PATH": os.environ["PATH"]}
            return subprocess.run([sys.executable, __file__, "--ask", f"{place}/site-packages/tomostage/lib/libtomostage.so", loaded],
                                  env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout

        os.makedirs(f"{place}/site-packages/tomostage")
        os.symlink(folder, f"{place}/site-packages/tomostage/lib")
        loaded = fake("elsewhere", "loaded")
        system = os.path.dirname(fake("system", "system"))
        for expected, more in (("<system>", {}), ("<loaded>", {"loaded": loaded})):
            assert re.findall("<.*?>", said(system=system, **more)) == [expected], said(system=system, **more)
        for where in "nvidia/cufft/lib", f"nvidia/cu{major}/lib":
            fake(f"site-packages/{where}", where)
            assert re.findall("<.*?>", said(system=system)) == [f"<{where}>"], said(system=system)
            assert re.findall("<.*?>", said(system=system, loaded=loaded)) == ["<loaded>"]
    print("cuFFT is found in every place")


if sys.argv[1] == "--ask":
    ask(sys.argv[2], sys.argv[3])
else:
    main(os.path.realpath(sys.argv[1]))
