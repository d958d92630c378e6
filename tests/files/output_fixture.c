/* SPDX-License-Identifier: Apache-2.0
 *
 * Output files for tests. Values: a ramp along the array plus noise of a few bits, so that chunks
 * neither vanish nor stay as they are when compressed.
 */
#include "tests/files/output_fixture.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/image.h"
#include "tests/support/support.h"

size_t ts_test_count_files(const char *folder, const char *part)
{
    size_t n = 0;
    DIR *directory = opendir(folder);
    cr_assert_not_null(directory);
    struct dirent *entry;
    while ((entry = readdir(directory)))
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
             (!part || strstr(entry->d_name, part));
    closedir(directory);
    return n;
}

unsigned char *ts_test_read_file(const char *path, size_t *bytes)
{
    FILE *stream = fopen(path, "rb");
    *bytes = 0;
    if (!stream)
        return NULL;
    fseek(stream, 0, SEEK_END);
    long end = ftell(stream);
    rewind(stream);
    unsigned char *data = malloc((size_t)end + 1);
    cr_assert_not_null(data);
    *bytes = fread(data, 1, (size_t)end, stream);
    cr_assert_eq(*bytes, (size_t)end);
    fclose(stream);
    return data;
}

struct ts_image ts_test_output_image(int rank, const int64_t *n, enum ts_dtype dtype, uint64_t seed)
{
    static const enum ts_axis_kind kinds[] = {TS_AXIS_Z, TS_AXIS_Y, TS_AXIS_X, TS_AXIS_BIN};
    struct ts_image image = {.rank = rank, .dtype = dtype, .unit = "HU", .quantity = TS_HU};
    for (int d = 0; d < rank; d++)
        image.axes[d] = (struct ts_axis){
            .kind = kinds[d], .n = n[d], .spacing = 0.5 + d, .unit = "mm", .first = -7};
    size_t count = ts_image_count(&image), width = ts_dtype_bytes(dtype);
    unsigned char *data = malloc(count * width);
    cr_assert_not_null(data);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = i / 9 + ts_random_next(&seed) % 23;
        float f32 = ts_random_next(&seed) % 97 == 0 ? NAN : (float)value / 3;
        double f64 = (double)f32;
        const void *source = dtype == TS_F32   ? (void *)&f32
                             : dtype == TS_F64 ? (void *)&f64
                                               : (void *)&value;
        memcpy(data + i * width, source, width);
    }
    image.data = data;
    return image;
}

struct output_content ts_test_content(int64_t nz, int64_t ny, int64_t nx)
{
    int64_t n[3] = {nz, ny, nx};
    struct output_content content = {.first = ts_test_output_image(3, n, TS_I16, 1),
                                     .second = ts_test_output_image(3, n, TS_F32, 2)};
    content.first.has_geometry = true;
    memcpy(content.first.origin_mm, (double[3]){-1, 2, 3.5}, sizeof content.first.origin_mm);
    memcpy(content.first.direction, (double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1},
           sizeof content.first.direction);
    memcpy(content.first.step_z_mm, (double[3]){0, 0, 0.5}, sizeof content.first.step_z_mm);
    return content;
}

void ts_test_content_clear(struct output_content *content)
{
    free(content->first.data);
    free(content->second.data);
}

static enum ts_status write_small(struct hdf5_writer *writer)
{
    static const char *const texts[] = {"one", "", "three"};
    double values[6] = {1, 2, 3, 4, 5, NAN};
    uint64_t count = 17;
    uint32_t table[10000]; /* too large for the object header */
    for (uint32_t i = 0; i < 10000; i++)
        table[i] = i * i;
    struct ts_image matrix = {
        .rank = 2, .axes = {{.n = 2}, {.n = 3}}, .dtype = TS_F64, .unit = "mm", .data = values};
    struct ts_image scalar = {.rank = 0, .dtype = TS_U64, .unit = "", .data = &count};
    struct ts_image large = {
        .rank = 1, .axes = {{.n = 10000}}, .dtype = TS_U32, .unit = "", .data = table};
    enum ts_status status = ts_hdf5_group(writer, "/entry/process", "NXprocess");
    if (status == TS_OK)
        status = ts_hdf5_text(writer, "/entry/process/program", "tomostage");
    if (status == TS_OK)
        status = ts_hdf5_text(writer, "/entry/process/empty", "");
    if (status == TS_OK)
        status = ts_hdf5_texts(writer, "/entry/process/texts", NULL, texts, 3);
    if (status == TS_OK)
        status = ts_hdf5_values(writer, "/entry/process/matrix", &matrix);
    if (status == TS_OK)
        status = ts_hdf5_values(writer, "/entry/process/sequence_index", &scalar);
    if (status == TS_OK)
        status = ts_hdf5_values(writer, "/entry/process/large", &large);
    if (status == TS_OK)
        status = ts_hdf5_values(writer, "/entry/process@count", &scalar);
    return status == TS_OK ? ts_hdf5_link(writer, "/entry/linked", "/entry/process/large") : status;
}

static enum ts_status write_slabs(struct hdf5_writer *writer, const struct output_content *content,
                                  int64_t slab)
{
    struct ts_image first = content->first, second = content->second;
    int id[2];
    enum ts_status status = ts_hdf5_image(writer, "/entry/data", &first, &id[0]);
    if (status == TS_OK)
        status = ts_hdf5_image(writer, "/entry/other", &second, &id[1]);
    for (int64_t z = 0; z < first.axes[0].n && status == TS_OK; z += slab) {
        int64_t n = z + slab < first.axes[0].n ? slab : first.axes[0].n - z;
        struct ts_image part = ts_image_slices(&first, z, n);
        status = ts_hdf5_write(writer, id[0], &part);
        part = ts_image_slices(&second, z, n);
        if (status == TS_OK)
            status = ts_hdf5_write(writer, id[1], &part);
    }
    return status;
}

enum ts_status ts_test_write_output(const char *path, const struct hdf5_options *options,
                                    const struct output_content *content, int64_t slab,
                                    struct ts_diag *diag)
{
    struct hdf5_writer *writer;
    enum ts_status status = ts_hdf5_create(path, options, &writer, diag);
    if (status != TS_OK)
        return status;
    status = ts_hdf5_group(writer, "/entry", "NXentry");
    if (status == TS_OK)
        status = ts_hdf5_text(writer, "/entry/title", "a test");
    if (status == TS_OK)
        status = write_slabs(writer, content, slab);
    if (status == TS_OK)
        status = write_small(writer);
    if (status == TS_OK)
        return ts_hdf5_commit(writer);
    ts_hdf5_abandon(writer);
    return status;
}

bool ts_test_has_code(const struct ts_diag *diag, const char *code)
{
    return ts_test_record(diag, code) != NULL;
}

bool ts_test_has_text(const struct ts_diag *diag, const char *text)
{
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        if (strstr(ts_diag_get(diag, i)->message, text))
            return true;
    return false;
}
