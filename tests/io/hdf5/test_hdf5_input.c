/* SPDX-License-Identifier: Apache-2.0
 *
 * HDF5 files of others that claim too much: links that lead on and on, chunks and sides that nobody
 * could hold.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_input.h"
#include "io/scan/hdf5_source.h"
#include "tests/files/dicom_open.h"
#include "tests/files/scan_file.h"
#include "tests/support/support.h"

TestSuite(hdf5_input, .init = ts_scan_file_begin, .fini = ts_scan_file_end);

/* Reads the dataset at `path` of the test's file as a volume, and expects this error. With code
 * NULL it is accepted. */
static void check(const char *path, const char *code, const char *words)
{
    static const char *const axes[3] = {"z", "y", "x"};
    static const double spacing[3] = {1, 1, 1};
    struct hdf5_params values;
    struct source *source = NULL;
    const struct param_set set = ts_scan_file_hdf5(&values, axes, 0);
    values.spacing = (struct ts_numbers){1, 3, spacing};
    values.path = path;
    const enum ts_status status = hdf5_format.open(&set, &source, ts_scan_file.diag);
    cr_assert_eq(status, code ? TS_BAD_INPUT : TS_OK, "%s: %d", path, (int)status);
    if (code)
        ts_test_expect(ts_scan_file.diag, code, words);
    else
        source->ops->close(source);
    ts_diag_clear(ts_scan_file.diag);
}

Test(hdf5_input, links_are_followed_so_far)
{
    char name[32], target[32], longest[HDF5_INPUT_PATH + 32];
    const hid_t file = ts_scan_file_exchange(NULL, 0, NULL);
    for (int i = 0; i <= HDF5_INPUT_LINKS; i++) {
        snprintf(name, sizeof name, "/link%d", i);
        snprintf(target, sizeof target, "/link%d", i - 1);
        cr_assert(H5Lcreate_soft(i ? target : "/exchange/data", file, name, H5P_DEFAULT,
                                 H5P_DEFAULT) >= 0);
    }
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    cr_assert(H5Lcreate_soft(longest, file, "/long", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Fclose(file);
    snprintf(name, sizeof name, "/link%d", HDF5_INPUT_LINKS - 1);
    check(name, NULL, NULL);
    snprintf(name, sizeof name, "/link%d", HDF5_INPUT_LINKS);
    check(name, "hdf5-links", "more than 16 links one after the other");
    check("/long", "hdf5-links", "at most 1024 are followed");
}

/* Each file's /next leads to that of the next file. */
Test(hdf5_input, links_lead_to_so_many_files)
{
    char path[450], next[32];
    for (int i = 0; i <= HDF5_INPUT_FILES; i++) {
        snprintf(path, sizeof path, "%s/file%d.h5", ts_scan_file.folder, i);
        snprintf(next, sizeof next, "file%d.h5", i + 1);
        const hid_t file =
            H5Fcreate(i ? path : ts_scan_file.path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        if (i < HDF5_INPUT_FILES)
            cr_assert(H5Lcreate_external(next, "/next", file, "/next", H5P_DEFAULT, H5P_DEFAULT) >=
                      0);
        else
            ts_scan_file_frames(file, "next", SCAN_FRAMES, NULL);
        if (i == HDF5_INPUT_FILES - 1)
            ts_scan_file_frames(file, "last", SCAN_FRAMES, NULL);
        H5Fclose(file);
    }
    check("/next", "hdf5-links", "its links lead to more than 16 files");
}

static void make_chunked(hid_t file, const char *name, const hsize_t n[3], const hsize_t chunk[3])
{
    const hid_t space = H5Screate_simple(3, n, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    cr_assert(H5Pset_chunk(list, 3, chunk) >= 0);
    const hid_t dataset =
        H5Dcreate2(file, name, H5T_STD_U16LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    cr_assert(dataset >= 0);
    H5Dclose(dataset);
    H5Pclose(list);
    H5Sclose(space);
}

Test(hdf5_input, claims_that_nobody_could_hold_are_refused)
{
    static const hsize_t side = 1 << 14, most = INT32_MAX;
    const hid_t file = ts_scan_file_exchange(NULL, 0, NULL);
    make_chunked(file, "chunk", (const hsize_t[]){1, side, side}, (const hsize_t[]){1, side, side});
    make_chunked(file, "large", (const hsize_t[]){1, most, most}, (const hsize_t[]){1, 8, 8});
    make_chunked(file, "side", (const hsize_t[]){3, 4, (1 << 20) + 1}, (const hsize_t[]){1, 1, 8});
    H5Fclose(file);
    check("/chunk", "hdf5-chunk", "a chunk of /chunk has more than 268435456 bytes");
    check("/large", "hdf5-size", "the size of /large cannot be addressed");
    check("/side", "hdf5-size", "axis 2 of /side has length 1048577, at most 1048576 are read");
}
