/* SPDX-License-Identifier: Apache-2.0
 *
 * The extension tomostage._core: the objects of the C library as Python has them. Nothing is
 * decided here. Arrays come by DLPack or the buffer protocol and are used where they are;
 * descriptions of images are dictionaries; a function that fails raises tomostage.ChainError with
 * the records of its diag. What computes or reads releases the GIL.
 */
#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tomostage_array.h>
#include <tomostage_operator.h>

namespace nb = nanobind;
using namespace nb::literals;

/* ---- errors ---------------------------------------------------------------------------------- */

static nb::object text_or_none(const char *text)
{
    return text ? nb::object(nb::str(text)) : nb::none();
}

/* The records of the functions that were called with it. */
struct Diag {
    struct ts_diag *diag = ts_diag_create();
    Diag()
    {
        if (!diag)
            throw std::bad_alloc();
    }
    Diag(const Diag &) = delete;
    ~Diag()
    {
        ts_diag_destroy(diag);
    }
    operator struct ts_diag *() const
    {
        return diag;
    }

    nb::list records() const
    {
        static const char *const severities[] = {"note", "warning", "error"};
        nb::object make = nb::module_::import_("tomostage.errors").attr("Record");
        nb::list list;
        for (size_t i = 0; const struct ts_diag_record *record = ts_diag_get(diag, i); i++)
            list.append(
                make(severities[record->severity], record->code, record->message,
                     text_or_none(record->hint), text_or_none(record->stage),
                     nb::make_tuple(record->span.line, record->span.column, record->span.length),
                     text_or_none(record->source)));
        return list;
    }

    std::string text() const
    {
        std::string text(ts_diag_text(diag, false, nullptr, 0), '\0');
        ts_diag_text(diag, false, text.data(), text.size() + 1);
        return text;
    }

    /* Raises the error if there is one. */
    void check(enum ts_status status) const
    {
        if (status == TS_OK)
            return;
        nb::object error = nb::module_::import_("tomostage.errors").attr("error_of");
        nb::object raised = error((int)status, records(), text());
        PyErr_SetObject((PyObject *)Py_TYPE(raised.ptr()), raised.ptr());
        throw nb::python_error();
    }
};

/* ---- arrays ---------------------------------------------------------------------------------- */

static const char *const dtype_names[] = {"uint8", "int8",    "uint16", "int16",   "uint32",
                                          "int32", "float32", "uint64", "float64", "float16"};
static const size_t dtype_bytes[] = {1, 1, 2, 2, 4, 4, 4, 8, 8, 2};

/* Makes a slice a volume of one slice. */
static void add_slice_axis(struct ts_array &array)
{
    for (int d = array.rank; d > 0; d--) {
        array.n[d] = array.n[d - 1];
        array.stride[d] = array.stride[d - 1];
    }
    array.n[0] = 1;
    array.rank++;
}

/* An array of the caller's, which is kept while the object lives. */
struct Array {
    nb::ndarray<nb::ro> owner;
    void *stream;
    enum ts_dtype dtype;

    Array(nb::ndarray<nb::ro> array, uintptr_t stream) : owner(array), stream((void *)stream)
    {
        const nb::dlpack::dtype type = array.dtype();
        const char *kinds = type.code == (uint8_t)nb::dlpack::dtype_code::Float ? "float"
                            : type.code == (uint8_t)nb::dlpack::dtype_code::Int ? "int"
                                                                                : "uint";
        const std::string name = kinds + std::to_string(type.bits);
        for (int i = 0; i <= TS_F32; i++)
            if (name == dtype_names[i] && type.lanes == 1) {
                dtype = (enum ts_dtype)i;
                return;
            }
        throw nb::type_error(("images are of uint8 to int32 or float32, not " + name +
                              ": convert the array first, as by x.astype('float32')")
                                 .c_str());
    }

    bool on_device() const
    {
        return owner.device_type() == nb::device::cuda::value ||
               owner.device_type() == nb::device::cuda_managed::value;
    }

    /* Returns the array with so many axes at most: those before the last ones become one. */
    struct ts_array as_array(int rank) const
    {
        struct ts_array array = {};
        const int n = (int)owner.ndim(), extra = n > rank ? n - rank : 0;
        array.size = sizeof array;
        array.data = const_cast<void *>(owner.data());
        array.dtype = dtype;
        array.rank = n - extra;
        array.cuda_device = on_device() ? owner.device_id() : -1;
        array.cuda_stream = stream;
        for (int d = 0; d < array.rank && d < TS_MAX_RANK; d++) {
            array.n[d] = (int64_t)owner.shape(d + extra);
            array.stride[d] = owner.stride(d + extra) * (int64_t)owner.itemsize();
        }
        for (int d = extra - 1; d >= 0; d--) {
            if (owner.shape(d) > 1 &&
                owner.stride(d) != owner.stride(d + 1) * (int64_t)owner.shape(d + 1))
                throw nb::value_error("the leading axes do not follow each other in memory; a copy "
                                      "in C order has them, as of numpy.ascontiguousarray");
            array.n[0] *= (int64_t)owner.shape(d);
        }
        return array;
    }
};

/* ---- descriptions of images ------------------------------------------------------------------ */

static const char *const kind_names[] = {"z",   "y",    "x",    "view", "detector",
                                         "bin", "item", "time", "echo", "b"};
static const char *const quantity_names[] = {
    "counts", "transmission", "line_integral", "attenuation", "hu", "dose", "intensity"};
static const char *const beam_names[] = {"parallel", "fan-arc", "fan-flat"};

template <size_t n> static int index_of(const char *const (&names)[n], const std::string &name)
{
    for (size_t i = 0; i < n; i++)
        if (name == names[i])
            return (int)i;
    std::string known = "'" + name + "' is none of";
    for (const char *one : names)
        known += std::string(" ") + one;
    throw nb::value_error(known.c_str());
}

template <size_t n> static nb::tuple tuple_of(const double (&values)[n])
{
    nb::list list;
    for (double value : values)
        list.append(value);
    return nb::tuple(list);
}

static nb::dict dict_of(const struct ts_image &image)
{
    nb::list axes;
    for (int d = 0; d < image.rank; d++) {
        const struct ts_axis &axis = image.axes[d];
        nb::object positions = nb::none();
        if (axis.positions) {
            nb::list list;
            for (int64_t i = 0; i < axis.n; i++)
                list.append(axis.positions[i]);
            positions = nb::tuple(list);
        }
        axes.append(nb::make_tuple(kind_names[axis.kind], axis.n, axis.spacing, axis.unit,
                                   axis.first, positions, text_or_none(axis.name)));
    }
    nb::dict dict;
    dict["axes"] = axes;
    dict["dtype"] = dtype_names[image.dtype];
    dict["quantity"] = quantity_names[image.quantity];
    dict["unit"] = image.unit ? image.unit : "";
    dict["origin"] = image.has_geometry ? nb::object(tuple_of(image.origin_mm)) : nb::none();
    dict["direction"] = image.has_geometry ? nb::object(tuple_of(image.direction)) : nb::none();
    dict["step"] = image.has_geometry ? nb::object(tuple_of(image.step_z_mm)) : nb::none();
    dict["frame"] = image.frame;
    dict["beam"] = nb::make_tuple(beam_names[image.beam.kind], image.beam.source_axis_mm,
                                  image.beam.source_detector_mm);
    dict["masked"] = image.masked;
    dict["labels"] = (int)image.labels;
    return dict;
}

/* The words of the bits `valid` of one slice. */
static size_t valid_words(const struct ts_image &image)
{
    const int64_t pixels = image.axes[image.rank - 2].n * image.axes[image.rank - 1].n;
    return (size_t)(pixels + 63) / 64;
}

/* A description with all that it points to. */
struct About {
    struct ts_image image = {};
    std::vector<std::string> texts;
    std::vector<std::vector<double>> positions;
    std::vector<uint64_t> valid;

    explicit About(const nb::dict &dict)
    {
        texts.reserve(1 + 2 * TS_MAX_RANK);
        nb::list axes = nb::cast<nb::list>(dict["axes"]);
        if (axes.size() > TS_MAX_RANK)
            throw nb::value_error("an image has at most 4 axes");
        for (nb::handle item : axes)
            add_axis(nb::cast<nb::tuple>(item));
        image.dtype = (enum ts_dtype)index_of(dtype_names, nb::cast<std::string>(dict["dtype"]));
        image.quantity =
            (enum ts_quantity)index_of(quantity_names, nb::cast<std::string>(dict["quantity"]));
        image.unit = keep(dict["unit"]);
        image.frame = nb::cast<int>(dict["frame"]);
        image.labels = (unsigned char)nb::cast<int>(dict["labels"]);
        image.has_geometry = !nb::object(dict["origin"]).is_none();
        if (image.has_geometry) {
            fill(image.origin_mm, dict["origin"]);
            fill(image.direction, dict["direction"]);
            fill(image.step_z_mm, dict["step"]);
        }
        nb::tuple beam = nb::cast<nb::tuple>(dict["beam"]);
        image.beam.kind = (enum ts_beam_kind)index_of(beam_names, nb::cast<std::string>(beam[0]));
        image.beam.source_axis_mm = nb::cast<double>(beam[1]);
        image.beam.source_detector_mm = nb::cast<double>(beam[2]);
    }

    /* Takes one byte for each pixel, 0 if it is invalid. */
    void set_valid(const nb::ndarray<const uint8_t, nb::c_contig, nb::device::cpu> &bytes)
    {
        const size_t words = valid_words(image);
        const size_t pixels = (size_t)(image.axes[image.rank - 2].n * image.axes[image.rank - 1].n);
        size_t slices = 1;
        for (int d = 0; d < image.rank - 2; d++)
            slices *= (size_t)image.axes[d].n;
        if (bytes.size() != slices * pixels)
            throw nb::value_error("`valid` has another shape than the image");
        valid.assign(words * slices, 0);
        for (size_t z = 0; z < slices; z++)
            for (size_t i = 0; i < pixels; i++)
                if (bytes.data()[z * pixels + i])
                    valid[z * words + i / 64] |= (uint64_t)1 << i % 64;
        image.masked = true;
        image.valid = valid.data();
    }

  private:
    const char *keep(nb::handle text)
    {
        texts.push_back(nb::cast<std::string>(text));
        return texts.back().c_str();
    }

    template <size_t n> static void fill(double (&values)[n], nb::handle from)
    {
        nb::sequence sequence = nb::cast<nb::sequence>(from);
        if (nb::len(sequence) != n)
            throw nb::value_error("a geometry has an origin of 3, a direction of 9 and a step of 3 "
                                  "numbers");
        for (size_t i = 0; i < n; i++)
            values[i] = nb::cast<double>(sequence[i]);
    }

    void add_axis(const nb::tuple &from)
    {
        struct ts_axis &axis = image.axes[image.rank++];
        axis.kind = (enum ts_axis_kind)index_of(kind_names, nb::cast<std::string>(from[0]));
        axis.n = nb::cast<int64_t>(from[1]);
        axis.spacing = nb::cast<double>(from[2]);
        axis.unit = keep(from[3]);
        axis.first = nb::cast<double>(from[4]);
        if (!nb::object(from[5]).is_none()) {
            positions.push_back(nb::cast<std::vector<double>>(from[5]));
            if ((int64_t)positions.back().size() != axis.n)
                throw nb::value_error("an axis has not as many positions as elements");
            axis.positions = positions.back().data();
        }
        axis.name = nb::object(from[6]).is_none() ? nullptr : keep(from[6]);
    }
};

/* ---- chains and plans ------------------------------------------------------------------------ */

struct Chain {
    struct ts_chain *chain = nullptr;
    nb::list arrays; /* kept as long as the chain */

    Chain(const std::string &text, const std::string &name,
          const std::optional<std::string> &folder)
    {
        Diag diag;
        diag.check(ts_chain_parse(text.data(), text.size(), name.c_str(),
                                  folder ? folder->c_str() : nullptr, &chain, diag));
    }
    Chain(const Chain &) = delete;
    ~Chain()
    {
        ts_chain_destroy(chain);
    }

    void set(const std::string &assignment)
    {
        Diag diag;
        diag.check(ts_chain_set(chain, assignment.c_str(), diag));
    }

    void set_input(const std::string &path)
    {
        Diag diag;
        diag.check(ts_chain_set_input(chain, path.c_str(), diag));
    }

    void set_output(const std::string &path)
    {
        Diag diag;
        diag.check(ts_chain_set_output(chain, path.c_str(), diag));
    }

    void set_array(const std::string &name, const Array &array, const About &about)
    {
        Diag diag;
        struct ts_array values = array.as_array(about.image.rank);
        if (values.rank + 1 == about.image.rank)
            add_slice_axis(values);
        diag.check(ts_chain_set_array(chain, name.c_str(), &values, &about.image, diag));
        arrays.append(nb::cast(array, nb::rv_policy::copy));
    }

    std::string text(bool one_line) const
    {
        std::string text(ts_chain_text(chain, one_line, nullptr, 0), '\0');
        ts_chain_text(chain, one_line, text.data(), text.size() + 1);
        return text;
    }
};

struct Plan {
    struct ts_plan *plan = nullptr;
    Diag diag;

    Plan(Chain &chain, const std::string &device, int threads, int64_t memory_bytes, bool force)
    {
        struct ts_options options = {};
        options.size = sizeof options;
        options.device = device.c_str();
        options.threads = threads;
        options.memory_bytes = memory_bytes;
        options.force = force;
        options.arrays = 1; // a run hands every image to Python
        enum ts_status status;
        {
            nb::gil_scoped_release released;
            status = ts_chain_search(chain.chain, &options, diag);
            if (status == TS_OK)
                status = ts_plan_create(chain.chain, &options, &plan, diag);
        }
        diag.check(status);
    }
    Plan(const Plan &) = delete;
    ~Plan()
    {
        ts_plan_destroy(plan);
    }

    std::string text(bool json) const
    {
        std::string text(ts_plan_text(plan, json, nullptr, 0), '\0');
        ts_plan_text(plan, json, text.data(), text.size() + 1);
        return text;
    }

    std::vector<std::string> images() const
    {
        std::vector<std::string> names;
        while (const char *name = ts_plan_image_name(plan, names.size()))
            names.push_back(name);
        return names;
    }

    struct ts_image image(const std::string &name) const
    {
        Diag own;
        struct ts_image image;
        own.check(ts_plan_describe(plan, name.c_str(), &image, own));
        return image;
    }
};

/* ---- runs ------------------------------------------------------------------------------------ */

/* Ctrl-C while the main thread runs a chain: the run is asked to stop, and Python's own handler
 * notes the signal. */
static std::atomic<struct ts_run *> interruptible;
static struct sigaction pythons;

static void interrupt(int signal, siginfo_t *info, void *context)
{
    if (struct ts_run *run = interruptible)
        ts_run_stop(run);
    if (pythons.sa_flags & SA_SIGINFO)
        pythons.sa_sigaction(signal, info, context);
    else
        pythons.sa_handler(signal);
}

class Interruptible
{
    bool installed = false;

  public:
    Interruptible(struct ts_run *run, bool main_thread)
    {
        struct sigaction ours = {};
        if (!main_thread || interruptible || sigaction(SIGINT, nullptr, &pythons) != 0 ||
            (!(pythons.sa_flags & SA_SIGINFO) &&
             (pythons.sa_handler == SIG_DFL || pythons.sa_handler == SIG_IGN)))
            return;
        ours.sa_sigaction = interrupt;
        ours.sa_flags = SA_SIGINFO | SA_RESTART;
        interruptible = run;
        installed = sigaction(SIGINT, &ours, nullptr) == 0;
    }
    Interruptible(const Interruptible &) = delete;
    ~Interruptible()
    {
        if (installed)
            sigaction(SIGINT, &pythons, nullptr);
        if (installed)
            interruptible = nullptr;
    }
};

/* An image whose invalid pixels the caller wants to know: values and one byte for each pixel. */
struct Masked {
    unsigned char *values, *valid;
};

static enum ts_status take_masked(void *user, const struct ts_image *slab)
{
    const Masked *to = (const Masked *)user;
    const size_t pixels = (size_t)(slab->axes[1].n * slab->axes[2].n), words = valid_words(*slab);
    const size_t size = pixels * dtype_bytes[slab->dtype], n = (size_t)slab->axes[0].n;
    memcpy(to->values + (size_t)slab->z_first * size, slab->data, n * size);
    for (size_t z = 0; z < n; z++)
        for (size_t i = 0; i < pixels; i++)
            to->valid[((size_t)slab->z_first + z) * pixels + i] =
                !slab->valid || (slab->valid[z * words + i / 64] >> i % 64 & 1);
    return TS_OK;
}

struct Run {
    struct ts_run *run = nullptr;
    std::vector<std::unique_ptr<Masked>> masked;
    nb::list arrays; /* kept as long as the run */

    explicit Run(const Plan &plan)
    {
        Diag diag;
        diag.check(ts_run_create(plan.plan, &run, diag));
    }
    Run(const Run &) = delete;
    ~Run()
    {
        ts_run_destroy(run);
    }

    void set_array(const std::string &name, const Array &array, int rank)
    {
        Diag diag;
        struct ts_array values = array.as_array(rank);
        if (values.rank + 1 == rank)
            add_slice_axis(values);
        diag.check(ts_run_set_array(run, name.c_str(), &values, diag));
        arrays.append(nb::cast(array, nb::rv_policy::copy));
    }

    void set_masked(const std::string &name, const Array &values, const Array &valid)
    {
        Diag diag;
        masked.push_back(std::make_unique<Masked>(
            Masked{(unsigned char *)values.owner.data(), (unsigned char *)valid.owner.data()}));
        diag.check(ts_run_set_take(run, name.c_str(), take_masked, masked.back().get(), diag));
        arrays.append(nb::cast(values, nb::rv_policy::copy));
        arrays.append(nb::cast(valid, nb::rv_policy::copy));
    }

    /* Returns the records of warnings and notes. */
    nb::list execute(bool main_thread)
    {
        Diag diag;
        enum ts_status status;
        {
            nb::gil_scoped_release released;
            Interruptible here(run, main_thread);
            status = ts_run_execute(run, diag);
        }
        if (PyErr_CheckSignals() != 0)
            throw nb::python_error();
        diag.check(status);
        return diag.records();
    }

    /* Returns the tables by name: their descriptions and their bytes. */
    nb::dict tables() const
    {
        Diag diag;
        nb::dict tables;
        for (size_t i = 0; const char *name = ts_run_table_name(run, i); i++) {
            struct ts_image table;
            diag.check(ts_run_table(run, name, &table, diag));
            size_t size = dtype_bytes[table.dtype];
            for (int d = 0; d < table.rank; d++)
                size *= (size_t)table.axes[d].n;
            tables[name] = nb::make_tuple(dict_of(table), nb::bytes(table.data, size));
        }
        return tables;
    }
};

/* ---- operators ------------------------------------------------------------------------------- */

struct Operator {
    struct ts_operator *op = nullptr;

    Operator(const std::string &stage, const About &in, const std::string &device, int threads)
    {
        Diag diag;
        struct ts_options options = {};
        options.size = sizeof options;
        options.device = device.c_str();
        options.threads = threads;
        enum ts_status status;
        {
            nb::gil_scoped_release released;
            status = ts_operator_create(stage.c_str(), &in.image, &options, &op, diag);
        }
        diag.check(status);
    }
    Operator(const Operator &) = delete;
    ~Operator()
    {
        ts_operator_destroy(op);
    }

    nb::tuple describe() const
    {
        struct ts_image in, out;
        ts_operator_describe(op, &in, &out);
        return nb::make_tuple(dict_of(in), dict_of(out));
    }

    /* Gives the array the axes of the image, or those and a batch axis before them. */
    static struct ts_array batch_of(const Array &array, const struct ts_image &image)
    {
        size_t pixels = 1, step = 1;
        for (int d = 0; d < 3; d++)
            pixels *= (size_t)image.axes[d].n;
        for (int d = (int)array.owner.ndim() - 1; d >= 0; d--) {
            if (array.owner.shape(d) > 1 && array.owner.stride(d) != (int64_t)step)
                throw nb::value_error("the array is not in C order without gaps; x.contiguous() or "
                                      "numpy.ascontiguousarray(x) makes a copy that is");
            step *= array.owner.shape(d);
        }
        if (array.owner.size() % pixels != 0)
            throw nb::value_error("the array does not have the shape of the operator's images");
        struct ts_array batch = array.as_array(1);
        batch.rank = 4;
        batch.n[0] = (int64_t)(array.owner.size() / pixels);
        memset(batch.stride, 0, sizeof batch.stride);
        for (int d = 0; d < 3; d++)
            batch.n[d + 1] = image.axes[d].n;
        return batch;
    }

    void call(int what, const Array &in, const Array &out, uintptr_t stream)
    {
        static decltype(&ts_operator_apply)
            const functions[] = {ts_operator_apply, ts_operator_adjoint, ts_operator_normal};
        Diag diag;
        struct ts_image domain, range;
        ts_operator_describe(op, &domain, &range);
        const struct ts_array from = batch_of(in, what == 1 ? range : domain),
                              to = batch_of(out, what == 0 ? range : domain);
        enum ts_status status;
        {
            nb::gil_scoped_release released;
            status = functions[what](op, &from, &to, (void *)stream, diag);
        }
        diag.check(status);
    }
};

NB_MODULE(_core, m)
{
    m.doc() = "The objects of libtomostage. Use the package tomostage, which is made of them.";
    m.def("version", ts_version, "The version of libtomostage.");
    nb::class_<Array>(m, "Array", "An array in memory that is used where it is.")
        .def(nb::init<nb::ndarray<nb::ro>, uintptr_t>(), "array"_a, "stream"_a = 0);
    nb::class_<About>(m, "About", "What the values of an array are.")
        .def(nb::init<nb::dict>(), "description"_a)
        .def("set_valid", &About::set_valid, "valid"_a);
    nb::class_<Chain>(m, "Chain", "A chain that was read.")
        .def(nb::init<std::string, std::string, std::optional<std::string>>(), "text"_a, "name"_a,
             "folder"_a = nb::none())
        .def("set", &Chain::set, "assignment"_a)
        .def("set_input", &Chain::set_input, "path"_a)
        .def("set_output", &Chain::set_output, "path"_a)
        .def("set_array", &Chain::set_array, "name"_a, "array"_a, "about"_a)
        .def("text", &Chain::text, "one_line"_a);
    nb::class_<Plan>(m, "Plan", "A chain of which all is worked out.")
        .def(nb::init<Chain &, std::string, int, int64_t, bool>(), "chain"_a, "device"_a,
             "threads"_a, "memory_bytes"_a, "force"_a, nb::keep_alive<1, 2>())
        .def("text", &Plan::text, "json"_a)
        .def("images", &Plan::images)
        .def(
            "describe",
            [](const Plan &plan, const std::string &name) { return dict_of(plan.image(name)); },
            "name"_a)
        .def("records", [](const Plan &plan) { return plan.diag.records(); });
    nb::class_<Run>(m, "Run", "A plan that is carried out.")
        .def(nb::init<const Plan &>(), "plan"_a, nb::keep_alive<1, 2>())
        .def("set_array", &Run::set_array, "name"_a, "array"_a, "rank"_a)
        .def("set_masked", &Run::set_masked, "name"_a, "values"_a, "valid"_a)
        .def("execute", &Run::execute, "main_thread"_a)
        .def("tables", &Run::tables);
    nb::class_<Operator>(m, "Operator", "A linear stage and its adjoint.")
        .def(nb::init<std::string, const About &, std::string, int>(), "stage"_a, "about"_a,
             "device"_a, "threads"_a)
        .def("describe", &Operator::describe)
        .def("call", &Operator::call, "what"_a, "input"_a, "output"_a, "stream"_a);
}
