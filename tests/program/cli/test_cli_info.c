/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage info` of what is no DICOM series: volumes in NIfTI, TIFF pages, files that gzip
 * compressed, HDF5 files of an unknown layout; and its exit code where nothing can be an input.
 * What it says to try is tried.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/files/hdf5_data.h"
#include "tests/files/scan_file.h"
#include "tests/files/tiff_fixture.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

static struct program_outcome outcome;

static void begin(void)
{
    ts_scan_file_begin();
    cr_assert(chdir(ts_scan_file.folder) == 0);
}

TestSuite(cli_info, .init = begin, .fini = ts_scan_file_end);

static void expect_info(const char *path, int code, const char *words)
{
    ts_program_run(ts_scan_file.folder, ARGUMENTS("info", path), &outcome);
    cr_assert_eq(outcome.code, code, "info %s: %d\n%s", path, outcome.code, outcome.err);
    cr_assert(strstr(code ? outcome.err : outcome.out, words), "info %s: '%s' is not in\n%s%s",
              path, words, outcome.out, outcome.err);
}

/* Runs the input that info said, with more words, into a result. */
static void expect_run(const char *input, const char *more)
{
    char chain[512];
    snprintf(chain, sizeof chain, "%s %s | save name=all | hdf5 out.h5", input, more);
    ts_program_run(ts_scan_file.folder, ARGUMENTS("run", chain, "--device", "cpu", "--force"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s: %s", chain, outcome.err);
}

static void write_file(const char *name, const void *bytes, size_t n)
{
    FILE *file = fopen(name, "wb");
    cr_assert(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
}

Test(cli_info, of_tiff_pages_names_the_inputs_that_they_may_be)
{
    cr_assert_eq(system("mkdir pages empty"), 0);
    ts_tiff_write("pages/a.tif", &ts_tiff_plain);
    for (int i = 0; i < 2; i++) {
        const char *path = i ? "pages" : "pages/a.tif";
        expect_info(path, 0, "3 pages of 23 x 37 pixels (rows x columns), u16, in 1 file\n");
        cr_assert(strstr(outcome.out, "pages=slices pixel_size=MM spacing_z=MM"), "%s",
                  outcome.out);
    }
    expect_run("tiff pages", "pages=slices pixel_size=0.5 spacing_z=2");
    ts_program_run(ts_scan_file.folder, ARGUMENTS("info", "pages", "--json"), &outcome);
    cr_assert(strstr(outcome.out, "\"pages\": 3,"), "%s", outcome.out);
    write_file("pages/b.tif", "II*\0????", 8);
    expect_info("pages", 3, "b.tif");
    expect_info("empty", 3,
                "no DICOM image in the input (0 files seen; 1 folder passed over: 1 empty folder)");
    cr_assert_eq(system("mkdir empty/sub"), 0);
    write_file("empty/a.dcm", "", 0);
    expect_info("empty", 3, "(1 file seen; 2 names passed over: 1 empty, 1 empty folder)");
}

/* Each is told by its first bytes, whatever it is called, or by its name. */
Test(cli_info, of_formats_that_are_not_read_says_what_makes_an_input_of_them)
{
    static const struct {
        const char *name, *bytes;
        size_t n, offset;
        const char *kind, *hint;
    } rows[] = {
        {"a.mat", "MATLAB 5.0 MAT-file", 19, 0, "a.mat is a MATLAB file",
         "scipy.io.loadmat('a.mat')"},
        {"b.mat", "", 0, 0, "b.mat is a MATLAB file", "and then npy b.npy"},
        {"b", "MAP ", 4, 208, "b is an MRC file", "mrcfile.read('b'))), and then npy b.npy"},
        {"c.rec", "", 0, 0, "c.rec is an MRC file", "npy c.npy"},
        {"e.vtk", "# vtk DataFile Version 3.0\n", 27, 0, "a VTK file", "npy e.npy"},
        {"f.txrm", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", 8, 0, "a file of Zeiss Xradia",
         "tiff FOLDER pages=slices"},
        {"g.txm", "", 0, 0, "a file of Zeiss Xradia", "pages=views for projections"},
        {"h.dm3", "", 0, 0, "a DM3 or DM4 file", "export it as TIFF"},
        {"i.DM4", "", 0, 0, "a DM3 or DM4 file", "export it as TIFF"},
        {"j.edf", "{\n", 2, 0, "an EDF file", "fabio.open('j.edf')"},
        {"k.his", "", 0, 0, "a HIS file", "export it as TIFF"},
        {"l.seq", "", 0, 0, "a SEQ file", "export it as TIFF"},
        {"m.czi", "ZISRAWFILE", 10, 0, "a CZI file", "export it as TIFF"},
        {"n.hdr", "\x5C\x01\0\0", 4, 0, "an Analyze file", "nifti n.nii"},
        {"o.img", "", 0, 0, "a file of values without a header", "nrrd o.nhdr"},
        {"p.raw", "", 0, 0, "a file of values without a header", "data file: p.raw"},
        {"q'r.raw", "", 0, 0, "a file of values without a header", "data file: FILE"},
        {"s.png", "\x89PNG\r\n\x1A\n", 8, 0, "a PNG picture", "tiff s.tif pages=slices"},
    };
    char bytes[700];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(bytes, '.', sizeof bytes);
        memcpy(bytes + rows[i].offset, rows[i].bytes, rows[i].n);
        write_file(rows[i].name, bytes, sizeof bytes);
        expect_info(rows[i].name, 3, rows[i].kind);
        cr_assert_not_null(strstr(outcome.err, rows[i].hint), "%s: %s", rows[i].name, outcome.err);
        cr_assert_null(strstr(outcome.err, "DICOM"), "%s", outcome.err);
    }
    memset(bytes, '.', sizeof bytes);
    cr_assert_eq(system("mkdir scans && cp k.his j.edf scans"), 0);
    expect_info("scans", 3, "it holds an EDF file of the ESRF: in Python: numpy.save('j.npy'");
    write_file("t.xyz", bytes, sizeof bytes);
    expect_info("t.xyz", 3, "it is of no format that is read");
    ts_program_run(ts_scan_file.folder, ARGUMENTS("check", "dicom a.mat | hdf5 out.h5"), &outcome);
    cr_assert(outcome.code == 3 && strstr(outcome.err, "scipy.io.loadmat('a.mat')"), "%s",
              outcome.err);
    static const char *const formats[] = {"nifti", "nrrd", "mha", "npy", "nexus", "result"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char chain[64];
        snprintf(chain, sizeof chain, "%s t.xyz | box radius=1 | hdf5 out.h5", formats[i]);
        ts_program_run(ts_scan_file.folder, ARGUMENTS("check", chain), &outcome);
        cr_expect(strstr(outcome.err, "t.xyz is no file of a format that is read"), "%s",
                  outcome.err);
        snprintf(chain, sizeof chain, "%s none | box radius=1 | hdf5 out.h5", formats[i]);
        ts_program_run(ts_scan_file.folder, ARGUMENTS("check", chain), &outcome);
        cr_expect(strstr(outcome.err, "hint: check the path"), "%s", outcome.err);
    }
}

/* The hint of plain values, carried out. */
Test(cli_info, of_plain_values_names_a_header_that_reads_them)
{
    uint16_t values[2 * 3 * 4];
    for (int i = 0; i < 24; i++)
        values[i] = (uint16_t)(1000 + 7 * i);
    write_file("v.raw", values, sizeof values);
    expect_info("v.raw", 3,
                "NRRD0004 / type: uint16 / dimension: 3 / sizes: COLUMNS ROWS SLICES / encoding: "
                "raw / endian: little / data file: v.raw");
    static const char header[] =
        "NRRD0004\ntype: uint16\ndimension: 3\nsizes: 4 3 2\nencoding: raw\nendian: little\n"
        "data file: v.raw\n";
    write_file("v.nhdr", header, sizeof header - 1);
    expect_run("nrrd v.nhdr", "");
    size_t n;
    double *read = ts_test_read_hdf5_at("out.h5", "/entry/data/data", &n);
    cr_assert_eq(n, 24);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(read[i], values[i]);
    free(read);
}

Test(cli_info, of_gzip_says_to_unpack_it)
{
    cr_assert_eq(
        system("mkdir packed && echo | gzip > packed/a.dcm.gz && cp packed/a.dcm.gz plain"), 0);
    expect_info("packed", 3, "gunzip the files first");
    expect_info("plain", 3, "plain is a file that gzip compressed");
    ts_program_run(ts_scan_file.folder, ARGUMENTS("check", "plain"), &outcome);
    cr_assert_eq(outcome.code, 2);
    cr_assert(strstr(outcome.err, "`zcat FILE > NEW` unpacks it"), "%s", outcome.err);
}

/* Studies travel as archives, and a file in one is no folder of images. */
Test(cli_info, of_an_archive_says_to_unpack_it)
{
    static const char *const starts[] = {"PK\3\4????", "BZh9????", "\3757zXZ???",
                                         "\x28\xB5\x2F\xFD????", "7z\xBC\xAF????"};
    cr_assert_eq(system("mkdir studies packed && echo > studies/a && tar cf packed/a.tar studies"),
                 0);
    expect_info("packed", 3, "unpack the files first");
    expect_info(
        "packed/a.tar", 3,
        "packed/a.tar is an archive or a packed file [input-compressed]\n  hint: unpack it first");
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        write_file("a", starts[i], 8);
        expect_info("a", 3, "unpack it first");
        ts_program_run(ts_scan_file.folder, ARGUMENTS("check", "dicom a"), &outcome);
        cr_expect(outcome.code == 3 && strstr(outcome.err, "unpack it first"), "%d\n%s",
                  outcome.code, outcome.err);
        ts_program_run(ts_scan_file.folder, ARGUMENTS("diff", "a", "packed"), &outcome);
        cr_expect(outcome.code == 3 && strstr(outcome.err, "unpack it first"), "%d\n%s",
                  outcome.code, outcome.err);
        ts_program_run(ts_scan_file.folder, ARGUMENTS("preview", "a", "-o", "a.png"), &outcome);
        cr_expect(outcome.code == 3 && strstr(outcome.err, "unpack it first"), "%d\n%s",
                  outcome.code, outcome.err);
    }
}

/* Whatever is named as an input is looked at, and the way out of a wrong format names the right
 * one. */
Test(cli_info, of_a_volume_is_what_a_run_reads)
{
    static const char *const volumes[] = {"a.nii", "a.nii.gz"};
    ts_program_run(ts_scan_file.folder,
                   ARGUMENTS("phantom", "disc", "-o", "study", "--size", "32", "--slices", "3"),
                   &outcome);
    for (size_t i = 0; i < sizeof volumes / sizeof *volumes; i++) {
        ts_program_run(ts_scan_file.folder,
                       ARGUMENTS("run", "dicom study", "-o", volumes[i], "--force"), &outcome);
        cr_assert_eq(outcome.code, 0, "%s", outcome.err);
        expect_info(volumes[i], 0, "32 x 32 pixels x 3 slices (rows x columns x slices), i16\n");
        ts_program_run(ts_scan_file.folder,
                       ARGUMENTS("run", "statistics", "-i", volumes[i], "-o", "o.h5", "--force"),
                       &outcome);
        cr_expect_eq(outcome.code, 0, "%s", outcome.err);
        ts_program_run(ts_scan_file.folder, ARGUMENTS("info", volumes[i], "--json"), &outcome);
        cr_expect(ts_test_is_json(outcome.out, strlen(outcome.out)) &&
                      strstr(outcome.out, "\"orientation\": \"axial\""),
                  "%s", outcome.out);
    }
    expect_run("nifti a.nii", "quantity=hu");
    cr_assert_eq(system("mkdir volumes && cp a.nii volumes && gzip study/*"), 0);
    expect_info("volumes", 3, "it holds NIfTI files");
    static const char *const wrong[][2] = {{"dicom a.nii", "it is a NIfTI file: nifti a.nii"},
                                           {"nrrd a.nii", "it is a NIfTI file: nifti a.nii"},
                                           {"dicom out.h5", "it is an HDF5 file: `tomostage info`"},
                                           {"dicom study", "gunzip the files first"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ts_program_run(ts_scan_file.folder, ARGUMENTS("check", wrong[i][0]), &outcome);
        cr_expect(outcome.code == 3 && strstr(outcome.err, wrong[i][1]), "%s: %d\n%s", wrong[i][0],
                  outcome.code, outcome.err);
    }
}

/* A file without bytes is called so, and gzip files are held against their checksums. */
Test(cli_info, of_an_empty_or_a_damaged_file_says_so)
{
    static const char *const empty[] = {"a.nii", "a.nii.gz", "a.dcm", "a.tif", "a.h5"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        write_file(empty[i], "", 0);
        expect_info(empty[i], 3, "is empty: it has no bytes");
        unlink(empty[i]);
    }
    ts_program_run(ts_scan_file.folder,
                   ARGUMENTS("phantom", "disc", "-o", "study", "--size", "32", "--slices", "3"),
                   &outcome);
    ts_program_run(ts_scan_file.folder, ARGUMENTS("run", "dicom study", "-o", "a.nii.gz"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    ts_program_run(ts_scan_file.folder, ARGUMENTS("info", "a.nii.gz", "--json"), &outcome);
    cr_expect(strstr(outcome.out, "\"checked\": true"), "%s", outcome.out);
    cr_assert_eq(system("head -c -1 a.nii.gz > cut.nii.gz && head -c -8 a.nii.gz > wrong.nii.gz && "
                        "printf 12345678 >> wrong.nii.gz && head -c 200 a.nii.gz > short.nii.gz"),
                 0);
    expect_info("cut.nii.gz", 3, "ends before its data do");
    expect_info("short.nii.gz", 3, "ends before its data do");
    expect_info("wrong.nii.gz", 3, "checksum");
    for (int i = 0; i < 2; i++) {
        ts_program_run(
            ts_scan_file.folder,
            ARGUMENTS("run", i ? "nifti wrong.nii.gz" : "nifti cut.nii.gz", "-o", "o.h5"),
            &outcome);
        cr_expect_eq(outcome.code, 3, "%s", outcome.err);
    }
}

/* Only the beginning of a long volume is inflated, and the message says so. */
Test(cli_info, of_a_long_gzip_file_says_what_was_checked)
{
    cr_assert_eq(system("dd if=/dev/zero of=zeros bs=1M count=140 status=none"), 0);
    ts_program_run(ts_scan_file.folder,
                   ARGUMENTS("phantom", "disc", "-o", "study", "--size", "32", "--slices", "1"),
                   &outcome);
    ts_program_run(ts_scan_file.folder, ARGUMENTS("run", "dicom study", "-o", "a.nii"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert_eq(system("{ head -c 352 a.nii; cat zeros; } | gzip -1 > long.nii.gz && rm zeros"),
                 0);
    expect_info("long.nii.gz", 0,
                "the first 128 MiB were inflated without fault; the rest was not checked");
}

static void write_typed_scan(const char *name, hid_t type, bool keys, bool angles, const char *unit)
{
    const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t raw = ts_scan_file_group(file, "raw", NULL);
    double theta[SCAN_FRAMES];
    for (int i = 0; i < SCAN_FRAMES; i++)
        theta[i] = 180.0 * i / SCAN_FRAMES;
    ts_scan_file_frames(raw, "frames", SCAN_FRAMES, &(struct scan_storage){.type = type});
    if (keys)
        ts_scan_file_numbers(raw, "image_key", SCAN_FRAMES, (const double[SCAN_FRAMES]){1, 2, 0},
                             NULL);
    if (angles)
        ts_scan_file_numbers(raw, "Sample_Rotation", SCAN_FRAMES, theta, unit);
    H5Gclose(raw);
    H5Fclose(file);
}

static void write_scan(const char *name, bool keys, bool angles, const char *unit)
{
    write_typed_scan(name, H5T_STD_U16LE, keys, angles, unit);
}

/* Runs what `info` said to try through a shell, as a user who copies the line does. */
static void expect_shell_takes_try(const char *path)
{
    char command[4096];
    ts_program_run(ts_scan_file.folder, ARGUMENTS("info", path), &outcome);
    const char *start = strstr(outcome.out, "  try: tomostage ");
    cr_assert(start, "%s: %s%s", path, outcome.out, outcome.err);
    start += strlen("  try: tomostage ");
    snprintf(command, sizeof command, "'%s' %.*s >/dev/null", ts_test_program(),
             (int)strcspn(start, "\n"), start);
    cr_expect_eq(system(command), 0, "%s", command);
}

Test(cli_info, what_it_says_to_try_is_quoted_for_a_shell)
{
    static const char *const names[] = {"a b.h5",         "it's.h5", "a\"b.h5", "$HOME `x`|y,z.h5",
                                        "back\\slash.h5", "a=b.h5",  "[1].h5"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        write_scan(names[i], i % 2, true, "degree");
        expect_shell_takes_try(names[i]);
    }
    ts_program_run(ts_scan_file.folder,
                   ARGUMENTS("phantom", "disc", "-o", "study", "--size", "32", "--slices", "3"),
                   &outcome);
    ts_program_run(ts_scan_file.folder, ARGUMENTS("run", "dicom study", "-o", "a b.nii"), &outcome);
    ts_program_run(ts_scan_file.folder, ARGUMENTS("check", "dicom 'a b.nii'"), &outcome);
    cr_expect(strstr(outcome.err, "it is a NIfTI file: nifti \"a b.nii\"\n"), "%s", outcome.err);
}

/* A detector counts in integers without a sign. */
Test(cli_info, only_what_may_be_counts_is_called_so)
{
    const hid_t types[] = {H5T_IEEE_F32LE, H5T_STD_I16LE};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        write_typed_scan("e.h5", types[i], false, true, "degree");
        expect_info("e.h5", 0, "add quantity=transmission or quantity=line_integral if they are\n");
        cr_expect(!strstr(outcome.out, "counts"), "%s", outcome.out);
        expect_shell_takes_try("e.h5");
        cr_assert_eq(unlink("e.h5"), 0);
    }
}

Test(cli_info, of_an_unknown_layout_says_what_looks_like_a_scan)
{
    write_scan("a.h5", true, true, "degree");
    expect_info("a.h5", 0,
                "looks like a scan: data at /raw/frames, image_key at /raw/image_key, angles at "
                "/raw/Sample_Rotation\n  try: tomostage check 'nexus a.h5 data=/raw/frames "
                "image_key=/raw/image_key angles=/raw/Sample_Rotation'\n");
    write_scan("b.h5", false, true, "degree");
    expect_info("b.h5", 0,
                "  try: tomostage check 'hdf5 b.h5 path=/raw/frames axes=view,z,detector "
                "angles=/raw/Sample_Rotation quantity=counts'\n");
    expect_run("hdf5 b.h5",
               "path=/raw/frames axes=view,z,detector angles=/raw/Sample_Rotation quantity=counts");
    write_scan("d.h5", false, true, NULL);
    expect_info("d.h5", 0,
                "angle_unit=degree quantity=counts'   (or radian: the file does not say)\n");
    expect_run("hdf5 d.h5", "path=/raw/frames axes=view,z,detector angles=/raw/Sample_Rotation "
                            "angle_unit=degree quantity=counts");
    write_scan("c.h5", false, false, "degree");
    expect_info("c.h5", 0,
                "looks like a volume: data at /raw/frames\n  try: tomostage check 'hdf5 c.h5 "
                "path=/raw/frames axes=z,y,x'\n");
    expect_run("hdf5 c.h5", "path=/raw/frames axes=z,y,x");
    ts_program_run(ts_scan_file.folder, ARGUMENTS("info", "out.h5"), &outcome);
    cr_assert(!strstr(outcome.out, "looks like"), "%s", outcome.out);
}

/* Adds a dataset of `rank` axes of n values. With a file it is external: its values lie there. */
static void add_dataset(hid_t file, const char *name, hid_t type, int rank, hsize_t n,
                        const char *external)
{
    const hsize_t shape[] = {n, n, n, n};
    const hid_t space = H5Screate_simple(rank, shape, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    if (external)
        H5Pset_external(list, external, 0, H5F_UNLIMITED);
    else
        H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY);
    const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    cr_assert(dataset >= 0 && H5Dclose(dataset) >= 0 && H5Pclose(list) >= 0 &&
              H5Sclose(space) >= 0);
}

/* A dataset that no input reads is neither something to try nor a reason for exit code 0, and a
 * smaller one that an input does read is found behind it. */
Test(cli_info, ends_with_3_where_an_hdf5_file_holds_no_input)
{
    static const char none[] = "x.h5 holds no dataset of numbers with three axes [hdf5-no-input]\n";
    const hid_t text = H5Tcopy(H5T_C_S1);
    const struct {
        hid_t type;
        int rank;
        const char *external, *words;
    } cases[] = {{H5T_STD_U8LE, 0, NULL, none},
                 {H5T_STD_U8LE, 1, NULL, none},
                 {H5T_STD_U8LE, 4, NULL, none},
                 {text, 3, NULL, none},
                 {H5T_STD_U8LE, 3, "values",
                  "x.h5: /d has its values in other files (external storage) [hdf5-no-input]\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const hid_t file = H5Fcreate("x.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        if (cases[i].rank > 0)
            add_dataset(file, "d", cases[i].type, cases[i].rank, 4, cases[i].external);
        H5Fclose(file);
        expect_info("x.h5", 3, cases[i].words);
        cr_expect(!strstr(outcome.out, "try: "), "%s", outcome.out);
    }
    H5Tclose(text);
    cr_expect(
        strstr(outcome.out,
               "looks like a volume: data at /d\n  as an input it is refused: x.h5: /d has its"),
        "%s", outcome.out);
    ts_program_run(ts_scan_file.folder, ARGUMENTS("info", "x.h5", "--json"), &outcome);
    cr_expect(outcome.code == 3 && strstr(outcome.out, "\"refused\": \"x.h5: /d has its"), "%s",
              outcome.out);
    const hid_t file = H5Fopen("x.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    add_dataset(file, "e", H5T_STD_U8LE, 3, 3, NULL);
    H5Fclose(file);
    expect_info("x.h5", 0, "looks like a volume: data at /e\n");
    expect_shell_takes_try("x.h5");
}

Test(cli_info, of_a_scan_of_our_own_says_what_it_is)
{
    ts_program_run(ts_scan_file.folder,
                   ARGUMENTS("phantom", "scan", "-o", "s.nxs", "--size", "32", "--slices", "2",
                             "--views", "24"),
                   &outcome);
    expect_info("s.nxs", 0, "  complete, all digests right\n  frames: 24 projections, ");
    cr_expect(strstr(outcome.out, "\n  detector: 2 rows of 32 pixels, "), "%s", outcome.out);
    ts_program_run(ts_scan_file.folder, ARGUMENTS("info", "s.nxs", "--json"), &outcome);
    cr_expect(strstr(outcome.out, "\"projections\": 24,"), "%s", outcome.out);
}

Test(cli_info, ends_with_3_where_every_series_is_refused)
{
    ts_program_run(ts_scan_file.folder,
                   ARGUMENTS("phantom", "disc", "-o", "study", "--size", "32", "--slices", "3"),
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    expect_info("study", 0, "1 series in 3 images");
    cr_assert_eq(system("rm \"$(ls study/* | sed -n 2p)\""), 0);
    expect_info("study", 3, "the one series is no clean volume");
    cr_assert(strstr(outcome.out, "refused ("), "%s", outcome.out);
}
