/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage verify`: checks every digest of a result and prints what that has proved.
 */
#include "core/number.h"
#include "io/hdf5/hdf5_verify.h"
#include "pipeline/cli/cli.h"

static void print_proof(const char *file, const struct hdf5_proof *proof)
{
    char path[4096], values[32];
    ts_text_escape(path, sizeof path, file);
    ts_bytes_format(values, sizeof values, (double)proof->value_bytes);
    if (proof->version == 1)
        printf("%s: values only: %zu datasets (%s of values); attributes, structure and other bytes have no digest in "
               "files of this version\n",
               path, proof->datasets, values);
    else
        printf("%s: whole: %zu datasets (%s of values), %zu attributes, the structure, every byte\n", path,
               proof->datasets, values, proof->attributes);
    printf("  digest %s\n", proof->digest);
}

static int verify(char **operands)
{
    struct ts_diag *diag = ts_command_diag();
    struct hdf5_proof proof;
    if (!diag)
        return TS_RUN_FAILED;
    const enum ts_status status = ts_hdf5_verify(operands[0], &proof, diag);
    if (status == TS_OK)
        print_proof(operands[0], &proof);
    return ts_command_finish_take(diag, status, false);
}

const struct command ts_cli_verify = {
    .name = "verify",
    .usage = "FILE",
    .summary = "check every digest of an HDF5 file that tomostage wrote",
    .help =
        "Recomputes the SHA-256 of every dataset, of all attributes, links and structure, and of all bytes, names the\n"
        "first thing that differs (exit code 3), and says what it has proved.\n",
    .operands = {1, 1, "a FILE"},
    .run = verify,
};
