/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the extension tomostage._core share: the records of a diag as Python's errors,
 * arrays, and descriptions of images.
 */
#ifndef PYTHON_CORE_H
#define PYTHON_CORE_H

#include <cstring>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <tomostage_array.h>

namespace nb = nanobind;
using namespace nb::literals;

/* Adds the class of projectors to the module. */
void bind_projector(nb::module_ &m);

/* ---- errors ---------------------------------------------------------------------------------- */

inline nb::object text_or_none(const char *text)
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

inline const char *const dtype_names[] = {"uint8", "int8",    "uint16", "int16",   "uint32",
                                          "int32", "float32", "uint64", "float64", "float16"};
inline const size_t dtype_bytes[] = {1, 1, 2, 2, 4, 4, 4, 8, 8, 2};

/* Makes a slice a volume of one slice. */
inline void add_slice_axis(struct ts_array &array)
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

inline const char *const kind_names[] = {"z",   "y",    "x",    "view", "detector",
                                         "bin", "item", "time", "echo", "b"};
inline const char *const quantity_names[] = {
    "counts", "transmission", "line_integral", "attenuation", "hu", "dose", "intensity"};
inline const char *const beam_names[] = {"parallel", "fan-arc", "fan-flat"};

template <size_t n> int index_of(const char *const (&names)[n], const std::string &name)
{
    for (size_t i = 0; i < n; i++)
        if (name == names[i])
            return (int)i;
    std::string known = "'" + name + "' is none of";
    for (const char *one : names)
        known += std::string(" ") + one;
    throw nb::value_error(known.c_str());
}

template <size_t n> nb::tuple tuple_of(const double (&values)[n])
{
    nb::list list;
    for (double value : values)
        list.append(value);
    return nb::tuple(list);
}

inline nb::dict dict_of(const struct ts_image &image)
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
inline size_t valid_words(const struct ts_image &image)
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

#endif
