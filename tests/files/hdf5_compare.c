/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/files/hdf5_compare.h"

#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct comparison {
    hid_t other;
    double relative;
    size_t n_elements, n_datasets;
};

static double *read_numbers(hid_t file, const char *name, size_t *n)
{
    const hid_t data = H5Dopen2(file, name, H5P_DEFAULT),
                space = data < 0 ? -1 : H5Dget_space(data);
    cr_assert(data >= 0 && space >= 0, "no dataset %s", name);
    *n = (size_t)H5Sget_simple_extent_npoints(space);
    double *values = malloc((*n + 1) * sizeof *values);
    cr_assert(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0,
              "cannot read %s", name);
    H5Sclose(space);
    H5Dclose(data);
    return values;
}

static H5T_class_t class_of(hid_t file, const char *name)
{
    const hid_t data = H5Dopen2(file, name, H5P_DEFAULT), type = H5Dget_type(data);
    const H5T_class_t kind = H5Tget_class(type);
    H5Tclose(type);
    H5Dclose(data);
    return kind;
}

static herr_t compare_object(hid_t file, const char *name, const H5O_info_t *info, void *user)
{
    struct comparison *comparison = user;
    if (info->type != H5O_TYPE_DATASET)
        return 0;
    const H5T_class_t kind = class_of(file, name);
    if (kind != H5T_INTEGER && kind != H5T_FLOAT)
        return 0;
    size_t n, n_other;
    double *values = read_numbers(file, name, &n),
           *others = read_numbers(comparison->other, name, &n_other);
    double largest = 0;
    cr_assert_eq(n, n_other, "%s: %zu and %zu elements", name, n, n_other);
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            largest = fmax(largest, fabs(values[i]));
    const double bound = kind == H5T_FLOAT ? comparison->relative * largest : 0;
    for (size_t i = 0; i < n; i++) {
        const bool same = values[i] == others[i] || (isnan(values[i]) && isnan(others[i]));
        if (!same && !(fabs(values[i] - others[i]) <= bound))
            cr_assert_fail("%s: element %zu is %.17g and %.17g, tolerance %.3g", name, i, values[i],
                           others[i], bound);
    }
    comparison->n_elements += n;
    comparison->n_datasets++;
    free(values);
    free(others);
    return 0;
}

size_t ts_test_compare_hdf5(const char *file, const char *other, double relative)
{
    const hid_t opened = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT);
    struct comparison comparison = {.other = H5Fopen(other, H5F_ACC_RDONLY, H5P_DEFAULT),
                                    .relative = relative};
    cr_assert(opened >= 0 && comparison.other >= 0, "cannot open %s or %s", file, other);
    cr_assert(H5Ovisit2(opened, H5_INDEX_NAME, H5_ITER_INC, compare_object, &comparison,
                        H5O_INFO_BASIC) >= 0);
    cr_assert_gt(comparison.n_datasets, 0, "%s holds no numbers", file);
    H5Fclose(opened);
    H5Fclose(comparison.other);
    return comparison.n_elements;
}
