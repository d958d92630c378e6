/* SPDX-License-Identifier: Apache-2.0
 *
 * What is accepted of a dataset in a foreign file: integers of 8 to 32 bits (lists: to 64) and IEEE floats, contiguous,
 * compact or chunked storage inside the file, the filters shuffle, deflate and fletcher32. All sizes are checked before
 * anything is allocated.
 */
#include "io/hdf5_stack.h"

#include <stdlib.h>
#include <string.h>

enum { TRIED_CHUNKS = 1 << 16 }; /* beyond them what the count went through must do */

static bool find_type(struct hdf5_stack *stack, int rank)
{
    const struct {
        hid_t id;
        enum ts_dtype dtype;
        bool big_endian;
    } types[] = {
        {H5T_STD_U8LE, TS_U8, false},    {H5T_STD_I8LE, TS_I8, false},    {H5T_STD_U16LE, TS_U16, false},
        {H5T_STD_I16LE, TS_I16, false},  {H5T_STD_U32LE, TS_U32, false},  {H5T_STD_I32LE, TS_I32, false},
        {H5T_IEEE_F32LE, TS_F32, false}, {H5T_IEEE_F64LE, TS_F64, false}, {H5T_STD_U8BE, TS_U8, true},
        {H5T_STD_I8BE, TS_I8, true},     {H5T_STD_U16BE, TS_U16, true},   {H5T_STD_I16BE, TS_I16, true},
        {H5T_STD_U32BE, TS_U32, true},   {H5T_STD_I32BE, TS_I32, true},   {H5T_IEEE_F32BE, TS_F32, true},
        {H5T_IEEE_F64BE, TS_F64, true},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (H5Tequal(stack->type, types[i].id) <= 0)
            continue;
        stack->stored = types[i].dtype;
        stack->dtype = types[i].dtype == TS_F64 ? TS_F32 : types[i].dtype;
        stack->swapped = types[i].big_endian == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
        return true;
    }
    const hid_t wide[] = {H5T_STD_U64LE, H5T_STD_U64BE, H5T_STD_I64LE, H5T_STD_I64BE};
    for (int i = 0; rank == 1 && i < 4; i++) {
        if (H5Tequal(stack->type, wide[i]) <= 0)
            continue;
        stack->stored = stack->dtype = TS_U64;
        stack->has_sign = i >= 2;
        stack->swapped = (i % 2 == 1) == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
        return true;
    }
    return false;
}

static enum ts_status check_sizes(const struct hdf5_input *input, struct hdf5_stack *stack, int rank)
{
    hsize_t n[H5S_MAX_RANK];
    size_t bytes = ts_dtype_bytes(stack->stored);
    stack->rank = H5Sget_simple_extent_dims(stack->space, n, NULL);
    if (stack->rank < 0 || (rank > 1 ? stack->rank != rank : stack->rank > rank))
        return ts_hdf5_input_refuse(input, "hdf5-rank", "%s has %d axes, expected %d", stack->name, stack->rank, rank);
    for (int d = 0; d < 3; d++) {
        stack->n[d] = d < stack->rank ? (int64_t)n[d] : 1;
        if (d < stack->rank && (n[d] == 0 || n[d] > INT32_MAX))
            return ts_hdf5_input_refuse(input, "hdf5-empty", "axis %d of %s has length %llu, expected 1 to %d", d,
                                        stack->name, (unsigned long long)n[d], INT32_MAX);
        if (!ts_mul_size(bytes, (size_t)stack->n[d], &bytes) || bytes > INT64_MAX / 8)
            return ts_hdf5_input_refuse(input, "hdf5-size", "the size of %s cannot be addressed", stack->name);
    }
    return TS_OK;
}

static enum ts_status check_filters(const struct hdf5_input *input, hid_t list, struct hdf5_stack *stack)
{
    int n_deflate = 0;
    unsigned options = 0;
    stack->n_filters = H5Pget_nfilters(list);
    if (stack->n_filters < 0 || stack->n_filters > STACK_FILTERS)
        return ts_hdf5_input_refuse(input, "hdf5-filter", "%s has %d filters, at most %d are read", stack->name,
                                    stack->n_filters, STACK_FILTERS);
    for (int i = 0; i < stack->n_filters; i++) {
        unsigned flags, config;
        size_t n_values = 0;
        char name[64] = "", shown[64 * 4];
        const H5Z_filter_t filter =
            H5Pget_filter2(list, (unsigned)i, &flags, &n_values, NULL, sizeof name, name, &config);
        name[sizeof name - 1] = '\0';
        ts_text_escape(shown, sizeof shown, name);
        n_deflate += filter == H5Z_FILTER_DEFLATE;
        stack->filters[i] = filter;
        if ((filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_FLETCHER32) &&
            n_deflate < 2)
            continue;
        ts_hdf5_input_refuse(input, "hdf5-filter",
                             "%s was stored with the filter %d (%s); shuffle, deflate and fletcher32 are read",
                             stack->name, (int)filter, *shown ? shown : "without a name");
        ts_diag_hint(input->diag, "h5repack -f SHUF -f GZIP=1 writes it again so that every program reads it");
        return TS_BAD_INPUT;
    }
    if (H5Pget_chunk_opts(list, &options) < 0)
        return ts_hdf5_input_unreadable(input, stack->name);
    if (options)
        return ts_hdf5_input_refuse(input, "hdf5-filter", "%s has chunks at its edges that its filters leave out",
                                    stack->name);
    return TS_OK;
}

static enum ts_status check_chunks(const struct hdf5_input *input, hid_t list, struct hdf5_stack *stack)
{
    hsize_t chunk[3] = {1, 1, 1};
    size_t bytes = ts_dtype_bytes(stack->stored);
    const size_t most = stack->rank < 2 ? STACK_LIST_CHUNK_BYTES : STACK_CHUNK_BYTES;
    if (H5Pget_chunk(list, stack->rank, chunk) != stack->rank)
        return ts_hdf5_input_unreadable(input, stack->name);
    stack->chunked = true;
    for (int d = 0; d < 3; d++) {
        stack->chunk[d] = d < stack->rank ? (int64_t)chunk[d] : 1;
        if (chunk[d] == 0 || chunk[d] > INT32_MAX || !ts_mul_size(bytes, (size_t)chunk[d], &bytes) || bytes > most)
            return ts_hdf5_input_refuse(input, "hdf5-chunk", "a chunk of %s has more than %zu bytes", stack->name,
                                        most);
    }
    stack->chunk_bytes = bytes;
    return check_filters(input, list, stack);
}

/* Storage in one piece must be there in full: the library reads zeros past the end of a file. */
static enum ts_status check_piece(const struct hdf5_input *input, H5D_layout_t layout, const struct hdf5_stack *stack)
{
    const uint64_t bytes = ts_dtype_bytes(stack->stored) * (uint64_t)(stack->n[0] * stack->n[1] * stack->n[2]);
    const haddr_t offset = H5Dget_offset(stack->dataset);
    const hsize_t stored = H5Dget_storage_size(stack->dataset);
    int64_t file_bytes = 0;
    for (int i = 0; i < input->n_files; i++)
        file_bytes = input->files[i].bytes > file_bytes ? input->files[i].bytes : file_bytes;
    if (layout == H5D_CONTIGUOUS && (offset == HADDR_UNDEF || stored == 0))
        return ts_hdf5_input_refuse(input, "hdf5-not-written", "%s was created, but never written", stack->name);
    if (stored < bytes || bytes > (uint64_t)file_bytes ||
        (layout == H5D_CONTIGUOUS && offset > (uint64_t)file_bytes - bytes))
        return ts_hdf5_input_refuse(input, "hdf5-truncated",
                                    "%s claims %llu bytes, more than there are: the file is damaged", stack->name,
                                    (unsigned long long)bytes);
    return TS_OK;
}

static enum ts_status check_storage(const struct hdf5_input *input, struct hdf5_stack *stack)
{
    hid_t list = H5Dget_create_plist(stack->dataset);
    if (list < 0)
        return ts_hdf5_input_unreadable(input, stack->name);
    const H5D_layout_t layout = H5Pget_layout(list);
    enum ts_status status;
    if (layout == H5D_VIRTUAL)
        status = ts_hdf5_input_refuse(
            input, "hdf5-virtual", "%s is virtual: its values lie in other datasets, and a missing one reads as zeros",
            stack->name);
    else if (H5Pget_external_count(list) != 0)
        status = ts_hdf5_input_refuse(input, "hdf5-external", "%s has its values in other files (external storage)",
                                      stack->name);
    else if (layout == H5D_CHUNKED)
        status = check_chunks(input, list, stack);
    else if (layout == H5D_CONTIGUOUS || layout == H5D_COMPACT)
        status = check_piece(input, layout, stack);
    else
        status = ts_hdf5_input_unreadable(input, stack->name);
    H5Pclose(list);
    return status;
}

enum ts_status ts_hdf5_stack_open_take(struct hdf5_input *input, hid_t dataset, const char *name, int rank,
                                       struct hdf5_stack *stack)
{
    char shown[HDF5_INPUT_PATH];
    ts_text_escape(shown, sizeof shown, name);
    *stack = (struct hdf5_stack){.dataset = dataset, .type = -1, .space = -1};
    stack->name = ts_arena_text(input->arena, shown, strlen(shown));
    enum ts_status status = stack->name ? TS_OK : ts_diag_no_memory(input->diag, sizeof shown);
    if (status == TS_OK && H5Iget_type(dataset) != H5I_DATASET)
        status = ts_hdf5_input_refuse(input, "hdf5-no-dataset", "%s is a group, not a dataset", stack->name);
    if (status == TS_OK) {
        stack->type = H5Dget_type(dataset);
        stack->space = H5Dget_space(dataset);
        if (stack->type < 0 || stack->space < 0)
            status = ts_hdf5_input_unreadable(input, stack->name);
        else if (!find_type(stack, rank))
            status = ts_hdf5_input_refuse(
                input, "hdf5-type", "the elements of %s are neither integers of 8 to %d bits nor floats of 32 or 64",
                stack->name, rank == 1 ? 64 : 32);
    }
    if (status == TS_OK)
        status = check_sizes(input, stack, rank);
    if (status == TS_OK)
        status = check_storage(input, stack);
    if (status != TS_OK)
        ts_hdf5_stack_close(stack);
    return status;
}

void ts_hdf5_stack_close(struct hdf5_stack *stack)
{
    if (stack->space >= 0)
        H5Sclose(stack->space);
    if (stack->type >= 0)
        H5Tclose(stack->type);
    if (stack->dataset >= 0)
        H5Oclose(stack->dataset);
    stack->dataset = stack->type = stack->space = -1;
}

enum ts_status ts_hdf5_stack_try(const struct hdf5_input *input, const struct hdf5_stack *stack)
{
    hsize_t n_chunks = 0, bytes, at[3];
    if (!stack->chunked)
        return TS_OK;
    if (H5Dget_num_chunks(stack->dataset, stack->space, &n_chunks) < 0) /* goes through all of the index */
        return ts_hdf5_input_unreadable(input, stack->name);
    for (int64_t i = 0; i < TRIED_CHUNKS; i++) {
        int64_t left = i;
        for (int d = 2; d >= 0; d--) {
            const int64_t n = (stack->n[d] - 1) / stack->chunk[d] + 1;
            at[d] = (hsize_t)(left % n) * (hsize_t)stack->chunk[d];
            left /= n;
        }
        if (left > 0)
            break;
        if (H5Dget_chunk_storage_size(stack->dataset, at, &bytes) < 0)
            return ts_hdf5_input_unreadable(input, stack->name);
    }
    return TS_OK;
}
