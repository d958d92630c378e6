/* SPDX-License-Identifier: Apache-2.0
 *
 * Types, spaces and attributes of what the writer puts into the file. Text has a fixed length, in UTF-8.
 */
#include "io/hdf5/hdf5_writer.h"

hid_t ts_hdf5_type(enum ts_dtype dtype)
{
    const hid_t types[] = {[TS_U8] = H5T_STD_U8LE,    [TS_I8] = H5T_STD_I8LE,   [TS_U16] = H5T_STD_U16LE,
                           [TS_I16] = H5T_STD_I16LE,  [TS_U32] = H5T_STD_U32LE, [TS_I32] = H5T_STD_I32LE,
                           [TS_F32] = H5T_IEEE_F32LE, [TS_U64] = H5T_STD_U64LE, [TS_F64] = H5T_IEEE_F64LE};
    return types[dtype];
}

hid_t ts_hdf5_create_properties(hid_t class_id)
{
    enum { MANY = 65535 }; /* the format's limit */
    hid_t list = H5Pcreate(class_id);
    bool done = list >= 0 && H5Pset_obj_track_times(list, false) >= 0 && H5Pset_attr_phase_change(list, MANY, 0) >= 0;
    if (done && class_id != H5P_DATASET_CREATE)
        done = H5Pset_link_phase_change(list, MANY, 0) >= 0;
    if (done)
        return list;
    TS_HDF5_CLOSE(list);
    return -1;
}

hid_t ts_hdf5_text_type(size_t bytes)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, bytes) < 0 || H5Tset_strpad(type, H5T_STR_NULLPAD) < 0 ||
                      H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        TS_HDF5_CLOSE(type);
        return -1;
    }
    return type;
}

hid_t ts_hdf5_value_space(const struct hdf5_value *value)
{
    hsize_t n[TS_MAX_RANK];
    for (int d = 0; d < value->rank; d++)
        n[d] = (hsize_t)value->n[d];
    return value->rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(value->rank, n, NULL);
}

bool ts_hdf5_put_attribute(hid_t object, const char *name, const struct hdf5_value *value)
{
    hid_t space = ts_hdf5_value_space(value), attribute = -1;
    if (space >= 0)
        attribute = H5Acreate2(object, name, value->type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool done = attribute >= 0 && (value->bytes == 0 || H5Awrite(attribute, value->type, value->data) >= 0);
    if (attribute >= 0)
        done = H5Aclose(attribute) >= 0 && done;
    TS_HDF5_CLOSE(space);
    return done;
}

bool ts_hdf5_put_digest(hid_t dataset, const char *text)
{
    struct hdf5_value value = {.type = ts_hdf5_text_type(64), .element_bytes = 64, .bytes = 64, .data = text};
    bool done = value.type >= 0 && ts_hdf5_put_attribute(dataset, "sha256_tree", &value);
    TS_HDF5_CLOSE(value.type);
    return done;
}
