/* SPDX-License-Identifier: Apache-2.0
 *
 * What a chain says of its output beside the path.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/chain/chain.h"
#include "tests/support/chain_text.h"

/* In a file, on one line and by --set; what is recorded says so where it is not the default, and is a chain again. */
Test(chain_output, has_a_compression)
{
    static const struct {
        const char *text, *assignment;
        int32_t compression;
    } cases[] = {
        {"dicom x | equalize | hdf5 a.h5", NULL, CHAIN_DEFLATE},
        {"dicom x | equalize | hdf5 a.h5 compression=none", NULL, CHAIN_STORED},
        {"dicom x | equalize | hdf5 a.h5 compression=Deflate", NULL, CHAIN_DEFLATE},
        {"tomostage: 1\ninput: {dicom: x}\nstages: [equalize]\noutput: {hdf5: a.h5, compression: none}\n", NULL,
         CHAIN_STORED},
        {"tomostage: 1\ninput: {dicom: x}\nstages: [equalize]\noutput: {compression: none}\n", NULL, CHAIN_STORED},
        {"dicom x | equalize", "output.compression=none", CHAIN_STORED},
        {"dicom x | equalize | hdf5 a.h5 compression=none", "output.compression=deflate", CHAIN_DEFLATE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        cr_assert_eq(ts_test_parse(cases[i].text, &chain, &diag), TS_OK, "%s", ts_test_errors(diag));
        if (cases[i].assignment)
            cr_assert_eq(ts_chain_set(chain, cases[i].assignment, diag), TS_OK, "%s", ts_test_errors(diag));
        cr_expect_eq(chain->output.compression, cases[i].compression, "case %zu", i);
        char *text = ts_chain_canonical(chain);
        cr_expect_eq(strstr(text, "\noutput: {compression: none}\n") != NULL, cases[i].compression == CHAIN_STORED);
        cr_expect_eq(strstr(text, "output") != NULL, cases[i].compression == CHAIN_STORED);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
        cr_assert_eq(ts_test_parse(text, &chain, &diag), TS_OK, "%s", ts_test_errors(diag));
        cr_expect_eq(chain->output.compression, cases[i].compression);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
        free(text);
    }
}

/* It is recorded where it is not the default, beside the compression where that is not. */
Test(chain_output, has_a_dtype)
{
    static const struct {
        const char *text, *assignment;
        int32_t dtype;
        const char *recorded;
    } cases[] = {
        {"dicom x | fbp | hdf5 a.h5", NULL, CHAIN_OWN, ""},
        {"dicom x | fbp | hdf5 a.h5 dtype=f16", NULL, CHAIN_F16, "output: {dtype: f16}\n"},
        {"dicom x | fbp | hdf5 a.h5 dtype=own compression=none", NULL, CHAIN_OWN, "output: {compression: none}\n"},
        {"tomostage: 1\ninput: {dicom: x}\nstages: [fbp]\noutput: {hdf5: a.h5, dtype: f16, compression: none}\n", NULL,
         CHAIN_F16, "output: {compression: none, dtype: f16}\n"},
        {"dicom x | fbp", "output.dtype=f16", CHAIN_F16, "output: {dtype: f16}\n"},
        {"dicom x | fbp | hdf5 a.h5 dtype=f16", "output.dtype=own", CHAIN_OWN, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        cr_assert_eq(ts_test_parse(cases[i].text, &chain, &diag), TS_OK, "%s", ts_test_errors(diag));
        if (cases[i].assignment)
            cr_assert_eq(ts_chain_set(chain, cases[i].assignment, diag), TS_OK, "%s", ts_test_errors(diag));
        cr_expect_eq(chain->output.dtype, cases[i].dtype, "case %zu", i);
        char *text = ts_chain_canonical(chain);
        const char *output = strstr(text, "output");
        cr_expect_str_eq(output ? output : "", cases[i].recorded);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
        cr_assert_eq(ts_test_parse(text, &chain, &diag), TS_OK, "%s", ts_test_errors(diag));
        cr_expect_eq(chain->output.dtype, cases[i].dtype);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
        free(text);
    }
}
