/* SPDX-License-Identifier: Apache-2.0
 *
 * Every DICOM file of the public data, one by one, is held against what other decoders make of it:
 * a file whose values are trusted decodes to them and is taken by a run, or is refused because it
 * is no slice of a volume at all.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "io/dicom_header/dicom_scan.h"
#include "tests/files/dicom_open.h"
#include "tests/files/output_fixture.h"
#include "tests/support/support.h"

enum { COLUMNS = 25, PATH_BYTES = 1024, REFUSALS_MAX = 32 };

/* These stand in these columns of expected_pixels.tsv. */
enum { FILE_NAME = 0, SYNTAX = 2, MINIMUM = 17, MAXIMUM, SUM, SHA256, TRUST = 24 };

struct row {
    char *at[COLUMNS];
};

struct refusal {
    char code[48];
    size_t n;
};

struct tally {
    size_t trusted, equal, compressed, lossy, masked, refused;
    struct refusal refusals[REFUSALS_MAX];
    size_t n_refusals;
};

static bool next_row(char **text, struct row *row)
{
    char *line = strsep(text, "\n");
    if (line == NULL || *text == NULL)
        return false;
    for (int i = 0; i < COLUMNS; i++) {
        char *field = strsep(&line, "\t");
        row->at[i] = field != NULL ? field : "";
    }
    return true;
}

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Returns the digest that the pixels must have; HTJ2K, which the table's decoders lack, has that of
 * the same image uncompressed. NULL: the table does not know. Where the header says signed and the
 * codestream unsigned, decoders disagree, and the values are those of pydicom. */
static const char *trusted_digest(const struct row *row)
{
    const char *trust = row->at[TRUST];
    if (begins(trust, "twin "))
        return trust + strlen("twin ");
    const bool sign = strstr(row->at[FILE_NAME], "J2K_pixelrep_mismatch") != NULL;
    return sign || begins(trust, "native") || begins(trust, "agree-") ? row->at[SHA256] : NULL;
}

static bool is_among(const char *text, const char *const *list)
{
    while (*list && strcmp(*list, text) != 0)
        list++;
    return *list != NULL;
}

/* Returns true where the file may be refused: it is a secondary capture, ultrasound, in colors or a
 * palette, or a segmentation. A file without pixels has no row with values that are trusted. */
static bool is_no_slice(const char *path)
{
    static const char *const classes[] = {"7", "7.", "3.1", "6.1", "66.4", NULL};
    static const char *const gray[] = {"MONOCHROME1", "MONOCHROME2", NULL};
    struct arena *arena = ts_arena_create();
    struct dicom_file file;
    struct dicom_other other;
    const bool scanned = ts_dicom_scan_file(path, arena, &file, &other);
    const bool no_slice = scanned && (ts_dicom_is_class(file.sop_class, classes) ||
                                      !is_among(file.photometric, gray));
    ts_arena_destroy(arena);
    return no_slice;
}

/* The damaged files have a list of their own, which the next test reads. These of them have lost
 * nothing. */
static bool may_be_refused(const struct row *row)
{
    static const char *const whole[] = {"corrupt/synthetic/06_trailing_garbage.dcm",
                                        "corrupt/synthetic/07_no_preamble.dcm",
                                        "corrupt/synthetic/08_no_meta.dcm", NULL};
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", ts_test_data(), row->at[FILE_NAME]);
    return begins(row->at[FILE_NAME], "corrupt/") ? !is_among(row->at[FILE_NAME], whole)
                                                  : is_no_slice(path);
}

static void count_refusal(struct tally *tally, const struct row *row, const char *code)
{
    size_t i = 0;
    cr_expect(may_be_refused(row), "%s: refused (%s)", row->at[FILE_NAME], code);
    while (i < tally->n_refusals && strcmp(tally->refusals[i].code, code) != 0)
        i++;
    if (i == tally->n_refusals) {
        cr_assert_lt(i, REFUSALS_MAX);
        snprintf(tally->refusals[tally->n_refusals++].code, sizeof tally->refusals[0].code, "%s",
                 code);
    }
    tally->refusals[i].n++;
    tally->refused++;
}

/* Correct decoders of lossy streams may differ by 1 in any value: the table has its extremes and
 * its sum. */
static void check_lossy(const struct row *row, const struct ts_image *image, const void *data)
{
    const size_t n = ts_image_count(image);
    double low = INFINITY, high = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) {
        double value;
        ts_load_f64(&value, (const char *)data + i * ts_dtype_bytes(image->dtype), image->dtype, 1);
        low = fmin(low, value);
        high = fmax(high, value);
        sum += value;
    }
    cr_expect(fabs(low - atof(row->at[MINIMUM])) <= 1 && fabs(high - atof(row->at[MAXIMUM])) <= 1 &&
                  fabs(sum - atof(row->at[SUM])) <= (double)n,
              "%s: values from %g to %g of sum %g, expected %s, %s and %s", row->at[FILE_NAME], low,
              high, sum, row->at[MINIMUM], row->at[MAXIMUM], row->at[SUM]);
}

static void hash(const void *data, size_t bytes, char out[65])
{
    unsigned char digest[32];
    cr_assert_eq(EVP_Digest(data, bytes, digest, NULL, EVP_sha256(), NULL), 1);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static void check_values(const struct row *row, const char *digest, struct source *source,
                         struct ts_diag *diag, struct tally *tally)
{
    void *data = malloc(ts_image_bytes(&source->image));
    source->ops->start(source, 2, 4, diag);
    const enum ts_status status = source->ops->read(source, 0, source->n_slices, data, diag);
    const char *code =
        ts_diag_count(diag) > 0 ? ts_diag_get(diag, ts_diag_count(diag) - 1)->code : "";
    /* The table's decoders leave bits outside of Bits Stored as they are. */
    const bool wide = strstr(row->at[FILE_NAME], "mlut_18") !=
                      NULL; /* 4095 in 12 bits with a sign, which are -1 */
    const bool masked = status == TS_OK && (wide || strcmp(code, "unused-bits-set") == 0);
    const bool lossy = strstr(row->at[TRUST], "lossy") != NULL;
    char found[65] = "";
    hash(data, ts_image_bytes(&source->image), found);
    const bool equal = status == TS_OK && strcmp(found, digest) == 0;
    if (status != TS_OK) {
        count_refusal(tally, row, code);
    } else if (!equal && lossy) {
        check_lossy(row, &source->image, data);
        tally->lossy++;
    } else {
        cr_expect(equal || masked, "%s: sha256 %s, expected %s", row->at[FILE_NAME], found, digest);
        tally->masked += !equal;
        tally->equal += equal;
        tally->compressed += equal && (begins(row->at[SYNTAX], "1.2.840.10008.1.2.4") ||
                                       strcmp(row->at[SYNTAX], "1.2.840.10008.1.2.5") == 0);
    }
    free(data);
}

/* Opens a file as a run does, and expects that it is taken unless it may be refused. */
static void check_run(const struct row *row, const char *path)
{
    struct source *source = NULL;
    struct ts_diag *diag = ts_diag_create();
    const bool taken = ts_test_open_dicom(path, NULL, BURNED_IN_ALLOW, &source, diag) == TS_OK;
    const bool several = !taken && strcmp(ts_diag_get(diag, 0)->code, "several-series") ==
                                       0; /* all of them usable */
    cr_expect(taken || several || may_be_refused(row), "%s: %s", row->at[FILE_NAME],
              ts_diag_count(diag) > 0 ? ts_diag_get(diag, ts_diag_count(diag) - 1)->message : "");
    if (taken)
        source->ops->close(source);
    ts_diag_destroy(diag);
}

static void check_row(const struct row *row, struct tally *tally)
{
    char path[PATH_BYTES];
    struct source *source;
    const char *code = "", *digest = trusted_digest(row);
    if (!digest)
        return;
    struct ts_diag *diag = ts_diag_create();
    tally->trusted++;
    snprintf(path, sizeof path, "%s/%s", ts_test_data(), row->at[FILE_NAME]);
    if (ts_test_open_file(path, NULL, &source, &code, diag)) {
        check_values(row, digest, source, diag, tally);
        source->ops->close(source);
    } else {
        count_refusal(tally, row, code);
    }
    ts_diag_destroy(diag);
    check_run(row, path);
}

Test(dicom_expected, every_trusted_image_decodes_or_is_refused_for_cause, .timeout = 900)
{
    SKIP_WITHOUT_DATA("dicom_expected/every_trusted_image_decodes_or_is_refused_for_cause");
    char path[PATH_BYTES];
    size_t bytes;
    static struct tally tally;
    struct row row;
    snprintf(path, sizeof path, "%s/expected_pixels.tsv", ts_test_data());
    char *text = (char *)ts_test_read_file(path, &bytes), *rest = text;
    text[bytes - 1] = '\0'; /* the last line feed */
    while (next_row(&rest, &row))
        check_row(&row, &tally);
    fprintf(stderr,
            "dicom_expected: %zu trusted images: %zu equal (%zu of them compressed), %zu within 1 "
            "of a lossy decoder, %zu masked, %zu refused\n",
            tally.trusted, tally.equal, tally.compressed, tally.lossy, tally.masked, tally.refused);
    for (size_t i = 0; i < tally.n_refusals; i++)
        fprintf(stderr, "dicom_expected: %5zu refused (%s)\n", tally.refusals[i].n,
                tally.refusals[i].code);
    cr_assert_geq(tally.trusted, 1100);
    cr_assert_geq(tally.equal, 900);
    cr_assert_geq(tally.compressed, 20);
    free(text);
}

/* Opens and reads one file, or fails to. */
static bool reads(const char *path)
{
    struct source *source;
    const char *code;
    struct ts_diag *diag = ts_diag_create();
    bool ok = ts_test_open_file(path, NULL, &source, &code, diag);
    if (ok) {
        void *data = malloc(ts_image_bytes(&source->image));
        source->ops->start(source, 1, 1, diag);
        ok = source->ops->read(source, 0, source->n_slices, data, diag) == TS_OK;
        free(data);
        source->ops->close(source);
    }
    ts_diag_destroy(diag);
    return ok;
}

static bool opens_as_volume(const char *path)
{
    struct source *source = NULL;
    struct ts_diag *diag = ts_diag_create();
    const bool ok = ts_test_open_dicom(path, NULL, BURNED_IN_ALLOW, &source, diag) == TS_OK;
    if (ok)
        source->ops->close(source);
    ts_diag_destroy(diag);
    return ok;
}

/* Each damaged file ends as its list says: `reject`, `accept`, `reject for volumes`, or either way
 * but without a crash. */
Test(dicom_expected, damaged_files_end_as_their_list_says, .timeout = 900)
{
    SKIP_WITHOUT_DATA("dicom_expected/damaged_files_end_as_their_list_says");
    char path[PATH_BYTES];
    size_t bytes, rejected = 0, accepted = 0, n = 0;
    snprintf(path, sizeof path, "%s/corrupt/synthetic/EXPECT.tsv", ts_test_data());
    char *text = (char *)ts_test_read_file(path, &bytes), *rest = text;
    text[bytes - 1] = '\0';
    strsep(&rest, "\n"); /* the names of the columns */
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"), n++) {
        const char *name = strsep(&line, "\t");
        strsep(&line, "\t"); /* the bytes of the file */
        const char *expect = strsep(&line, "\t");
        snprintf(path, sizeof path, "%s/corrupt/synthetic/%s", ts_test_data(), name);
        const bool good = reads(path), volume = opens_as_volume(path);
        if (strcmp(expect, "accept") == 0)
            cr_expect(good, "%s is refused", name);
        else if (strcmp(expect, "reject for volumes") == 0)
            cr_expect_not(volume, "%s is accepted", name);
        else if (strcmp(expect, "reject") == 0 ||
                 strcmp(expect, "reject under a memory limit") == 0)
            cr_expect_not(good, "%s is read", name);
        accepted += good;
        rejected += !good;
    }
    fprintf(stderr, "dicom_expected: of %zu damaged files, %zu are read and %zu refused\n", n,
            accepted, rejected);
    cr_assert_geq(n, 97);
    free(text);
}
