/* SPDX-License-Identifier: Apache-2.0
 *
 * The dicom source on small files made here: values, digests, order of reading, and what happens to
 * files that are damaged, changed or gone.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/dicom_frames/dicom_source.h"
#include "io/dicom_header/dicom_kernel.h"
#include "pipeline/chain/formats.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { N_PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS };

struct study {
    char folder[256];
    struct ts_diag *diag;
    struct source *source;
};

static struct study open_study(int n, void (*edit)(struct dicom_fixture *, int, void *), void *user)
{
    struct study study = {.diag = ts_diag_create()};
    ts_test_folder_in_memory(study.folder, sizeof study.folder);
    ts_fixture_series(study.folder, n, edit, user);
    enum ts_status status =
        ts_test_open_dicom(study.folder, NULL, BURNED_IN_REFUSE, &study.source, study.diag);
    cr_assert_eq(status, TS_OK, "%s",
                 ts_diag_count(study.diag) > 0 ? ts_diag_get(study.diag, 0)->message : "");
    return study;
}

static void close_study(struct study *study)
{
    study->source->ops->close(study->source);
    ts_diag_destroy(study->diag);
    ts_test_remove_folder(study->folder);
    ts_test_no_children();
}

static double value_at(const struct source *source, const void *data, size_t i)
{
    double value;
    ts_load_f64(&value, (const char *)data + i * ts_dtype_bytes(source->image.dtype),
                source->image.dtype, 1);
    return value;
}

/* Every value equals stored * slope[z] + intercept. */
static void check_values(struct study *study, double slope_step)
{
    void *data = ts_test_read_all(study->source, study->diag);
    for (int64_t z = 0; z < study->source->n_slices; z++)
        for (int y = 0; y < FIXTURE_ROWS; y++)
            for (int x = 0; x < FIXTURE_COLUMNS; x++) {
                const double slope = 1 + slope_step * (double)z;
                const double exact = ts_fixture_stored(x, y, (int)z) * slope - 1024;
                const double got =
                    value_at(study->source, data, (size_t)(z * N_PIXELS + y * FIXTURE_COLUMNS + x));
                cr_assert_eq(got, slope_step != 0 ? (double)(float)exact : exact,
                             "(%d, %d, %d): %g, expected %g", (int)z, y, x, got, exact);
            }
    free(data);
}

static void hex(char out[65], const unsigned char digest[32])
{
    for (int i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

Test(dicom, values_and_what_is_kept_of_each_slice)
{
    struct study study = open_study(FIXTURE_SLICES, NULL, NULL);
    struct source *source = study.source;
    cr_assert_eq(source->n_slices, FIXTURE_SLICES);
    cr_assert_eq(source->image.dtype, TS_I16);
    check_values(&study, 0);
    for (int z = 0; z < FIXTURE_SLICES; z++) {
        const struct source_slice *slice = &source->slices[z];
        unsigned char pixels[2 * N_PIXELS + 22], digest[32], key[32], mac[32];
        unsigned int length = 32;
        char text[65], uid[64];
        for (int i = 0; i < N_PIXELS; i++) {
            const uint16_t stored = ts_fixture_stored(i % FIXTURE_COLUMNS, i / FIXTURE_COLUMNS, z);
            pixels[2 * i] = (unsigned char)stored;
            pixels[2 * i + 1] = (unsigned char)(stored >> 8);
        }
        memcpy(pixels + 2 * N_PIXELS, "tomostage instance key", 22);
        EVP_Digest(pixels, 2 * N_PIXELS, digest, NULL, EVP_sha256(), NULL);
        hex(text, digest);
        cr_assert_str_eq(slice->pixel_sha256, text);
        EVP_Digest(pixels, sizeof pixels, key, NULL, EVP_sha256(), NULL);
        snprintf(uid, sizeof uid, "1.2.826.0.1.3680043.10.1.3.%d", z + 1);
        HMAC(EVP_sha256(), key, 32, (unsigned char *)uid, strlen(uid), mac, &length);
        hex(text, mac);
        cr_assert_str_eq(slice->instance_hmac, text);
        cr_assert(slice->slope == 1 && slice->intercept == -1024 && slice->padding_count == 0);
        cr_assert_float_eq(slice->position_mm[2], 100.125 + 1.3 * z, 1e-9);
    }
    close_study(&study);
}

static void edit_syntax(struct dicom_fixture *fixture, int z, void *user)
{
    (void)z;
    if (strcmp(user, FIXTURE_RLE) == 0)
        ts_fixture_rle(fixture);
    else if (strcmp(user, FIXTURE_DEFLATED_FRAME) == 0)
        ts_fixture_deflate_frame(fixture);
    else
        ts_fixture_syntax(fixture, user);
}

/* Slices in any order, size and number of times, with any number of threads or workers and slots,
 * with and without being announced. */
static void check_any_order(char *syntax)
{
    const int threads[] = {1, 2, 7}, ahead[] = {1, 2, 5, 100};
    struct study study = open_study(FIXTURE_SLICES, edit_syntax, syntax);
    const size_t slice_bytes = ts_slice_bytes(&study.source->image);
    unsigned char *whole = ts_test_read_all(study.source, study.diag),
                  part[FIXTURE_SLICES * 2 * N_PIXELS];
    uint64_t seed = 5;
    size_t reads = 0;
    for (size_t t = 0; t < 3; t++)
        for (size_t a = 0; a < 4; a++) {
            study.source->ops->close(study.source);
            cr_assert_eq(ts_test_open_dicom(study.folder, NULL, 0, &study.source, study.diag),
                         TS_OK);
            cr_assert_eq(study.source->ops->start(study.source, threads[t], ahead[a], study.diag),
                         TS_OK);
            for (int i = 0; i < 60; i++, reads++) {
                const int64_t z = (int64_t)(ts_random_next(&seed) % FIXTURE_SLICES);
                const int64_t n =
                    (int64_t)(ts_random_next(&seed) % (uint64_t)(FIXTURE_SLICES - z + 1));
                const int64_t hint = (int64_t)(ts_random_next(&seed) % FIXTURE_SLICES);
                if (i % 3 == 0)
                    study.source->ops->prefetch(study.source, hint, FIXTURE_SLICES - hint);
                if (i % 7 == 0)
                    study.source->ops->prefetch(study.source, z, n);
                memset(part, 0xA5, sizeof part);
                cr_assert_eq(study.source->ops->read(study.source, z, n, part, study.diag), TS_OK);
                cr_assert_arr_eq(part, whole + (size_t)z * slice_bytes, (size_t)n * slice_bytes);
                if (z + n < FIXTURE_SLICES)
                    cr_assert_eq(part[(size_t)n * slice_bytes], 0xA5, "written past the end");
            }
        }
    cr_assert_eq(reads, 720);
    cr_assert_eq(study.source->ops->read(study.source, 3, FIXTURE_SLICES - 2, part, study.diag),
                 TS_RUN_FAILED);
    ts_test_expect(study.diag, "slice-out-of-range", "slices 3 to 11 were asked for, there are 11");
    free(whole);
    close_study(&study);
}

Test(dicom, any_order_same_bytes)
{
    check_any_order(FIXTURE_EXPLICIT_LE);
    check_any_order(FIXTURE_DEFLATED);
    check_any_order(FIXTURE_RLE);
}

Test(dicom, syntaxes)
{
    char *uids[] = {FIXTURE_IMPLICIT_LE, FIXTURE_EXPLICIT_LE, FIXTURE_EXPLICIT_BE,
                    FIXTURE_DEFLATED,    FIXTURE_RLE,         FIXTURE_DEFLATED_FRAME};
    for (size_t i = 0; i < sizeof uids / sizeof *uids; i++) {
        struct study study = open_study(4, edit_syntax, uids[i]);
        check_values(&study, 0);
        close_study(&study);
    }
}

static void edit_slope(struct dicom_fixture *fixture, int z, void *user)
{
    char text[32];
    (void)user;
    snprintf(text, sizeof text, "%g", 1 + 0.125 * z);
    ts_fixture_text(fixture, 0x00281053, "DS", text);
}

Test(dicom, slope_of_each_slice)
{
    struct study study = open_study(5, edit_slope, NULL);
    cr_assert_eq(study.source->image.dtype, TS_F32);
    check_values(&study, 0.125);
    cr_assert_eq(study.source->slices[4].slope, 1.5);
    close_study(&study);
}

/* Signed 12 in 16 bits, garbage above bit 11, padding -2000 to -1990: the values by hand. */
static const int16_t signed_values[N_PIXELS] = {-2000, -1995, -1990, -1989, -2048, 2047, -1, 0, 1};

static void edit_signed(struct dicom_fixture *fixture, int z, void *user)
{
    unsigned char pixels[2 * N_PIXELS];
    (void)user;
    for (int i = 0; i < N_PIXELS; i++) {
        const uint16_t cell = (uint16_t)((signed_values[i] & 0x0FFF) | (z == 1 ? 0x5000 : 0));
        pixels[2 * i] = (unsigned char)cell;
        pixels[2 * i + 1] = (unsigned char)(cell >> 8);
    }
    ts_fixture_bytes(fixture, FIXTURE_PIXELS, "OW", pixels, sizeof pixels);
    ts_fixture_us(fixture, 0x00280103, 1);
    ts_fixture_bytes(fixture, 0x00280120, "SS", (unsigned char[]){0x30, 0xF8}, 2); /* -2000 */
    ts_fixture_bytes(fixture, 0x00280121, "SS", (unsigned char[]){0x3A, 0xF8}, 2); /* -1990 */
}

Test(dicom, signed_with_dirty_bits_and_padding)
{
    struct study study = open_study(3, edit_signed, NULL);
    int16_t *data = ts_test_read_all(study.source, study.diag);
    size_t notes = 0;
    cr_assert_eq(study.source->image.dtype, TS_I16);
    for (int z = 0; z < 3; z++) {
        for (int i = 0; i < N_PIXELS; i++)
            cr_assert_eq(data[z * N_PIXELS + i], signed_values[i] - 1024);
        cr_assert_eq(study.source->slices[z].padding_count, 3);
        cr_assert_eq(*ts_source_valid(study.source, z),
                     UINT64_MAX >> (64 - N_PIXELS) & ~(uint64_t)0x7);
        cr_assert_str_eq(study.source->slices[z].pixel_sha256,
                         study.source->slices[0].pixel_sha256);
    }
    for (size_t i = 0; i < ts_diag_count(study.diag); i++)
        notes += strcmp(ts_diag_get(study.diag, i)->code, "unused-bits-set") == 0;
    cr_assert_eq(notes, 1);
    free(data);
    close_study(&study);
}

static const char *attribute(const struct source *source, const char *name)
{
    for (size_t i = 0; i < source->n_attributes; i++)
        if (strcmp(source->attributes[i].name, name) == 0)
            return source->attributes[i].value;
    return NULL;
}

static void edit_texts(struct dicom_fixture *fixture, int z, void *user)
{
    ts_fixture_text(fixture, 0x00280301, "CS", user);
    ts_fixture_text(fixture, 0x00181210, "SH", z == 2 ? "SHARP" : "SOFT");
}

Test(dicom, attributes)
{
    struct study study = open_study(3, NULL, NULL);
    cr_assert_str_eq(attribute(study.source, "modality"), "CT");
    cr_assert_str_eq(attribute(study.source, "convolution_kernel"), "STANDARD");
    cr_assert_str_eq(attribute(study.source, "burned_in_annotation"), "UNKNOWN");
    cr_assert_str_eq(attribute(study.source, "rescale_type"), "HU");
    cr_assert_str_eq(attribute(study.source, "photometric"), "MONOCHROME2");
    for (size_t i = 0; i < study.source->n_attributes; i++)
        cr_assert_null(strstr(study.source->attributes[i].value, "Nobody"));
    close_study(&study);
    study = open_study(3, edit_texts, "NO");
    cr_assert_str_eq(attribute(study.source, "burned_in_annotation"), "NO");
    cr_assert_str_eq(attribute(study.source, "convolution_kernel"), "mixed");
    close_study(&study);
}

Test(dicom, burned_in_text_is_refused)
{
    struct study study = {.diag = ts_diag_create()};
    ts_test_folder_in_memory(study.folder, sizeof study.folder);
    ts_fixture_series(study.folder, 3, edit_texts, "YES");
    cr_assert_eq(
        ts_test_open_dicom(study.folder, NULL, BURNED_IN_REFUSE, &study.source, study.diag),
        TS_BAD_INPUT);
    cr_assert_null(study.source);
    ts_test_expect(study.diag, "burned-in-annotation", "Burned In Annotation is YES");
    cr_assert_eq(ts_test_open_dicom(study.folder, NULL, BURNED_IN_ALLOW, &study.source, study.diag),
                 TS_OK);
    cr_assert_str_eq(attribute(study.source, "burned_in_annotation"), "YES");
    for (size_t i = 0; i < study.source->n_attributes; i++)
        cr_assert_str_neq(study.source->attributes[i].name, "deidentification_codes");
    close_study(&study);
}

static void expect_failure(struct study *study, const char *code, const char *text)
{
    unsigned char data[FIXTURE_SLICES * 2 * N_PIXELS];
    cr_assert_eq(
        study->source->ops->read(study->source, 0, study->source->n_slices, data, study->diag),
        TS_BAD_INPUT);
    ts_test_expect(study->diag, code, text);
    cr_assert_not_null(
        strstr(ts_diag_get(study->diag, ts_diag_count(study->diag) - 1)->message, ".dcm"));
    close_study(study);
}

static void path_of(const struct study *study, int64_t z, char path[128])
{
    /* The fixture names its files in reverse order of position. */
    snprintf(path, 128, "%s/IM%03d.dcm", study->folder, (int)(study->source->n_slices - 1 - z));
    cr_assert_eq(access(path, F_OK), 0, "%s", path);
}

Test(dicom, changed_truncated_and_missing_files)
{
    char path[128], other[128];
    struct study study = open_study(4, NULL, NULL);
    path_of(&study, 2, path);
    const struct timespec times[2] = {{.tv_sec = 5}, {.tv_sec = 5}};
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    expect_failure(&study, "file-changed", "changed after its header was checked");

    study = open_study(4, NULL, NULL);
    path_of(&study, 1, path);
    cr_assert_eq(truncate(path, 700), 0);
    expect_failure(&study, "file-changed", "changed after its header was checked");

    study = open_study(4, NULL, NULL);
    path_of(&study, 1, path);
    unlink(path);
    expect_failure(&study, "file-not-readable", "No such file");

    /* A link that was not there before leads to another file; a FIFO must not block. */
    study = open_study(4, NULL, NULL);
    path_of(&study, 1, path);
    path_of(&study, 2, other);
    unlink(path);
    cr_assert_eq(symlink(other, path), 0);
    expect_failure(&study, "file-changed", "slice");

    study = open_study(4, NULL, NULL);
    path_of(&study, 1, path);
    unlink(path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    expect_failure(&study, "file-changed", "slice");
}

/* A file that is written to between its opening and its reading would give pixels that nobody
 * checked. */
Test(dicom, a_file_changed_while_it_is_read_is_noticed)
{
    struct study study = open_study(3, NULL, NULL);
    const struct dicom_file *file = ((struct dicom_source *)study.source)->frames[1].image->file;
    const struct timespec times[2] = {{.tv_sec = 5}, {.tv_sec = 5}};
    struct dicom_reply reply = {0};
    const int fd = ts_dicom_frame_open(file, &reply);
    cr_assert(fd >= 0 && ts_dicom_frame_check(file, fd, &reply) && reply.verdict.status == TS_OK);
    cr_assert_eq(futimens(fd, times), 0);
    cr_assert_not(ts_dicom_frame_check(file, fd, &reply));
    cr_assert(reply.verdict.status != TS_OK && strcmp(reply.verdict.code, "file-changed") == 0);
    close(fd);
    close_study(&study);
}

/* Several slices are gone: the first is named, whichever thread was faster. */
Test(dicom, the_first_failure_is_reported)
{
    char path[128];
    for (int threads = 1; threads <= 4; threads++) {
        unsigned char data[FIXTURE_SLICES * 2 * N_PIXELS];
        struct study study = open_study(FIXTURE_SLICES, NULL, NULL);
        for (int z = 3; z < FIXTURE_SLICES; z++) {
            path_of(&study, z, path);
            unlink(path);
        }
        cr_assert_eq(study.source->ops->start(study.source, threads, 4, study.diag), TS_OK);
        study.source->ops->prefetch(study.source, 2, 4);
        cr_assert_eq(study.source->ops->read(study.source, 0, FIXTURE_SLICES, data, study.diag),
                     TS_BAD_INPUT);
        ts_test_expect(study.diag, "file-not-readable", "slice 3 (");
        cr_assert_eq(ts_diag_error_count(study.diag), 1);
        close_study(&study);
    }
}

/* The slices that a slab shares with the next one are held: one can be read when its file is gone.
 */
Test(dicom, slices_of_two_slabs_are_decoded_once)
{
    char path[128];
    unsigned char data[5 * 2 * N_PIXELS];
    struct study study = open_study(FIXTURE_SLICES, edit_syntax, FIXTURE_RLE);
    cr_assert_eq(study.source->ops->start(study.source, 2, 5, study.diag), TS_OK);
    cr_assert_eq(study.source->ops->read(study.source, 0, 5, data, study.diag), TS_OK);
    path_of(&study, 3, path);
    unlink(path);
    study.source->ops->prefetch(study.source, 3, 5);
    cr_assert_eq(study.source->ops->read(study.source, 3, 5, data, study.diag), TS_OK);
    close_study(&study);
}

/* Pixels that are not compressed need no worker, and so no process. */
Test(dicom, only_compressed_slices_have_workers)
{
    static char *const syntaxes[] = {FIXTURE_IMPLICIT_LE, FIXTURE_EXPLICIT_BE, FIXTURE_RLE};
    for (int i = 0; i < 3; i++) {
        struct study study = open_study(3, edit_syntax, syntaxes[i]);
        cr_assert_eq(study.source->ops->start(study.source, 2, 4, study.diag), TS_OK);
        cr_assert_eq(((struct dicom_source *)study.source)->pool != NULL, i == 2);
        check_values(&study, 0);
        close_study(&study);
    }
}

/* A valid RLE header over segments that hold nothing, run over or hold noise. */
static void edit_damage(struct dicom_fixture *fixture, int z, void *user)
{
    const unsigned kind = *(const unsigned *)user;
    ts_fixture_rle(fixture);
    if (z != 2)
        return;
    const struct fixture_element *pixels = ts_fixture_find(fixture, FIXTURE_PIXELS);
    uint64_t seed = kind;
    unsigned char *segments = pixels->bytes + 16 + 64;
    const size_t length = pixels->length - 16 - 64 - 8;
    for (size_t i = 0; i < length; i++)
        if (kind == 0)
            segments[i] = 0x80;
        else if (kind == 1)
            segments[i] = 0x81; /* runs of 128 */
        else if (ts_random_next(&seed) % 4 == 0)
            segments[i] = (unsigned char)ts_random_next(&seed);
}

Test(dicom, damaged_rle_is_an_error_or_other_pixels, .timeout = 900)
{
    size_t errors = 0;
    for (unsigned kind = 0; kind < 24; kind++) {
        struct study study = open_study(4, edit_damage, &kind);
        unsigned char data[4 * 2 * N_PIXELS];
        enum ts_status status = study.source->ops->read(study.source, 0, 4, data, study.diag);
        cr_assert(status == TS_OK || status == TS_BAD_INPUT);
        if (status != TS_OK) {
            const struct ts_diag_record *record =
                ts_diag_get(study.diag, ts_diag_count(study.diag) - 2);
            errors++;
            for (size_t i = 0; i < ts_diag_count(study.diag); i++)
                record = ts_diag_get(study.diag, i)->severity == TS_ERROR
                             ? ts_diag_get(study.diag, i)
                             : record;
            cr_assert(strcmp(record->code, "pixel-data-damaged") == 0 ||
                          strcmp(record->code, "decoder-died") == 0,
                      "%s", record->code);
            cr_assert_not_null(strstr(record->message, "slice 2"), "%s", record->message);
        }
        close_study(&study);
    }
    cr_assert_gt(errors, 2);
}

/* A console lets people write into this attribute: what has no vendor's form could be a name. */
Test(dicom, kernels_of_a_vendor_are_kept)
{
    static const char *const known[] = {"STANDARD", "BonePlus", "STND+", "B30f",
                                        "Br40d\\3", "FC18",     "YA",    "L",
                                        "40",       "mixed",    "J30s",  ""};
    static const char *const unknown[] = {"SMITH",  "B30f\\SMITH", "Doe^J", "B 30", "CANARY1",
                                          "123456", "J. Doe",      "\xff",  "NG",   "LI",
                                          "JD61",   "G",           "J6",    "1961"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        cr_expect(ts_dicom_kernel_is_known(known[i]), "%s", known[i]);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        cr_expect_not(ts_dicom_kernel_is_known(unknown[i]), "%s", unknown[i]);
}

/* The kernel's own answer to a machine out of memory: others take the place of those killed,
 * once. */
Test(dicom, killed_workers_are_replaced_once)
{
    struct study study = open_study(FIXTURE_SLICES, edit_syntax, FIXTURE_RLE);
    unsigned char sound[FIXTURE_SLICES * 2 * N_PIXELS], data[sizeof sound];
    const struct dicom_source *source = (struct dicom_source *)study.source;
    cr_assert_eq(study.source->ops->start(study.source, 2, 4, study.diag), TS_OK);
    cr_assert_eq(study.source->ops->read(study.source, 0, FIXTURE_SLICES, sound, study.diag),
                 TS_OK);
    for (int i = 0; i < 2; i++)
        kill(ts_workers_pid(source->pool, i), SIGKILL);
    cr_assert_eq(study.source->ops->read(study.source, 0, FIXTURE_SLICES, data, study.diag), TS_OK);
    cr_assert_eq(memcmp(data, sound, sizeof data), 0);
    for (int i = 0; i < 2; i++)
        kill(ts_workers_pid(source->pool, i), SIGKILL);
    enum ts_status status = TS_OK;
    for (int z = 0; z < FIXTURE_SLICES && status == TS_OK; z++)
        status = study.source->ops->read(study.source, z, 1, data, study.diag);
    cr_assert_eq(status, TS_RUN_FAILED);
    ts_test_expect(study.diag, "decoder-killed",
                   "was killed by signal 9 (Killed), and so was the one in its place");
    cr_assert_neq(study.source->ops->read(study.source, 0, FIXTURE_SLICES, data, study.diag),
                  TS_OK);
    close_study(&study);
}

Test(dicom, memory_is_stated)
{
    static char *const syntaxes[] = {FIXTURE_EXPLICIT_LE, FIXTURE_RLE};
    for (int i = 0; i < 2; i++) {
        struct study study = open_study(FIXTURE_SLICES, edit_syntax, syntaxes[i]);
        const size_t one = study.source->ops->memory_bytes(study.source, 1, 1);
        cr_assert_gt(one, ts_slice_bytes(&study.source->image));
        cr_assert_gt(study.source->ops->memory_bytes(study.source, 1, 3), one);
        close_study(&study);
    }
}

Test(dicom, format_is_listed)
{
    cr_assert_eq(ts_source_format_find("dicom"), &dicom_format);
    cr_assert_null(ts_source_format_find("no such"));
}

Test(dicom, none_stands_alone_in_split)
{
    const char *path, *words[] = {"none", "echo", "none"};
    char folder[256];
    ts_test_folder_in_memory(folder, sizeof folder);
    ts_fixture_series(folder, 2, NULL, NULL);
    path = folder;
    for (int first = 0; first < 2; first++) {
        struct dicom_params params = {0};
        struct param_set set = {.params = dicom_format.params,
                                .n_params = dicom_format.n_params,
                                .values = &params,
                                .owner = "input"};
        struct ts_diag *diag = ts_diag_create();
        struct source *source = NULL;
        ts_params_init(&set);
        params.dicom = (struct ts_texts){1, &path};
        params.split = (struct ts_texts){2, words + first};
        cr_assert_eq(dicom_format.open(&set, &source, diag), TS_BAD_CHAIN);
        ts_test_expect(diag, "split-none", "'none' stands beside other words");
        ts_diag_destroy(diag);
    }
    ts_test_remove_folder(folder);
}
