/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/files/hdf5_data.h"

#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdlib.h>

#include "tests/support/support.h"

double *ts_test_read_hdf5(const char *file, const char *dataset, size_t *n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", ts_test_data(), file);
    return ts_test_read_hdf5_at(path, dataset, n);
}

double *ts_test_read_hdf5_at(const char *path, const char *dataset, size_t *n)
{
    const hid_t opened = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    cr_assert(opened >= 0, "cannot open %s", path);
    const hid_t data = H5Dopen2(opened, dataset, H5P_DEFAULT);
    cr_assert(data >= 0, "%s has no dataset %s", path, dataset);
    const hid_t space = H5Dget_space(data);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    cr_assert(count > 0, "%s: %s is empty", path, dataset);
    double *values = malloc((size_t)count * sizeof *values);
    cr_assert(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0,
              "cannot read %s", dataset);
    H5Sclose(space);
    H5Dclose(data);
    H5Fclose(opened);
    *n = (size_t)count;
    return values;
}
