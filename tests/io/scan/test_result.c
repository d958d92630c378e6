/* SPDX-License-Identifier: Apache-2.0
 *
 * Results as inputs: a chain that is cut in two at a saved image gives what it gives in one.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "datasets/phantom.h"
#include "io/scan/result.h"
#include "io/source/source_slices.h"
#include "tests/files/hdf5_data.h"
#include "tests/files/output_fixture.h"
#include "tests/files/scan_file.h"
#include "tests/support/chain_run.h"
#include "tests/support/stage_check.h"

/* The scan's file, a DICOM study, and the outputs are in ts_scan_file.folder. */
static void write_study(void)
{
    static const struct phantom_options options = {.nx = 41,
                                                   .ny = 33,
                                                   .nz = 5,
                                                   .spacing_x_mm = 2,
                                                   .spacing_y_mm = 2.5,
                                                   .spacing_z_mm = 4,
                                                   .noise_hu = 10};
    char path[400];
    ts_scan_file_begin();
    snprintf(path, sizeof path, "%s/study", ts_scan_file.folder);
    cr_assert_eq(ts_phantom_write("head", &options, path, ts_scan_file.diag), TS_OK);
}

TestSuite(result, .init = write_study, .fini = ts_scan_file_end);

static const char *place(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", ts_scan_file.folder, name);
    return path;
}

/* ---- the same image twice -------------------------------------------------------------------- */

static void *bytes_of(hid_t object, bool attribute, size_t *n)
{
    const hid_t type = attribute ? H5Aget_type(object) : H5Dget_type(object),
                space = attribute ? H5Aget_space(object) : H5Dget_space(object);
    *n = (size_t)H5Sget_simple_extent_npoints(space) * H5Tget_size(type);
    void *bytes = calloc(1, *n + 1);
    cr_assert((attribute ? H5Aread(object, type, bytes)
                         : H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes)) >= 0);
    H5Sclose(space);
    H5Tclose(type);
    return bytes;
}

static void same_bytes(hid_t a, hid_t b, bool attribute, const char *name)
{
    size_t n, m;
    void *first = bytes_of(a, attribute, &n), *second = bytes_of(b, attribute, &m);
    cr_assert(n == m && !memcmp(first, second, n), "%s differs", name);
    free(first);
    free(second);
}

/* The names of an object's dimension scales in their group, as "z y x ". */
static void names_of_scales(hid_t object, hid_t attribute, char *names, size_t size)
{
    const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    const hssize_t n = H5Sget_simple_extent_npoints(space);
    hvl_t lists[TS_MAX_RANK];
    cr_assert(n > 0 && n <= TS_MAX_RANK && H5Aread(attribute, type, lists) >= 0);
    for (hssize_t i = 0; i < n; i++) {
        char path[256];
        const size_t used = strlen(names);
        cr_assert_eq(lists[i].len, 1);
        cr_assert(H5Rget_name(object, H5R_OBJECT, lists[i].p, path, sizeof path) > 0);
        snprintf(names + used, size - used, "%s ", strrchr(path, '/') + 1);
    }
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, lists);
    H5Sclose(space);
    H5Tclose(type);
}

static herr_t same_attribute(hid_t a, const char *name, const H5A_info_t *info, void *data)
{
    const hid_t b = *(hid_t *)data, first = H5Aopen(a, name, H5P_DEFAULT);
    char one[512] = "", other[512] = "";
    (void)info;
    cr_assert(H5Aexists(b, name) > 0, "no %s", name);
    const hid_t second = H5Aopen(b, name, H5P_DEFAULT);
    if (strcmp(name, "DIMENSION_LIST") == 0) { /* holds places in the file, which may differ */
        names_of_scales(a, first, one, sizeof one);
        names_of_scales(b, second, other, sizeof other);
        cr_assert_str_eq(one, other);
    } else if (strcmp(name, "REFERENCE_LIST") != 0) { /* the same the other way round */
        same_bytes(first, second, true, name);
    }
    H5Aclose(first);
    H5Aclose(second);
    return 0;
}

static herr_t same_object(hid_t a, const char *name, const H5O_info_t *info, void *data)
{
    const hid_t other = *(hid_t *)data, first = H5Oopen(a, name, H5P_DEFAULT),
                second = H5Oopen(other, name, H5P_DEFAULT);
    H5O_info_t theirs;
    cr_assert(second >= 0, "no %s", name);
    cr_assert(H5Oget_info(second, &theirs) >= 0 && theirs.num_attrs == info->num_attrs, "%s", name);
    H5Aiterate2(first, H5_INDEX_NAME, H5_ITER_INC, NULL, same_attribute, (void *)&second);
    if (info->type == H5O_TYPE_DATASET)
        same_bytes(first, second, false, name);
    H5Oclose(first);
    H5Oclose(second);
    return 0;
}

/* Values, axes and all attributes of two NXdata groups. */
static void same_image(const char *file, const char *other, const char *group)
{
    const hid_t first = H5Fopen(place(file), H5F_ACC_RDONLY, H5P_DEFAULT),
                second = H5Fopen(place(other), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t a = H5Gopen2(first, group, H5P_DEFAULT);
    hid_t b = H5Gopen2(second, group, H5P_DEFAULT);
    cr_assert(a >= 0 && b >= 0);
    cr_assert(H5Ovisit(a, H5_INDEX_NAME, H5_ITER_INC, same_object, &b) >= 0);
    H5Gclose(a);
    H5Gclose(b);
    H5Fclose(first);
    H5Fclose(second);
}

static const char dicom[] = "input: {dicom: study}\n",
                  scan[] = "input: {exchange: scan.h5, quantity: line_integral}\n";

/* A chain is cut in two: `before` writes a result, and `after` goes on from it. */
static const struct {
    const char *input, *before, *after;
} cuts[] = {
    {dicom, "  - radon: {views: 60}\n", "  - fbp: {filter: hann}\n"},
    {dicom, "  - radon: {views: 61, arc: 360, start: 7.3, detector_spacing: 1.7, center: 30.1}\n",
     "  - fbp:\n"},
    {dicom, "  - radon: {angles: [0, 13, 29, 61.5, 80, 91, 110, 125, 160.2]}\n",
     "  - backproject:\n"},
    {dicom,
     "  - radon: {views: 70, arc: 360, beam: fan-arc, source_axis: 300, source_detector: 511}\n",
     "  - fbp:\n"},
    {dicom,
     "  - radon: {views: 70, arc: 360, beam: fan-flat, source_axis: 300, source_detector: 511}\n",
     "  - rebin:\n  - fbp:\n"},
    {dicom, "  - radon: {views: 64}\n  - center:\n", "  - pad:\n  - fbp:\n"},
    {dicom, "  - radon: {views: 30}\n  - fbp:\n", "  - window: {center: 40, width: 80}\n"},
    {dicom, "  - box: {radius: 1}\n", "  - radon: {views: 12}\n"},
    {scan, "  - box: {radius: 1}\n", "  - sirt: {iterations: 3}\n"},
    {scan, "  - center: {center: 2.25}\n", "  - fbp: {gaps: accept}\n"},
};

TEST_ON_BOTH(result, goes_on_as_one_chain)
{
    static const double theta[SCAN_FRAMES] = {0, 26, 50, 77, 103, 129, 154.5};
    H5Fclose(ts_scan_file_exchange(NULL, SCAN_FRAMES, theta));
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 "tomostage: 2\n%sstages:\n%s  - save: {name: middle}\n%soutput: {hdf5: one.h5}\n",
                 cuts[i].input, cuts[i].before, cuts[i].after);
        ts_test_chain_runs(text, ts_scan_file.folder);
        snprintf(text, sizeof text,
                 "tomostage: 2\ninput: {result: one.h5, image: middle}\nstages:\n  - save: {name: "
                 "middle}\n%soutput: {hdf5: two.h5}\n",
                 cuts[i].after);
        ts_test_chain_runs(text, ts_scan_file.folder);
        same_image("one.h5", "two.h5", "/entry/middle");
        same_image("one.h5", "two.h5", "/entry/data");
        /* Its last image is the one that is read where the chain names none. */
        snprintf(text, sizeof text,
                 "tomostage: 2\ninput: {result: two.h5}\nstages:\n  - save: {name: end}\noutput: "
                 "{hdf5: three.h5}\n");
        ts_test_chain_runs(text, ts_scan_file.folder);
        same_image("two.h5", "three.h5", "/entry/data");
    }
}

/* ---- a volume from DICOM in one chain -------------------------------------------------------- */

/* Projected and filtered back, in HU: the middle of the head is its brain. */
TEST_ON_BOTH(result, of_dicom_projected_and_reconstructed)
{
    size_t n, n_before;
    ts_test_chain_runs(
        "tomostage: 2\ninput: {dicom: study}\nstages:\n  - save: {name: before}\n  - radon: "
        "{views: 180, detector_spacing: 1}\n  - fbp: {filter: hann, rows: 33, columns: 41, "
        "pixel_size: 2, row_spacing: 2.5}\noutput: {hdf5: out.h5}\n",
        ts_scan_file.folder);
    double *after = ts_test_read_hdf5_at(place("out.h5"), "/entry/data/data", &n),
           *before = ts_test_read_hdf5_at(place("out.h5"), "/entry/before/data", &n_before);
    double sums[2] = {0};
    int64_t n_pixels = 0;
    cr_assert(n == 5 * 33 * 41 && n_before == n);
    for (int64_t z = 0; z < 5; z++)
        for (int64_t y = 11; y < 22; y++)
            for (int64_t x = 14; x < 27; x++, n_pixels++) {
                sums[0] += before[(z * 33 + y) * 41 + x];
                sums[1] += after[(z * 33 + y) * 41 + x];
            }
    cr_assert(fabs(sums[1] - sums[0]) <= 10.0 * (double)n_pixels, "%g and %g HU",
              sums[0] / (double)n_pixels, sums[1] / (double)n_pixels);
    free(after);
    free(before);
}

/* ---- what is refused ------------------------------------------------------------------------- */

enum damage {
    DAMAGE_COMPLETE,
    DAMAGE_QUANTITY,
    DAMAGE_AXES,
    DAMAGE_POSITIONS,
    DAMAGE_BEAM,
    DAMAGE_NO_AXIS,
    DAMAGE_DISTANCES,
    DAMAGE_DIGEST,
    DAMAGES
};

static void replace_number(hid_t object, const char *name, double value)
{
    const hid_t space = H5Screate(H5S_SCALAR);
    cr_assert(H5Adelete(object, name) >= 0, "%s", name);
    const hid_t attribute =
        H5Acreate2(object, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
}

static void replace_text(hid_t object, const char *name, const char *text)
{
    cr_assert(H5Adelete(object, name) >= 0, "%s", name);
    ts_scan_file_text(object, name, text);
}

static void damage_result(const char *name, enum damage damage)
{
    static const double few[2] = {0, 1};
    const hid_t file = H5Fopen(place(name), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t group = H5Gopen2(file, "/entry/data", H5P_DEFAULT),
                data = H5Dopen2(group, "data", H5P_DEFAULT);
    cr_assert(group >= 0 && data >= 0);
    if (damage == DAMAGE_COMPLETE)
        replace_number(file, "complete", 0);
    else if (damage == DAMAGE_DIGEST)
        cr_assert(H5Adelete(file, "digest") >= 0);
    else if (damage == DAMAGE_QUANTITY)
        replace_text(data, "quantity", "taste");
    else if (damage == DAMAGE_AXES)
        replace_number(group, "view_indices", 2);
    else if (damage == DAMAGE_BEAM)
        replace_text(group, "beam", "moon");
    else if (damage == DAMAGE_DISTANCES)
        replace_number(group, "source_axis_mm", -1);
    else
        cr_assert(H5Ldelete(group, "view", H5P_DEFAULT) >= 0);
    if (damage == DAMAGE_POSITIONS)
        ts_scan_file_numbers(group, "view", 2, few, "degree");
    H5Dclose(data);
    H5Gclose(group);
    H5Fclose(file);
}

static void refused(const char *input, const char *code)
{
    char text[512];
    snprintf(text, sizeof text,
             "tomostage: 2\ninput: {%s}\nstages:\n  - save: {name: a}\noutput: {hdf5: out.h5}\n",
             input);
    ts_test_chain_refused(text, ts_scan_file.folder, TS_BAD_INPUT, code);
}

Test(result, refuses_with_its_own_words)
{
    static const char *const codes[DAMAGES] = {
        [DAMAGE_COMPLETE] = "result-incomplete", [DAMAGE_QUANTITY] = "result-image",
        [DAMAGE_AXES] = "result-image",          [DAMAGE_POSITIONS] = "result-image",
        [DAMAGE_BEAM] = "result-image",          [DAMAGE_NO_AXIS] = "result-image",
        [DAMAGE_DISTANCES] = "result-image",     [DAMAGE_DIGEST] = "result-foreign"};
    static const char chain[] =
        "tomostage: 2\ninput: {dicom: study}\nstages:\n  - radon: {views: 9, arc: 360, beam: "
        "fan-flat, source_axis: 300, source_detector: 511}\noutput: {hdf5: bad.h5}\n";
    static const double theta[SCAN_FRAMES] = {0};
    H5Fclose(ts_scan_file_exchange(NULL, SCAN_FRAMES, theta));
    for (int damage = 0; damage < DAMAGES; damage++) {
        ts_test_chain_runs(chain, ts_scan_file.folder);
        damage_result("bad.h5", (enum damage)damage);
        refused("result: bad.h5", codes[damage]);
    }
    ts_test_chain_runs(chain, ts_scan_file.folder);
    refused("result: bad.h5, image: sinogram", "result-no-image");
    refused("result: bad.h5, image: ../data", "result-no-image");
    refused("result: bad.h5, image: provenance", "result-no-image");
    refused("result: scan.h5", "result-foreign");
    refused("result: none.h5", "input-unreadable");
    cr_assert_eq(truncate(place("bad.h5"), 5000), 0);
    refused("result: bad.h5", "hdf5-unreadable");
}

/* ---- descriptions that make no sense --------------------------------------------------------- */

/* Multiplies one of the numbers of an attribute of the group or of an axis of /entry/data, and adds
 * to it. */
static void edit_number(const char *object, const char *name, int i, double factor, double more)
{
    double values[9];
    const hid_t file = H5Fopen(place("bad.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t of = H5Oopen(file, object, H5P_DEFAULT), attribute = H5Aopen(of, name, H5P_DEFAULT);
    cr_assert(H5Aread(attribute, H5T_NATIVE_DOUBLE, values) >= 0);
    values[i] = factor * values[i] + more;
    cr_assert(H5Awrite(attribute, H5T_NATIVE_DOUBLE, values) >= 0);
    H5Aclose(attribute);
    H5Oclose(of);
    H5Fclose(file);
}

static void edit_text(const char *object, const char *name, const char *text)
{
    const hid_t file = H5Fopen(place("bad.h5"), H5F_ACC_RDWR, H5P_DEFAULT),
                of = H5Oopen(file, object, H5P_DEFAULT);
    replace_text(of, name, text);
    H5Oclose(of);
    H5Fclose(file);
}

Test(result, what_makes_no_sense_is_refused)
{
    static const char chain[] = "tomostage: 2\ninput: {dicom: study}\nstages:\n  - box: {radius: "
                                "1}\noutput: {hdf5: bad.h5}\n";
    static const struct {
        const char *object, *name, *code, *text; /* text: in place of a number */
        int i;
        double factor, more;
    } edits[] = {
        {"/entry/data", "direction", "result-geometry", NULL, 0, 1, 1e-5},
        {"/entry/data", "direction", "result-geometry", NULL, 1, 1, 1e-5},
        {"/entry/data", "direction", "result-geometry", NULL, 8, -1, 0},
        {"/entry/data", "origin_mm", "result-geometry", NULL, 2, NAN, 0},
        {"/entry/data", "step_z_mm", "result-geometry", NULL, 0, 1, 100},
        {"/entry/data", "step_z_mm", "result-geometry", NULL, 2, -1, 0},
        {"/entry/data", "step_z_mm", "result-geometry", NULL, 2, 1.01, 0},
        {"/entry/data/x", "spacing", "result-spacing", NULL, 0, 2, 0},
        {"/entry/data/x", "spacing", "result-spacing", NULL, 0, 0, 0},
        {"/entry/data/x", "units", "result-units", "cm", 0, 0, 0},
        {"/entry/data/x", "units", "result-geometry", "pixel", 0, 0, 0},
        {"/entry/data/data", "units", "result-units", "mm", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        ts_test_chain_runs(chain, ts_scan_file.folder);
        if (edits[i].text)
            edit_text(edits[i].object, edits[i].name, edits[i].text);
        else
            edit_number(edits[i].object, edits[i].name, edits[i].i, edits[i].factor, edits[i].more);
        refused("result: bad.h5", edits[i].code);
    }
}

/* What stages make of quantities and units is read back. */
Test(result, sums_and_products_of_images_are_read_back)
{
    static const char *const operations[] = {"subtract", "add", "multiply", "divide", "mean"};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        char chain[512];
        snprintf(chain, sizeof chain,
                 "tomostage: 2\ninput: {dicom: study}\nstages:\n  - save: {name: first}\n  - box: "
                 "{radius: 1}\n  - combine: {op: %s, other: input}\noutput: {hdf5: made.h5}\n",
                 operations[i]);
        ts_test_chain_runs(chain, ts_scan_file.folder);
        ts_test_chain_runs("tomostage: 2\ninput: {result: made.h5}\nstages:\n  - crop: {x: [1, "
                           "20]}\noutput: {hdf5: again.h5}\n",
                           ts_scan_file.folder);
        unlink(place("made.h5"));
        unlink(place("again.h5"));
    }
}

/* ---- edited files ---------------------------------------------------------------------------- */

/* Flips a bit of the first value of a dataset, or the first letter of its text. */
static void edit_dataset(const char *path)
{
    const hid_t file = H5Fopen(place("bad.h5"), H5F_ACC_RDWR, H5P_DEFAULT),
                dataset = H5Dopen2(file, path, H5P_DEFAULT);
    cr_assert(dataset >= 0, "no %s", path);
    size_t n;
    char *bytes = bytes_of(dataset, false, &n);
    const hid_t type = H5Dget_type(dataset);
    bytes[0] = (char)(bytes[0] ^ 1);
    cr_assert(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0);
    H5Tclose(type);
    free(bytes);
    H5Dclose(dataset);
    H5Fclose(file);
}

/* An output names the digest of the result that it comes from, so the file must be the one with
 * this digest. */
Test(result, an_edited_file_is_refused)
{
    static const char *const datasets[] = {"/entry/data/data", "/entry/inputs/input/modality",
                                           "/entry/inputs/input/slice_position",
                                           "/entry/first/data"};
    for (size_t i = 0; i < sizeof datasets / sizeof *datasets; i++) {
        ts_test_chain_runs("tomostage: 2\ninput: {dicom: study}\nstages:\n  - save: {name: "
                           "first}\n  - box: {radius: 1}\noutput: {hdf5: bad.h5}\n",
                           ts_scan_file.folder);
        edit_dataset(datasets[i]);
        remove(place("out.h5"));
        refused("result: bad.h5", "hdf5-damaged");
        cr_assert_neq(access(place("out.h5"), F_OK), 0);
    }
}

/* ---- texts of edited files ------------------------------------------------------------------- */

/* Writes a text beside what bad.h5 says of its input, in place of one that is there. */
static void put_text(const char *name, const char *text)
{
    const hid_t file = H5Fopen(place("bad.h5"), H5F_ACC_RDWR, H5P_DEFAULT),
                group = H5Gopen2(file, "/entry/inputs/input", H5P_DEFAULT),
                space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    cr_assert(group >= 0 && H5Tset_size(type, strlen(text)) >= 0);
    if (H5Lexists(group, name, H5P_DEFAULT) > 0)
        H5Ldelete(group, name, H5P_DEFAULT);
    const hid_t dataset =
        H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0);
    H5Dclose(dataset);
    H5Tclose(type);
    H5Sclose(space);
    H5Gclose(group);
    H5Fclose(file);
}

struct edited_text {
    const char *name, *text, *taken; /* taken: "" where nothing is */
};

/* Opens bad.h5 as if its digests had been made to fit, and compares what is taken of its texts. */
static void expect_texts(const struct edited_text *texts, size_t n, bool warned)
{
    struct result_params params = {0};
    struct param_set set = {.params = result_format.params,
                            .n_params = result_format.n_params,
                            .values = &params,
                            .owner = "input"};
    struct source *source;
    struct ts_diag *diag = ts_diag_create();
    for (size_t i = 0; i < n; i++)
        put_text(texts[i].name, texts[i].text);
    ts_params_init(&set);
    params.result = place("bad.h5");
    params.proved = true;
    cr_assert_eq(ts_source_open(&result_format, &set, &source, diag), TS_OK);
    for (size_t i = 0; i < n; i++) {
        const char *value = "";
        for (size_t k = 0; k < source->n_attributes; k++)
            if (!strcmp(source->attributes[k].name, texts[i].name))
                value = source->attributes[k].value;
        cr_expect_str_eq(value, texts[i].taken, "%s is '%s'", texts[i].name, value);
    }
    cr_expect_eq(ts_test_has_code(diag, "result-identity"), warned);
    source->ops->close(source);
    ts_diag_destroy(diag);
}

Test(result, texts_are_held_against_the_lists)
{
    static const struct edited_text removed[] = {
        {"manufacturer", "Jane Doe", "unrecognized"},
        {"modality", "mixed", "mixed"},
        {"image_type", "DERIVED\\Doe", "DERIVED\\unrecognized"},
        {"convolution_kernel", "Jane Doe", "unrecognized"},
        {"series_description", "Jane Doe", ""},
        {"study_instance_uid", "1.2.840.4711", ""},
        {"acquisition_date", "20200131", ""},
        {"burned_in_annotation", "Jane", "unrecognized"},
        {"lossy_image_compression_method", "ISO_10918_1", "ISO_10918_1"},
        {"lossy_image_compression_ratio", "19700131", "unrecognized"},
    };
    static const struct edited_text moved[] = {
        {"longitudinal_temporal_information_modified", "MODIFIED", "MODIFIED"},
        {"study_instance_uid", "2.25.4711", "2.25.4711"},
        {"series_instance_uid", "2.25.47x", ""},
        {"frame_of_reference_uid", "2.25.", ""},
        {"acquisition_date", "20200131", "20200131"},
        {"series_description", "Jane Doe", ""},
    };
    static const struct edited_text kept[] = {
        {"contains_phi", "YES", "YES"},
        {"series_description", "Jane Doe", "Jane Doe"},
        {"study_instance_uid", "1.2.840.4711", "1.2.840.4711"},
        {"manufacturer", "Jane Doe", "unrecognized"},
    };
    ts_test_chain_runs("tomostage: 2\ninput: {dicom: study}\nstages:\n  - box: {radius: "
                       "1}\noutput: {hdf5: bad.h5}\n",
                       ts_scan_file.folder);
    expect_texts(removed, sizeof removed / sizeof *removed, false);
    expect_texts(moved, sizeof moved / sizeof *moved, false);
    expect_texts(kept, sizeof kept / sizeof *kept, true);
}
