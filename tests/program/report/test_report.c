/* SPDX-License-Identifier: Apache-2.0
 *
 * Another program could have written the results of these reports: texts that would be tags or end
 * the record stay texts, a damaged file and a profile of another run are refused, and no output
 * replaces what it is made from.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_verify.h"
#include "pipeline/run/warnings.h"
#include "program/report/report.h"
#include "tests/files/output_fixture.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

/* Also an override of the direction of writing, and a separator of lines. */
#define HOSTILE                                                                                    \
    "</pre></td></script><!--<script>alert(1)</script><img src=x onerror='alert(2)'>\"&\x01\xff"   \
    "\xE2\x80\xAE\xE2\x80\xA8"
#define HOSTILE_IN_RECORD                                                                          \
    "\\u003c/pre>\\u003c/td>\\u003c/script>\\u003c!--\\u003cscript>alert(1)\\u003c/script>"        \
    "\\u003cimg src=x onerror='alert(2)'>\\\"&\\u0001\\ufffd\\u202e\\u2028"
#define HOSTILE_IN_TEXT                                                                            \
    "&#60;/pre&#62;&#60;/td&#62;&#60;/script&#62;&#60;!--&#60;script&#62;alert(1)&#60;/"           \
    "script&#62;"                                                                                  \
    "&#60;img src=x "                                                                              \
    "onerror=&#39;alert(2)&#39;&#62;&#34;&#38;\\x01\\xFF\\xE2\\x80\\xAE\\xE2\\x80\\xA8"

static char folder[64], result[96], page[96], profile[96];

static void begin(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(result, sizeof result, "%s/r.h5", folder);
    snprintf(page, sizeof page, "%s/r.html", folder);
    snprintf(profile, sizeof profile, "%s/p.json", folder);
}

static void end(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(report, .init = begin, .fini = end);

/* Writes a result with right digests whose texts are all hostile. */
static void write_hostile(void)
{
    static const struct {
        const char *path, *text;
    } texts[] = {{"/entry/inputs/input/format", HOSTILE},
                 {"/entry/inputs/input/series_description", HOSTILE},
                 {"/entry/process_1_box/stage", HOSTILE},
                 {"/entry/process_1_box/input", HOSTILE},
                 {"/entry/process_1_box/name", HOSTILE},
                 {"/entry/process_1_box/device", HOSTILE},
                 {"/entry/process_1_box/parameters/method", HOSTILE},
                 {"/entry/provenance/chain", HOSTILE},
                 {"/entry/provenance/build", HOSTILE}};
    const char *const warnings[] = {HOSTILE, "code: " HOSTILE}, *const digests[] = {HOSTILE,
                                                                                    HOSTILE};
    struct ts_diag *diag = ts_diag_create();
    struct hdf5_writer *writer;
    struct ts_image image = ts_test_output_image(3, (int64_t[]){9, 10, 12}, TS_F32, 3);
    int id;
    image.unit = HOSTILE;
    image.quantity = TS_INTENSITY;
    cr_assert_eq(
        ts_hdf5_create(result, &(struct hdf5_options){.level = 1, .threads = 1}, &writer, diag),
        TS_OK);
    static const char *const groups[][2] = {{"/entry", "NXentry"},
                                            {"/entry/inputs", "NXcollection"},
                                            {"/entry/inputs/input", "NXcollection"},
                                            {"/entry/process_1_box", "NXprocess"},
                                            {"/entry/process_1_box/parameters", "NXparameters"},
                                            {"/entry/provenance", "NXcollection"}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        ts_hdf5_group(writer, groups[i][0], groups[i][1]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ts_hdf5_text(writer, texts[i].path, texts[i].text);
    ts_hdf5_texts(writer, WARNINGS_PATH, NULL, warnings, 2);
    ts_hdf5_texts(writer, "/entry/inputs/input/slice_pixel_sha256", NULL, digests, 2);
    ts_hdf5_texts(writer, "/entry/inputs/input/slice_instance_hmac", NULL, digests, 2);
    ts_hdf5_image(writer, "/entry/data", &image, &id);
    ts_hdf5_write(writer, id, &image);
    const enum ts_status status = ts_hdf5_commit(writer);
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
    free(image.data);
    ts_diag_destroy(diag);
}

static enum ts_status write_report(struct report_request request, struct ts_diag *diag)
{
    request.path = request.path ? request.path : result;
    request.output = request.output ? request.output : page;
    return ts_report_write(&request, diag);
}

/* Counts a text in the page. */
static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

Test(report, hostile_texts_stay_texts)
{
    struct ts_diag *diag = ts_diag_create();
    size_t bytes;
    write_hostile();
    const enum ts_status status = write_report((struct report_request){0}, diag);
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
    char *text = (char *)ts_test_read_file(page, &bytes);
    text[bytes - 1] = '\0';
    cr_expect(count(text, "<script") == 2 && count(text, "</script") == 2,
              "only the record and the page's own script");
    cr_expect(count(text, "<!--") == 0 && count(text, "<img src=x") == 0);
    cr_expect(count(text, HOSTILE_IN_RECORD) >= 15, "%d", count(text, HOSTILE_IN_RECORD));
    cr_expect(count(text, HOSTILE_IN_TEXT) == 4, "the format, two warnings and the chain: %d",
              count(text, HOSTILE_IN_TEXT));
    cr_expect(count(text, "\x01") == 0 && count(text, "\xff") == 0 &&
              count(text, "\xE2\x80\xAE") == 0 && count(text, "\xE2\x80\xA8") == 0);
    cr_expect(count(text, result) == 0 && count(text, folder) == 0, "no path is in the page");
    free(text);
    ts_diag_destroy(diag);
}

Test(report, a_damaged_result_is_refused_and_leaves_no_page)
{
    struct ts_diag *diag = ts_diag_create();
    write_hostile();
    FILE *file = fopen(result, "r+b");
    cr_assert(file && fseek(file, 2500, SEEK_SET) == 0);
    const int byte = fgetc(file);
    cr_assert(fseek(file, 2500, SEEK_SET) == 0 && fputc(byte ^ 4, file) != EOF &&
              fclose(file) == 0);
    cr_expect_eq(write_report((struct report_request){0}, diag), TS_BAD_INPUT);
    cr_expect_eq(ts_test_count_files(folder, ".html"), 0);
    ts_diag_destroy(diag);
}

static void expect_refusal(struct report_request request, enum ts_status status, const char *code)
{
    struct ts_diag *diag = ts_diag_create();
    cr_expect_eq(write_report(request, diag), status, "%s", code);
    cr_expect(ts_test_has_code(diag, code), "%s", code);
    ts_diag_destroy(diag);
}

static void write_profile(const char *text)
{
    FILE *file = fopen(profile, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The profile of a run that computed `box` and wrote a result of this digest. */
#define COMPUTED                                                                                   \
    "{\"name\": \"compute\", \"ph\": \"X\", \"ts\": 1, \"dur\": 1, \"args\": {\"stage\": "         \
    "\"box\"}}"
static void write_profile_of(const char *digest)
{
    char text[400];
    snprintf(text, sizeof text,
             "[{\"name\": \"result\", \"ph\": \"M\", \"args\": {\"digest\": \"%s\"}}, " COMPUTED
             "]",
             digest);
    write_profile(text);
}

Test(report, takes_the_profile_of_its_run)
{
    struct hdf5_proof proof;
    struct ts_diag *diag = ts_diag_create();
    size_t bytes;
    write_hostile();
    cr_assert_eq(ts_hdf5_verify(NULL, result, &proof, diag), TS_OK);
    write_profile_of(proof.digest);
    cr_assert_eq(write_report((struct report_request){.profile = profile}, diag), TS_OK);
    char *text = (char *)ts_test_read_file(page, &bytes);
    text[bytes - 1] = '\0';
    cr_expect_eq(count(text, "\"run\": {\"seconds\": "), 1);
    free(text);
    ts_diag_destroy(diag);
}

Test(report, profiles_that_are_none_or_of_another_run_are_refused)
{
    static const char *const none[] = {
        "",
        "{}",
        "[]",
        "[{\"name\": \"read\", \"ph\": \"X\", \"ts\": 1e400}]",
        "[{\"name\": \"sleep\", \"ph\": \"X\", \"ts\": 1, \"dur\": 1}]",
        "[{\"name\": \"read\", \"ph\": \"X\", \"ts\": -1, \"dur\": 1}]",
        "[{\"name\": \"read\", \"ph\": \"X\", \"ts\": 1, \"dur\": 1}",
        "[{\"name\": \"read\", \"ph\": \"X\", \"args\": {\"args\": {}}}]",
        "[{\"name\": \"read\", \"ph\": \"X\", \"ts\": 1, \"dur\": 1}] x"};
    write_hostile();
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        write_profile(none[i]);
        expect_refusal((struct report_request){.profile = profile}, TS_BAD_INPUT,
                       "profile-unreadable");
    }
    write_profile("[" COMPUTED "]");
    expect_refusal((struct report_request){.profile = profile}, TS_BAD_INPUT, "profile-foreign");
    write_profile_of("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    expect_refusal((struct report_request){.profile = profile}, TS_BAD_INPUT, "profile-foreign");
    expect_refusal((struct report_request){.profile = folder}, TS_BAD_INPUT, "profile-unreadable");
    cr_expect_eq(ts_test_count_files(folder, ".html"), 0);
}

/* Each value of a sweep has its picture, its stages with their parameters, and its times. */
Test(report, shows_every_value_of_a_sweep)
{
    static struct program_outcome outcome;
    static const char *const texts[][2] = {
        {"\"volume_name\": \"radius 1 pixel\"", "1"},
        {"\"volume_name\": \"radius 2 pixel\"", "1"},
        {"\"volume_name\": \"radius 4 pixel\"", "1"},
        {"\"png\": \"", "3"},
        {"\"sweep\": {\"stage\": \"box\", \"parameter\": \"radius\", \"values\": [\"1\", \"2\", "
         "\"4\"], "
         "\"names\": [\"radius 1 pixel\", \"radius 2 pixel\", \"radius 4 pixel\"]}",
         "1"},
        {"\"number\": 3, \"label\": \"box[radius=2]\", \"value\": 1}", "1"},
        {"{\"stage\": \"box[radius=2]\", \"seconds\": ", "1"},
        {"{\"stage\": \"invert[radius=4]\", \"seconds\": ", "1"}};
    const char *const commands[][9] = {
        {"phantom", "head", "-o", "study", "--size", "48", "--slices", "9", NULL},
        {"run", "dicom study | box radius={sweep 1 2 4} | invert | hdf5 r.h5", "--profile", "p",
         "--device", "cpu", NULL},
        {"report", "r.h5", "-o", "r.html", "--profile", "p.json", NULL}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        ts_program_run(folder, commands[i], &outcome);
        cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    }
    size_t bytes;
    char *text = (char *)ts_test_read_file(page, &bytes);
    text[bytes - 1] = '\0';
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        cr_expect_eq(count(text, texts[i][0]), atoi(texts[i][1]), "%s: %d", texts[i][0],
                     count(text, texts[i][0]));
    free(text);
}

Test(report, replaces_neither_its_input_nor_an_existing_page)
{
    write_hostile();
    expect_refusal((struct report_request){.output = result, .force = true}, TS_BAD_CHAIN,
                   "output-is-input");
    write_profile("[]");
    expect_refusal((struct report_request){.output = profile, .profile = profile, .force = true},
                   TS_BAD_CHAIN, "output-is-input");
    expect_refusal((struct report_request){.output = profile}, TS_RUN_FAILED, "output-exists");
    expect_refusal((struct report_request){.path = folder}, TS_BAD_INPUT, "hdf5-open");
}
