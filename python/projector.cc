/* SPDX-License-Identifier: Apache-2.0
 *
 * Projectors: operators of the library on arrays of Python and of JAX. What is called thousands of
 * times a second is here, and asks Python for nothing that it need not know.
 */
#include <algorithm>
#include <list>
#include <mutex>
#include <tomostage_operator.h>

#include "core.h"
#include "xla_ffi.h"

/* The functions of a type of arrays that has them at __dlpack_c_exchange_api__ (DLPack 1.3), as
 * PyTorch: they tell where an array is without an object for it. */
struct ExchangeApi {
    uint32_t major, minor;
    const ExchangeApi *previous;
    void *allocate, *managed_from_object, *object_from_managed;
    int (*tensor_from_object)(void *object, nb::dlpack::dltensor *tensor);
    int (*current_stream)(int32_t device_type, int32_t device, void **stream);
};

/* Where an array is. */
struct Where {
    char *data = nullptr;
    int rank = 0, device = -1;
    const int64_t *n = nullptr, *stride = nullptr; /* strides of `unit` bytes; NULL: C order */
    int64_t unit = 1;
    void *stream = nullptr;
    enum ts_dtype dtype = TS_F32;

    static std::string shape_of(const int64_t *n, int rank)
    {
        std::string text = "(";
        for (int d = 0; d < rank; d++)
            text += std::to_string(n[d]) + (d + 1 < rank ? ", " : rank == 1 ? "," : "");
        return text + ")";
    }

    std::string shape() const
    {
        return shape_of(n, rank);
    }

    bool ends_in(const std::vector<int64_t> &end) const
    {
        return rank >= (int)end.size() && std::equal(end.begin(), end.end(), n + rank - end.size());
    }

    void check_order() const
    {
        int64_t step = (int64_t)dtype_bytes[dtype] / unit;
        for (int d = rank - 1; d >= 0; step *= n[d], d--)
            if (n[d] > 1 && stride && stride[d] != step)
                throw nb::value_error("the array is not in C order without gaps; x.contiguous() or "
                                      "numpy.ascontiguousarray(x) makes a copy that is");
    }
};

/* Where an array of Python's is while a call is at work. */
class View : public Where
{
    Py_buffer buffer = {};
    nb::object handle; /* an Array, if nothing faster tells where it is */

    static const ExchangeApi *api_of(nb::handle object)
    {
        static nb::handle last; /* the type that was asked last, which is kept */
        static const ExchangeApi *found;
        const nb::handle type = object.type();
        if (type.is(last))
            return found;
        nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
        found =
            PyCapsule_CheckExact(capsule.ptr())
                ? (const ExchangeApi *)PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api")
                : nullptr;
        PyErr_Clear();
        if (found && (found->major != 1 || !found->tensor_from_object))
            found = nullptr;
        last = type;
        last.inc_ref();
        return found;
    }

    /* Takes the array of PyTorch or another that has such functions. */
    bool take_fast(nb::handle object)
    {
        const ExchangeApi *api = api_of(object);
        nb::dlpack::dltensor tensor;
        if (!api || nb::cast<bool>(nb::getattr(object, "requires_grad", nb::bool_(false))) ||
            api->tensor_from_object(object.ptr(), &tensor) != 0) {
            PyErr_Clear();
            return false;
        }
        const bool cuda = tensor.device.device_type == nb::device::cuda::value;
        if (tensor.dtype.code != (uint8_t)nb::dlpack::dtype_code::Float ||
            tensor.dtype.bits != 32 || tensor.dtype.lanes != 1 ||
            (!cuda && tensor.device.device_type != nb::device::cpu::value))
            return false;
        data = (char *)tensor.data + tensor.byte_offset;
        rank = tensor.ndim;
        n = tensor.shape;
        stride = tensor.strides;
        unit = sizeof(float);
        device = cuda ? tensor.device.device_id : -1;
        return !cuda || api->current_stream(tensor.device.device_type, device, &stream) == 0;
    }

    /* Takes the array of NumPy, or another in host memory. */
    bool take_buffer(nb::handle object, bool writable)
    {
        if (!PyObject_CheckBuffer(object.ptr()) ||
            PyObject_GetBuffer(object.ptr(), &buffer,
                               PyBUF_FORMAT | PyBUF_STRIDES | (writable ? PyBUF_WRITABLE : 0))) {
            PyErr_Clear();
            return false;
        }
        if (!buffer.format || strcmp(buffer.format, "f") != 0 || sizeof(Py_ssize_t) != 8)
            return false;
        data = (char *)buffer.buf;
        rank = buffer.ndim;
        n = (const int64_t *)buffer.shape;
        stride = (const int64_t *)buffer.strides;
        unit = 1;
        return true;
    }

  public:
    View(nb::handle object, bool writable)
    {
        if (take_fast(object) || take_buffer(object, writable))
            return;
        handle = nb::module_::import_("tomostage.arrays").attr("operand")(object, writable);
        const Array &array = nb::cast<const Array &>(handle);
        data = (char *)const_cast<void *>(array.owner.data());
        rank = (int)array.owner.ndim();
        n = array.owner.shape_ptr();
        stride = array.owner.stride_ptr();
        unit = (int64_t)array.owner.itemsize();
        device = array.on_device() ? array.owner.device_id() : -1;
        stream = array.stream;
        dtype = array.dtype;
    }
    View(const View &) = delete;
    ~View()
    {
        if (buffer.obj)
            PyBuffer_Release(&buffer);
    }
};

/* A stage on a grid of (z, y, x), or on any number of slices (y, x). The operators of the library,
 * whose calls follow each other, are kept for each device, stream and number of slices. */
class Projector
{
    struct Kept {
        int device;
        void *stream;
        int64_t slices;
        struct ts_operator *op;
    };
    enum { KEPT = 8 };
    std::string stage;
    const About &about; /* of one slice if the grid has two axes */
    int threads;
    bool flat;
    std::vector<int64_t> shapes[2];
    std::list<Kept> kept; /* the one that was used last is first */
    std::mutex lock;

    enum ts_status find(int device, void *stream, int64_t slices, struct ts_operator **op,
                        struct ts_diag *diag)
    {
        for (auto one = kept.begin(); one != kept.end(); ++one)
            if (one->device == device && one->stream == stream && one->slices == slices) {
                *op = one->op;
                kept.splice(kept.begin(), kept, one);
                return TS_OK;
            }
        const std::string name = device < 0 ? "cpu" : "cuda:" + std::to_string(device);
        struct ts_options options = {};
        options.size = sizeof options;
        options.device = name.c_str();
        options.threads = threads;
        struct ts_image in = about.image;
        if (flat)
            in.axes[0].n = slices;
        const enum ts_status status = ts_operator_create(stage.c_str(), &in, &options, op, diag);
        if (status != TS_OK)
            return status;
        kept.push_front({device, stream, slices, *op});
        if (kept.size() > KEPT) {
            ts_operator_destroy(kept.back().op);
            kept.pop_back();
        }
        return TS_OK;
    }

    struct ts_array array_of(const Where &view, const std::vector<int64_t> &end,
                             int64_t images) const
    {
        struct ts_array array = {};
        array.size = sizeof array;
        array.data = view.data;
        array.dtype = view.dtype;
        array.rank = 4;
        array.n[0] = flat ? 1 : images;
        array.n[1] = flat ? images : end[0];
        array.n[2] = end[end.size() - 2];
        array.n[3] = end[end.size() - 1];
        array.cuda_device = view.device;
        return array;
    }

  public:
    Projector(const std::string &stage, const About &about, bool flat, int threads)
        : stage(stage), about(about), threads(threads), flat(flat)
    {
        Diag diag;
        struct ts_operator *op = nullptr;
        enum ts_status status;
        {
            nb::gil_scoped_release released;
            status = find(-1, nullptr, 1, &op, diag);
        }
        diag.check(status);
        struct ts_image images[2];
        ts_operator_describe(op, &images[0], &images[1]);
        for (int side = 0; side < 2; side++)
            for (int d = flat; d < 3; d++)
                shapes[side].push_back(images[side].axes[d].n);
    }
    Projector(const Projector &) = delete;
    ~Projector()
    {
        for (const Kept &one : kept)
            ts_operator_destroy(one.op);
    }

    nb::tuple shape(int side) const
    {
        nb::list list;
        for (int64_t size : shapes[side])
            list.append(size);
        return nb::tuple(list);
    }

    /* Computes without the GIL. what: 0 is A, 1 is its adjoint, 2 is both. */
    enum ts_status compute(int what, const Where &from, const Where &to, struct ts_diag *diag)
    {
        static decltype(&ts_operator_apply)
            const functions[] = {ts_operator_apply, ts_operator_adjoint, ts_operator_normal};
        const std::vector<int64_t> &inside = shapes[what == 1], &outside = shapes[what == 0];
        int64_t images = 1;
        for (int d = 0; d < from.rank - (int)inside.size(); d++)
            images *= from.n[d];
        if (images == 0)
            return TS_OK;
        const struct ts_array in = array_of(from, inside, images),
                              out = array_of(to, outside, images);
        const std::lock_guard<std::mutex> guard(lock);
        struct ts_operator *op = nullptr;
        const enum ts_status status = find(from.device, from.stream, flat ? images : 1, &op, diag);
        return status == TS_OK ? functions[what](op, &in, &out, from.stream, diag) : status;
    }

    /* Raises ValueError if the arrays do not fit. */
    void check(int what, const Where &from, const Where &to) const
    {
        const std::vector<int64_t> &inside = shapes[what == 1], &outside = shapes[what == 0];
        const int lead = from.rank - (int)inside.size();
        if (!from.ends_in(inside))
            throw nb::value_error(("the array has the shape " + from.shape() +
                                   ", which does not end in " +
                                   Where::shape_of(inside.data(), (int)inside.size()))
                                      .c_str());
        if (!to.ends_in(outside) || to.rank - (int)outside.size() != lead ||
            !std::equal(from.n, from.n + lead, to.n)) {
            std::vector<int64_t> right(from.n, from.n + lead);
            right.insert(right.end(), outside.begin(), outside.end());
            throw nb::value_error(("out has the shape " + to.shape() + ", not " +
                                   Where::shape_of(right.data(), (int)right.size()))
                                      .c_str());
        }
        from.check_order();
        to.check_order();
    }

    void call(int what, nb::handle in, nb::handle out)
    {
        const View from(in, false), to(out, true);
        check(what, from, to);
        Diag diag;
        enum ts_status status;
        {
            nb::gil_scoped_release released;
            status = compute(what, from, to, diag);
        }
        diag.check(status);
    }

    uintptr_t address() const
    {
        return (uintptr_t)this;
    }
};

/* ---- JAX ------------------------------------------------------------------------------------- */

static xla::Error *xla_error(const xla::CallFrame *frame, const std::string &text)
{
    xla::ErrorArguments arguments = {sizeof arguments, nullptr, text.c_str(), xla::CODE_INTERNAL};
    return frame->api->create_error(&arguments);
}

static int64_t xla_number(const xla::CallFrame *frame, const char *name)
{
    const xla::Attributes &all = frame->attributes;
    for (int64_t i = 0; i < all.n; i++)
        if (std::string(all.names[i]->data, all.names[i]->length) == name)
            return *(const int64_t *)all.values[i]->value;
    throw std::runtime_error(std::string("no attribute ") + name);
}

static Where xla_place(const xla::Buffers &buffers, int device, void *stream)
{
    const xla::Buffer *buffer = buffers.n == 1 ? buffers.buffers[0] : nullptr;
    if (!buffer || buffer->dtype != xla::TYPE_F32)
        throw std::runtime_error("a projector takes one array of float32 and makes one");
    Where where;
    where.data = (char *)buffer->data;
    where.rank = (int)buffer->rank;
    where.n = buffer->n;
    where.device = device;
    where.stream = stream;
    return where;
}

/* Returns false if the runtime does not have the functions that tell device and stream. */
static bool xla_device(const xla::CallFrame *frame, int *device, void **stream)
{
    const xla::Api *api = frame->api;
    xla::StreamArguments where = {sizeof where, nullptr, frame->context, nullptr};
    xla::OrdinalArguments which = {sizeof which, nullptr, frame->context, 0};
    if (api->size < sizeof *api || api->get_stream(&where) || api->get_ordinal(&which))
        return false;
    *device = which.ordinal;
    *stream = where.stream;
    return true;
}

/* XLA calls it on threads of its own, without the GIL. */
template <bool cuda> static xla::Error *xla_project(xla::CallFrame *frame)
{
    for (xla::Extension *one = frame->extensions; one; one = one->next)
        if (one->type == xla::EXTENSION_METADATA) {
            /* It asks for the version: of each one this handler uses only what all have. */
            xla::Metadata *about = ((xla::MetadataExtension *)one)->metadata;
            about->version.major = frame->api->version.major;
            about->version.minor = frame->api->version.minor;
            about->traits = 0;
            return nullptr;
        }
    if (frame->stage != xla::STAGE_EXECUTE)
        return nullptr;
    try {
        int device = -1;
        void *stream = nullptr;
        if (cuda && !xla_device(frame, &device, &stream))
            return xla_error(frame, "this version of JAX does not tell the device of a call");
        Projector *projector = (Projector *)(uintptr_t)xla_number(frame, "projector");
        const int what = (int)xla_number(frame, "what");
        const Where from = xla_place(frame->arguments, device, stream),
                    to = xla_place(frame->results, device, stream);
        projector->check(what, from, to);
        Diag diag;
        return projector->compute(what, from, to, diag) == TS_OK ? nullptr
                                                                 : xla_error(frame, diag.text());
    } catch (const std::exception &error) {
        return xla_error(frame, error.what());
    }
}

static nb::capsule xla_handler(bool cuda)
{
    return nb::capsule((const void *)(cuda ? xla_project<true> : xla_project<false>),
                       "xla._CUSTOM_CALL_TARGET");
}

void bind_projector(nb::module_ &m)
{
    nb::class_<Projector>(m, "Projector", "A linear stage and its adjoint on arrays.")
        .def(nb::init<std::string, const About &, bool, int>(), "stage"_a, "about"_a, "flat"_a,
             "threads"_a, nb::keep_alive<1, 3>())
        .def("shape", &Projector::shape, "side"_a)
        .def("call", &Projector::call, "what"_a, "input"_a, "output"_a)
        .def("address", &Projector::address);
    m.def("xla_handler", xla_handler, "cuda"_a, "The function of projectors that XLA calls.");
}
