#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An example of a stage whose map is a Python function: `folded` replaces each value by its distance from `about`. It is
added to a context of libtomostage with ctypes, and a chain on arrays runs it before a built-in stage.

    python3 python_map.py /usr/local/lib/libtomostage.so
"""
import array
import ctypes
import math
import sys

F32, VOLUMES, REAL = 6, 1, 1  # TS_F32, TS_TAKES_VOLUMES, TS_PARAM_REAL


class Axis(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("n", ctypes.c_int64), ("spacing", ctypes.c_double), ("unit", ctypes.c_char_p),
                ("positions", ctypes.c_void_p), ("first", ctypes.c_double), ("name", ctypes.c_char_p)]


class Image(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int), ("axes", Axis * 4), ("dtype", ctypes.c_int), ("quantity", ctypes.c_int),
                ("unit", ctypes.c_char_p), ("has_geometry", ctypes.c_bool), ("frame", ctypes.c_int),
                ("geometry", ctypes.c_double * 15), ("beam_kind", ctypes.c_int), ("beam", ctypes.c_double * 2),
                ("z_first", ctypes.c_int64), ("data", ctypes.c_void_p), ("masked", ctypes.c_bool),
                ("labels", ctypes.c_ubyte), ("valid", ctypes.c_void_p)]


class Array(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int),
                ("n", ctypes.c_int64 * 4), ("stride", ctypes.c_int64 * 4), ("cuda_device", ctypes.c_int32),
                ("cuda_stream", ctypes.c_void_p)]


class Options(ctypes.Structure):
    """The first members; `size` tells that the others have their defaults."""

    _fields_ = [("size", ctypes.c_size_t), ("device", ctypes.c_char_p)]


class Param(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("unit", ctypes.c_char_p), ("doc", ctypes.c_char_p),
                ("offset", ctypes.c_size_t), ("min", ctypes.c_double), ("max", ctypes.c_double),
                ("value", ctypes.c_double), ("text", ctypes.c_char_p), ("choices", ctypes.c_void_p)]


class Call(ctypes.Structure):
    pass


REFUSE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Call), ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p,
                          ctypes.c_char_p)
MAP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Call), ctypes.POINTER(Image))
Call._fields_ = [("size", ctypes.c_size_t), ("params", ctypes.c_void_p), ("images", ctypes.POINTER(Image)),
                 ("n_in", ctypes.c_int), ("threads", ctypes.c_int), ("scratch", ctypes.c_void_p),
                 ("cuda_stream", ctypes.c_void_p), ("on_cuda", ctypes.c_bool), ("refuse", REFUSE),
                 ("inside", ctypes.c_void_p)]


class Stage(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("version", ctypes.c_char_p),
                ("summary", ctypes.c_char_p), ("doc", ctypes.c_char_p), ("axes", ctypes.c_uint),
                ("dtypes", ctypes.c_uint), ("params", ctypes.POINTER(Param)), ("n_params", ctypes.c_size_t),
                ("param_size", ctypes.c_size_t), ("params_bytes", ctypes.c_size_t), ("keeps_valid", ctypes.c_bool),
                ("shape", MAP), ("halo", ctypes.c_void_p), ("scratch", ctypes.c_void_p), ("map", MAP),
                ("map_cuda", ctypes.c_void_p)]


class Params(ctypes.Structure):
    _fields_ = [("about", ctypes.c_double)]


@MAP
def folded_map(call, out):
    """Exceptions cannot leave a callback: they become errors of the run."""
    try:
        about = ctypes.cast(call.contents.params, ctypes.POINTER(Params)).contents.about
        n = math.prod(out.contents.axes[axis].n for axis in range(3))
        values, result = ((ctypes.c_float * n).from_address(image.data) for image in (call.contents.images[0], out.contents))
        for i, value in enumerate(values):
            result[i] = abs(value - about)
        return 0
    except Exception as error:  # pylint: disable=broad-except
        return call.contents.refuse(call, 1, b"folded-python", repr(error).encode(), None)


FOLDED_PARAMS = (Param * 1)(Param(b"about", REAL, b"value", b"the value that becomes 0", Params.about.offset, 0, 0, 0))
FOLDED = Stage(size=ctypes.sizeof(Stage), name=b"folded", version=b"1.0", summary=b"distance of each value from one",
               axes=VOLUMES, dtypes=1 << F32, params=FOLDED_PARAMS, n_params=1, param_size=ctypes.sizeof(Param),
               params_bytes=ctypes.sizeof(Params), keeps_valid=True, map=folded_map)


class Library:
    """As much of libtomostage as this example needs."""

    def __init__(self, path):
        self.functions = ctypes.CDLL(path)
        self.functions.ts_diag_create.restype = ctypes.c_void_p
        self.functions.ts_diag_text.restype = ctypes.c_size_t
        self.diag = ctypes.c_void_p(self.functions.ts_diag_create())
        self.context = ctypes.c_void_p()
        self.call("ts_context_create", None, ctypes.byref(self.context))

    def call(self, function, *arguments):
        if getattr(self.functions, function)(*arguments, self.diag):
            text = ctypes.create_string_buffer(4096)
            self.functions.ts_diag_text(self.diag, ctypes.c_bool(False), text, ctypes.c_size_t(len(text)))
            self.functions.ts_diag_clear(self.diag)
            raise RuntimeError(text.value.decode())

    def add_stage(self, stage):
        self.call("ts_context_add_stage", self.context, ctypes.byref(stage))

    def run(self, text, values, shape):
        """Runs a chain whose input is `memory volume` on an array.array of floats; returns the last image."""
        chain, plan, run, text = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), text.encode()
        result = array.array("f", bytes(4 * len(values)))
        both = [Array(ctypes.sizeof(Array), memory.buffer_info()[0], F32, 3, (ctypes.c_int64 * 4)(*shape), cuda_device=-1)
                for memory in (values, result)]
        try:
            self.call("ts_context_parse", self.context, text, ctypes.c_size_t(len(text)), b"chain", None, ctypes.byref(chain))
            self.call("ts_chain_set_array", chain, b"volume", ctypes.byref(both[0]), None)
            options = Options(ctypes.sizeof(Options), b"cpu")
            self.call("ts_plan_create", chain, ctypes.byref(options), ctypes.byref(plan))
            self.call("ts_run_create", plan, ctypes.byref(run))
            self.call("ts_run_set_array", run, b"data", ctypes.byref(both[1]))
            self.call("ts_run_execute", run)
        finally:
            self.functions.ts_run_destroy(run)
            self.functions.ts_plan_destroy(plan)
            self.functions.ts_chain_destroy(chain)
        return result

    def close(self):
        self.functions.ts_context_destroy(self.context)
        self.functions.ts_diag_destroy(self.diag)


def main():
    library = Library(sys.argv[1] if len(sys.argv) > 1 else "libtomostage.so")
    library.add_stage(FOLDED)
    values = array.array("f", range(4 * 8 * 8))
    result = library.run("memory volume | folded about=100 | statistics", values, (4, 8, 8))
    wrong = [i for i, value in enumerate(values) if result[i] != abs(value - 100)]
    print(f"{len(values)} values through Python, {len(wrong)} wrong")
    library.close()
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
