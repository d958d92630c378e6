/* SPDX-License-Identifier: Apache-2.0
 *
 * A chain names more than the path of its output: compression and dtype.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/chain/chain.h"
#include "tests/support/chain_text.h"

/* In a file, on one line and by --set; what is recorded says so where it is not the default, and is
 * a chain again. */
Test(chain_output, has_a_compression_and_a_dtype)
{
    static const struct {
        const char *text, *assignment;
        int32_t compression, dtype;
        const char *recorded;
    } cases[] = {
        {"dicom x | fbp | hdf5 a.h5", NULL, CHAIN_DEFLATE, CHAIN_OWN, ""},
        {"dicom x | fbp | hdf5 a.h5 compression=none", NULL, CHAIN_STORED, CHAIN_OWN,
         "output: {compression: none}\n"},
        {"dicom x | fbp | hdf5 a.h5 compression=small", NULL, CHAIN_SMALL, CHAIN_OWN,
         "output: {compression: small}\n"},
        {"dicom x | fbp | hdf5 a.h5 compression=Deflate dtype=own", NULL, CHAIN_DEFLATE, CHAIN_OWN,
         ""},
        {"dicom x | fbp | hdf5 a.h5 dtype=f16", NULL, CHAIN_DEFLATE, CHAIN_F16,
         "output: {dtype: f16}\n"},
        {"tomostage: 2\ninput: {dicom: x}\nstages: [fbp]\noutput: {hdf5: a.h5, dtype: f16, "
         "compression: none}\n",
         NULL, CHAIN_STORED, CHAIN_F16, "output: {compression: none, dtype: f16}\n"},
        {"tomostage: 2\ninput: {dicom: x}\nstages: [fbp]\noutput: {compression: none}\n", NULL,
         CHAIN_STORED, CHAIN_OWN, "output: {compression: none}\n"},
        {"dicom x | fbp | png a window=40,400", NULL, CHAIN_DEFLATE, CHAIN_OWN,
         "output: {window: [40, 400]}\n"},
        {"dicom x | fbp | hdf5 a.h5 | dicom a codec=rle", NULL, CHAIN_DEFLATE, CHAIN_OWN,
         "output: {codec: rle}\n"},
        {"dicom x | fbp", "output.compression=none", CHAIN_STORED, CHAIN_OWN,
         "output: {compression: none}\n"},
        {"dicom x | fbp", "output.dtype=f16", CHAIN_DEFLATE, CHAIN_F16, "output: {dtype: f16}\n"},
        {"dicom x | fbp | hdf5 a.h5 compression=none", "output.compression=deflate", CHAIN_DEFLATE,
         CHAIN_OWN, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_diag *diag;
        struct ts_chain *chain;
        cr_assert_eq(ts_test_parse(cases[i].text, &chain, &diag), TS_OK, "%s",
                     ts_test_errors(diag));
        if (cases[i].assignment)
            cr_assert_eq(ts_chain_set(chain, cases[i].assignment, diag), TS_OK, "%s",
                         ts_test_errors(diag));
        cr_expect_eq(chain->output.compression, cases[i].compression, "case %zu", i);
        cr_expect_eq(chain->output.dtype, cases[i].dtype, "case %zu", i);
        char *text = ts_chain_canonical(chain);
        const char *recorded = strstr(text, "output");
        cr_expect_str_eq(recorded ? recorded : "", cases[i].recorded);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
        cr_assert_eq(ts_test_parse(text, &chain, &diag), TS_OK, "%s", ts_test_errors(diag));
        cr_expect_eq(chain->output.compression, cases[i].compression);
        cr_expect_eq(chain->output.dtype, cases[i].dtype);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
        free(text);
    }
}
