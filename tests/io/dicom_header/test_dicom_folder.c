/* SPDX-License-Identifier: Apache-2.0
 *
 * The scanner against folders, against damage at random, and against the collection of damaged
 * public files.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/dicom_header/dicom_scan.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* FIFOs, links, loops, strangers: each counted, none opened in a way that waits. */
Test(dicom_folder, passes_over_what_is_no_image, .timeout = 900)
{
    char folder[256], path[300], other[300];
    struct arena *arena = ts_arena_create();
    struct ts_diag *diag = ts_diag_create();
    struct dicom_folder found;
    struct dicom_fixture fixture;
    ts_test_folder_in_memory(folder, sizeof folder);
    ts_fixture_series(folder, 3, NULL, NULL);
    snprintf(path, sizeof path, "%s/a", folder);
    cr_assert(mkdir(path, 0700) == 0);
    ts_fixture_series(path, 2, NULL, NULL);
    snprintf(path, sizeof path, "%s/a/loop", folder);
    cr_assert(symlink("..", path) == 0);
    snprintf(path, sizeof path, "%s/link.dcm", folder);
    cr_assert(symlink("IM000.dcm", path) == 0);
    snprintf(path, sizeof path, "%s/fifo.dcm", folder);
    cr_assert(mkfifo(path, 0600) == 0);
    snprintf(path, sizeof path, "%s/empty.dcm", folder);
    ts_fixture_write_bytes(path, "", 0);
    snprintf(path, sizeof path, "%s/notes.txt", folder);
    ts_fixture_write_bytes(path, "not DICOM at all", 16);
    snprintf(path, sizeof path, "%s/report.dcm", folder);
    ts_fixture_init(&fixture, 0);
    ts_fixture_text(&fixture, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.88.22");
    ts_fixture_write(&fixture, path);
    ts_fixture_text(&fixture, 0x00080016, "UI", "1.2.840.10008.1.3.10");
    snprintf(path, sizeof path, "%s/DICOMDIR", folder);
    ts_fixture_write(&fixture, path);
    ts_fixture_clear(&fixture);

    const char *paths[] = {folder};
    cr_assert_eq(ts_dicom_scan(paths, 1, arena, &found, diag), TS_OK);
    cr_expect_eq(found.n_files, 5);
    cr_expect_eq(found.n_seen, 11); /* the link leads to a folder */
    cr_expect_eq(found.n_of[DICOM_LINK], 1);
    cr_expect_eq(found.n_same, 1);
    cr_expect_eq(found.n_of[DICOM_SPECIAL], 1);
    cr_expect_eq(found.n_of[DICOM_EMPTY], 1);
    cr_expect_eq(found.n_of[DICOM_NO_MAGIC], 1);
    cr_expect_eq(found.n_of[DICOM_NO_PIXELS], 1);
    cr_expect_eq(found.n_of[DICOM_DICOMDIR], 1);
    for (size_t i = 1; i < found.n_files; i++) {
        cr_expect(strcmp(found.files[i - 1].path, found.files[i].path) < 0);
    }
    /* A link or a file that the user names is followed; one named twice counts once. */
    snprintf(path, sizeof path, "%s/link.dcm", folder);
    snprintf(other, sizeof other, "%s/IM000.dcm", folder);
    const char *named[] = {path, other};
    cr_assert_eq(ts_dicom_scan(named, 2, arena, &found, diag), TS_OK);
    cr_expect_eq(found.n_files, 1);
    snprintf(path, sizeof path, "%s/fifo.dcm", folder);
    cr_assert_eq(ts_dicom_scan(named, 1, arena, &found, diag), TS_OK);
    cr_expect(found.n_files == 0 && found.n_of[DICOM_SPECIAL] == 1);
    snprintf(path, sizeof path, "%s/absent", folder);
    cr_assert_eq(ts_dicom_scan(named, 1, arena, &found, diag), TS_BAD_INPUT);
    cr_expect_str_eq(ts_diag_get(diag, 0)->code, "input-unreadable");
    ts_diag_destroy(diag);
    ts_arena_destroy(arena);
    ts_test_remove_folder(folder);
}

/* Scans a folder and returns its images and strangers in the order in which they are listed, with a
 * header's value. */
static void list_scan(const char *folder, char *out, size_t size)
{
    struct arena *arena = ts_arena_create();
    struct ts_diag *diag = ts_diag_create();
    struct dicom_folder found;
    size_t used = 0;
    cr_assert_eq(ts_dicom_scan(&folder, 1, arena, &found, diag), TS_OK);
    for (size_t i = 0; i < found.n_files && used < size; i++)
        used +=
            (size_t)snprintf(out + used, size - used, "%s %s %g\n", found.files[i].path,
                             found.files[i].sop_instance, found.files[i].images[0].position_mm[2]);
    for (size_t i = 0; i < found.n_others && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s %d\n", found.others[i].path,
                                 (int)found.others[i].kind);
    cr_assert_lt(used, size);
    ts_diag_destroy(diag);
    ts_arena_destroy(arena);
}

/* On a machine of one processor both scans are by one thread. */
Test(dicom_folder, does_not_depend_on_the_number_of_threads)
{
    enum { FILES = 150, LIST_BYTES = 64 << 10 };
    char folder[256], path[300];
    char *by_all = malloc(LIST_BYTES), *by_one = malloc(LIST_BYTES);
    cpu_set_t all, one;
    ts_test_folder_in_memory(folder, sizeof folder);
    ts_fixture_series(folder, FILES, NULL, NULL);
    for (int i = 0; i < FILES; i += 7) {
        snprintf(path, sizeof path, "%s/IM%03d.txt", folder, i);
        ts_fixture_write_bytes(path, "not DICOM at all", 16);
    }
    cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
    list_scan(folder, by_all, LIST_BYTES);
    CPU_ZERO(&one);
    for (int i = 0; CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
    list_scan(folder, by_one, LIST_BYTES);
    cr_expect_eq(sched_setaffinity(0, sizeof all, &all), 0);
    cr_expect_str_eq(by_one, by_all);
    free(by_all);
    free(by_one);
    ts_test_remove_folder(folder);
}

Test(dicom_folder, stops_at_32_levels)
{
    char folder[256], path[256];
    struct arena *arena = ts_arena_create();
    struct ts_diag *diag = ts_diag_create();
    struct dicom_folder found;
    ts_test_folder_in_memory(folder, sizeof folder);
    size_t used = (size_t)snprintf(path, sizeof path, "%s", folder);
    const char *paths[] = {folder};
    for (int depth = 1; depth <= 33; depth++) {
        used += (size_t)snprintf(path + used, sizeof path - used, "/d");
        cr_assert(mkdir(path, 0700) == 0);
        enum ts_status expected = depth <= 32 ? TS_OK : TS_BAD_INPUT;
        cr_expect_eq(ts_dicom_scan(paths, 1, arena, &found, diag), expected, "depth %d", depth);
    }
    cr_expect_str_eq(ts_diag_get(diag, 0)->code, "folders-too-deep");
    ts_diag_destroy(diag);
    ts_arena_destroy(arena);
    ts_test_remove_folder(folder);
}

/* Decoding relies on these numbers, whatever was in the file. */
static void check_promises(const struct dicom_file *file)
{
    int cell = file->bits_allocated / 8;
    const bool native = !dicom_is_compressed(file->syntax);
    cr_assert(file->rows >= 1 && file->rows <= 65535 && file->columns >= 1 &&
              file->columns <= 65535);
    cr_assert(file->samples_per_pixel == 1 && file->frames == 1 && file->n_images == 1);
    cr_assert(cell == 1 || cell == 2 || cell == 4);
    cr_assert(file->bits_stored >= 1 && file->bits_stored <= file->bits_allocated);
    cr_assert(file->high_bit >= file->bits_stored - 1 && file->high_bit < file->bits_allocated);
    if (file->syntax == DICOM_DEFLATED_LE) /* its offsets are in bytes that are no longer there */
        cr_assert(file->deflate_offset > 132 && file->pixel_offset > 0);
    else
        cr_assert(file->pixel_offset > 132 &&
                  file->pixel_offset + file->pixel_bytes <= file->file_bytes);
    cr_assert(!native || file->pixel_bytes >= (int64_t)file->rows * file->columns * cell);
    cr_assert(native ||
              (file->streams[0].n_fragments >= 1 && file->streams[0].offset == file->pixel_offset &&
               file->streams[0].bytes == file->pixel_bytes));
    cr_assert(file->images->slope != 0 && file->images->slope == file->images->slope &&
              file->images->intercept == file->images->intercept);
    cr_assert(memchr(file->series, 0, sizeof file->series) &&
              memchr(file->image_type, 0, sizeof file->image_type));
}

enum { BASES = 4, MUTANTS = 20000, MAX_BYTES = 2048 };

static size_t make_base(int which, unsigned char out[MAX_BYTES])
{
    static const char *const syntaxes[] = {FIXTURE_EXPLICIT_LE, FIXTURE_IMPLICIT_LE,
                                           FIXTURE_EXPLICIT_BE};
    static const unsigned char items[] = {0xFE, 0xFF, 0x00, 0xE0, 0xFF, 0xFF, 0xFF, 0xFF,
                                          0xFE, 0xFF, 0x0D, 0xE0, 0,    0,    0,    0,
                                          0xFE, 0xFF, 0xDD, 0xE0, 0,    0,    0,    0};
    struct dicom_fixture fixture;
    unsigned char *bytes = NULL;
    ts_fixture_init(&fixture, which);
    if (which < 3) {
        ts_fixture_syntax(&fixture, syntaxes[which]);
    } else {
        ts_fixture_rle(&fixture);
    }
    if (which != 2) {
        ts_fixture_bytes(&fixture, 0x00081140, "SQ", items, sizeof items);
        ts_fixture_claim(&fixture, 0x00081140, UINT32_MAX);
    }
    size_t n = ts_fixture_encode(&fixture, &bytes);
    cr_assert(n <= MAX_BYTES);
    memcpy(out, bytes, n);
    free(bytes);
    ts_fixture_clear(&fixture);
    return n;
}

static size_t mutate(unsigned char *bytes, size_t n, uint64_t *state)
{
    static const unsigned char telling[] = {0,    1,    0x7F, 0x80, 0xFE, 0xFF, 0x10,
                                            0x20, '\\', 'S',  'Q',  'U',  'N',  '9'};
    int changes = 1 + (int)(ts_random_next(state) % 6);
    for (int i = 0; i < changes; i++) {
        size_t at = 128 + ts_random_next(state) % (n - 128);
        uint64_t dice = ts_random_next(state);
        if (dice % 3 == 0) {
            bytes[at] ^= (unsigned char)(1u << (dice >> 8) % 8);
        } else if (dice % 3 == 1) {
            bytes[at] = telling[(dice >> 8) % sizeof telling];
        } else {
            bytes[at] = (unsigned char)(dice >> 8);
        }
    }
    return ts_random_next(state) % 10 == 0 ? 132 + ts_random_next(state) % (n - 132) : n;
}

Test(dicom_folder, survives_damage_at_random, .timeout = 900)
{
    static unsigned char bases[BASES][MAX_BYTES];
    size_t lengths[BASES];
    char folder[256], path[300];
    uint64_t state = 20240601;
    int accepted = 0, refused = 0;
    struct dicom_other other;
    fprintf(stderr, "dicom_folder: seed %llu\n", (unsigned long long)state);
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/mutant.dcm", folder);
    for (int i = 0; i < BASES; i++) {
        lengths[i] = make_base(i, bases[i]);
    }
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    cr_assert(fd >= 0);
    struct arena *arena = ts_arena_create();
    for (int i = 0; i < MUTANTS; i++) {
        unsigned char bytes[MAX_BYTES];
        struct dicom_file file;
        memcpy(bytes, bases[i % BASES], MAX_BYTES);
        size_t n = mutate(bytes, lengths[i % BASES], &state);
        cr_assert(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, n, 0) == (ssize_t)n);
        if (!ts_dicom_scan_file(path, arena, &file, &other)) {
            continue;
        }
        if (file.refusal) {
            cr_assert(file.refusal_code && *file.refusal);
            refused++;
        } else {
            check_promises(&file);
            accepted++;
        }
    }
    cr_expect(accepted > MUTANTS / 20 && refused > MUTANTS / 20, "%d accepted, %d refused",
              accepted, refused);
    ts_arena_destroy(arena);
    close(fd);
    ts_test_remove_folder(folder);
}

/* Files whose damage lies in the pixels or in the geometry: the header alone cannot tell. */
static bool is_beyond_the_header(const char *name)
{
    return !strncmp(name, "64_rle_runs_overflow", 20) || !strncmp(name, "29_ipp_missing", 14);
}

Test(dicom_folder, judges_the_damaged_files_as_expected, .timeout = 900)
{
    SKIP_WITHOUT_DATA("dicom_folder: damaged files");
    char path[512], line[512], name[128], expect[64];
    int rows = 0;
    snprintf(path, sizeof path, "%s/corrupt/synthetic/EXPECT.tsv", ts_test_data());
    FILE *table = fopen(path, "r");
    cr_assert_not_null(table);
    cr_assert_not_null(fgets(line, sizeof line, table));
    while (fgets(line, sizeof line, table)) {
        cr_assert_eq(sscanf(line, "%127[^\t]\t%*d\t%63[^\t]", name, expect), 2, "%s", line);
        struct arena *arena = ts_arena_create();
        struct dicom_other other;
        struct dicom_file file;
        snprintf(path, sizeof path, "%s/corrupt/synthetic/%s", ts_test_data(), name);
        double start = seconds_now();
        bool usable = ts_dicom_scan_file(path, arena, &file, &other) && !file.refusal;
        cr_expect(seconds_now() - start < 1, "%s took long", name);
        if (usable) {
            check_promises(&file);
        }
        if (!strncmp(expect, "reject", 6) && !is_beyond_the_header(name)) {
            cr_expect(!usable, "%s was not rejected", name);
        }
        ts_arena_destroy(arena);
        rows++;
    }
    fclose(table);
    cr_expect_eq(rows, 97, "%d rows", rows);
}

static void make_other(struct dicom_fixture *f, int z, void *user)
{
    char uid[65];
    (void)user;
    snprintf(uid, sizeof uid, "1.2.826.0.1.3680043.10.1.7.%d", z + 1);
    ts_fixture_text(f, 0x0020000E, "UI", "1.2.826.0.1.3680043.10.1.7");
    ts_fixture_text(f, 0x00080018, "UI", uid);
}

/* Two series, each with a slice missing. */
Test(dicom_folder, says_so_where_no_series_is_whole)
{
    static const char *const names[] = {"a", "b"};
    char folder[256], path[300];
    struct source *source = NULL;
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        cr_assert_eq(mkdir(path, 0777), 0);
        ts_fixture_series(path, FIXTURE_SLICES, i ? make_other : NULL, NULL);
        snprintf(path, sizeof path, "%s/%s/IM005.dcm", folder, names[i]);
        cr_assert_eq(unlink(path), 0);
    }
    cr_assert_eq(ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag), TS_BAD_INPUT);
    const struct ts_diag_record *first = ts_diag_get(diag, 0);
    cr_assert_str_eq(first->code, "no-volume");
    cr_assert_str_eq(first->message, "none of the 2 series in the input is one clean volume");
    cr_assert_str_eq(first->hint, "choose one with series: N to see its way out");
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
}

/* A warning of `info` about a series is also one of the run that takes it. */
Test(dicom_folder, warnings_of_a_series_reach_the_run)
{
    char folder[256], path[300];
    struct source *source = NULL;
    struct dicom_fixture again;
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    ts_fixture_series(folder, FIXTURE_SLICES, NULL, NULL);
    snprintf(path, sizeof path, "%s/again.dcm", folder);
    ts_fixture_init(&again, 3);
    ts_fixture_write(&again, path);
    ts_fixture_clear(&again);
    cr_assert_eq(ts_test_open_dicom(folder, NULL, BURNED_IN_REFUSE, &source, diag), TS_OK);
    cr_assert_eq(ts_diag_count(diag), 1);
    cr_assert_eq(ts_diag_get(diag, 0)->severity, TS_WARNING);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "dicom-series");
    cr_assert_str_eq(ts_diag_get(diag, 0)->message, "1 identical copy of a slice was dropped");
    source->ops->close(source);
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
}
