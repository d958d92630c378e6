/* SPDX-License-Identifier: Apache-2.0
 *
 * The header is text: lines `field: value` up to an empty line. Fields that change what the values
 * mean are understood or refused; other known fields and pairs `key:=value` are ignored. A field
 * that the format does not have, or that occurs twice, is refused. The space must be that of a
 * patient; otherwise the volume has only spacings. Source: G. Kindlmann, Definition of NRRD File
 * Format, teem.sourceforge.net/nrrd.
 */
#include "io/volume/nrrd.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/number.h"
#include "core/vector3.h"
#include "io/file/gzip_reader.h"
#include "io/source/source_slices.h"
#include "io/volume/header_text.h"

enum { AXES = 3 };
static const double SAME_SPACING = 0.01; /* of the spacing */
#define SEGMENT "Segment0_" /* begins the pairs of the first segment, in files of 3D Slicer */

static const struct param nrrd_params[] = {
    PARAM(struct nrrd_params, nrrd, .required = true, .unit = "",
          .doc =
              "a NRRD file of one volume: .nrrd, or a header .nhdr beside the file of its values"),
    VOLUME_QUANTITY_PARAM(struct nrrd_params),
    SLICES_PARAM(struct nrrd_params),
};

#define INT64_NAMES                                                                                \
    "|longlong|long long|long long int|signed long long|signed long long int|int64|int64_t|"

static const struct {
    const char *names; /* separated by bars */
    enum ts_dtype dtype;
} types[] = {
    {"|signed char|int8|int8_t|", TS_I8},
    {"|uchar|unsigned char|uint8|uint8_t|", TS_U8},
    {"|short|short int|signed short|signed short int|int16|int16_t|", TS_I16},
    {"|ushort|unsigned short|unsigned short int|uint16|uint16_t|", TS_U16},
    {"|int|signed int|int32|int32_t|", TS_I32},
    {"|uint|unsigned int|uint32|uint32_t|", TS_U32},
    {INT64_NAMES, TS_U64},
    {"|ulonglong|unsigned long long|unsigned long long int|uint64|uint64_t|", TS_U64},
    {"|float|", TS_F32},
    {"|double|", TS_F64},
};

/* Signs that convert a space's axes to LPS, by its name. */
static const struct {
    const char *name, *letters;
    double signs[3];
} spaces[] = {{"left-posterior-superior", "LPS", {1, 1, 1}},
              {"right-anterior-superior", "RAS", {-1, -1, 1}},
              {"left-anterior-superior", "LAS", {1, -1, 1}}};
/* Spaces of three dimensions that are not those of a patient. */
static const char *const other_spaces[] = {"scanner-xyz", "3D-right-handed", "3D-left-handed"};

/* What was found in the header. */
struct nrrd {
    struct volume_layout *layout;
    struct ts_diag *diag;
    struct header_text header;
    int rank;
    uint32_t seen; /* bits of `fields` */
    bool has_type, has_sizes, has_encoding, has_endian, has_directions, has_origin, has_spacings,
        patient;
    bool has_ends[2];     /* `axis mins`, `axis maxs` */
    double ends[2][AXES]; /* 0: not known */
    char centers[AXES];   /* c: the ends are the edges of the first and last cell, n: their middles,
                             0: not stated */
    const char *labels;
    double signs[3];
    double directions[3][3], origin[3]; /* directions[d]: direction of axis d */
    bool negative;                      /* a spacing is */
    bool segments, fractions;           /* it is a segmentation of 3D Slicer, and of fractions */
    const char *old_min, *old_max, *space;
};

static enum ts_status refuse(const struct nrrd *nrrd, const char *code, const char *what,
                             const char *value)
{
    return ts_header_refuse(nrrd->layout, code, nrrd->diag, what, value);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Reads n vectors, such as (1,0,0), of so many numbers each. */
static bool read_vectors(const char *text, int n, int numbers, double (*vectors)[3])
{
    for (int i = 0; i < n; i++) {
        text += strspn(text, " \t");
        if (*text++ != '(')
            return false;
        for (int d = 0; d < numbers; d++) {
            if (!ts_header_number(&text, &vectors[i][d]))
                return false;
            text += strspn(text, " \t");
            if (*text++ != (d + 1 < numbers ? ',' : ')'))
                return false;
        }
    }
    return text[strspn(text, " \t")] == '\0';
}

/* ---- fields ---------------------------------------------------------------------------------- */

static enum ts_status take_type(struct nrrd *nrrd, const char *value)
{
    char name[64];
    snprintf(name, sizeof name, "|%s|", value);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strstr(types[i].names, name)) {
            nrrd->layout->stored = types[i].dtype;
            nrrd->layout->is_signed = !strcmp(types[i].names, INT64_NAMES);
            nrrd->has_type = true;
            return TS_OK;
        }
    return refuse(nrrd, "nrrd-type", "holds values of a type that is not read", value);
}

/* Refuses a file that has not one number for each place of a volume or of a slice. */
static enum ts_status refuse_axes(const struct nrrd *nrrd, const char *what, const char *value)
{
    refuse(nrrd, "nrrd-volumes", what, value);
    return ts_diag_hint(
        nrrd->diag,
        "a chain reads one volume of single values: in Python: i = SimpleITK.ReadImage('FILE'); "
        "SimpleITK.WriteImage(SimpleITK.VectorIndexSelectionCast(i, 0) if "
        "i.GetNumberOfComponentsPerPixel() > 1 else i[:, :, :, 0], 'NEW.nrrd'), and then input: "
        "{nrrd: NEW.nrrd}, takes the first of them");
}

/* Refuses a segmentation of 3D Slicer whose segments overlap: it has a label image for each of
   several layers. */
static enum ts_status refuse_layers(const struct nrrd *nrrd)
{
    ts_volume_refuse(
        nrrd->layout, "nrrd-layers", nrrd->diag,
        "is a segmentation whose segments overlap, in several layers (SegmentN_Layer)");
    return ts_diag_hint(
        nrrd->diag,
        "a chain reads one layer: in Python: a, h = nrrd.read('FILE'); nrrd.write('NEW.nrrd', "
        "a[0], dict(h, **{k: h[k][1:] for k in ('kinds', 'space directions')})), and then input: "
        "{nrrd: NEW.nrrd}, takes layer 0; the package is pynrrd");
}

/* Returns true if the header says further on that it is a segmentation of 3D Slicer. */
static bool has_segments(const struct nrrd *nrrd)
{
    const char *at = nrrd->header.text + nrrd->header.length;
    while (*at && *at != '\n' && *at != '\r' && strncmp(at, SEGMENT, strlen(SEGMENT)) != 0)
        at += strcspn(at, "\n") + (strchr(at, '\n') != NULL);
    return !strncmp(at, SEGMENT, strlen(SEGMENT));
}

static enum ts_status take_dimension(struct nrrd *nrrd, const char *value)
{
    int64_t rank = 0;
    if (ts_number_integer(value, &rank) == NULL && (rank == 2 || rank == 3)) {
        nrrd->rank = (int)rank;
        return TS_OK;
    }
    return rank == 4 && has_segments(nrrd)
               ? refuse_layers(nrrd)
               : refuse_axes(nrrd, "has another number of axes than 3", value);
}

static enum ts_status take_sizes(struct nrrd *nrrd, const char *value)
{
    if (!ts_header_sizes(nrrd->layout, value, nrrd->rank))
        return refuse(nrrd, "nrrd-header", "has sizes that do not fit its dimension", value);
    nrrd->has_sizes = true;
    return TS_OK;
}

static enum ts_status take_encoding(struct nrrd *nrrd, const char *value)
{
    nrrd->layout->gzip = !strcasecmp(value, "gzip") || !strcasecmp(value, "gz");
    nrrd->has_encoding = true;
    if (nrrd->layout->gzip || !strcasecmp(value, "raw"))
        return TS_OK;
    refuse(nrrd, "nrrd-encoding", "has an encoding that is not read", value);
    return ts_diag_hint(
        nrrd->diag,
        "raw and gzip are read: in Python: a, h = nrrd.read('FILE'); nrrd.write('NEW.nrrd', a, "
        "dict(h, encoding='gzip')), and then input: {nrrd: NEW.nrrd}; the package is pynrrd");
}

static enum ts_status take_endian(struct nrrd *nrrd, const char *value)
{
    const bool says_little = !strcasecmp(value, "little");
    nrrd->has_endian = true;
    nrrd->layout->swapped = says_little != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    return says_little || !strcasecmp(value, "big")
               ? TS_OK
               : refuse(nrrd, "nrrd-header", "has an unknown byte order", value);
}

static enum ts_status take_space(struct nrrd *nrrd, const char *value)
{
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (!strcasecmp(value, spaces[i].name) || !strcasecmp(value, spaces[i].letters)) {
            nrrd->patient = true;
            memcpy(nrrd->signs, spaces[i].signs, sizeof nrrd->signs);
            return TS_OK;
        }
    for (size_t i = 0; i < sizeof other_spaces / sizeof *other_spaces; i++)
        if (!strcasecmp(value, other_spaces[i])) {
            nrrd->space = other_spaces[i];
            return TS_OK;
        }
    return refuse(nrrd, "nrrd-header", "lies in a space that is not known", value);
}

static enum ts_status take_spacings(struct nrrd *nrrd, const char *value)
{
    double spacings[AXES] = {0};
    if (nrrd->rank == 0 || !ts_header_numbers(value, nrrd->rank, true, spacings))
        return refuse(nrrd, "nrrd-header", "has spacings that do not fit its dimension", value);
    for (int d = 0; d < AXES; d++) {
        nrrd->layout->spacing[d] = fabs(spacings[d]);
        nrrd->negative |= spacings[d] < 0;
    }
    nrrd->has_spacings = true;
    return TS_OK;
}

/* Takes the ends of the axes, which give spacings too, by a rule that depends on the field
   `centers`. */
static enum ts_status take_ends(struct nrrd *nrrd, int end, const char *value)
{
    if (nrrd->rank == 0 || !ts_header_numbers(value, nrrd->rank, true, nrrd->ends[end]))
        return refuse(nrrd, "nrrd-header", "has ends of axes that do not fit its dimension", value);
    nrrd->has_ends[end] = true;
    return TS_OK;
}

static enum ts_status take_mins(struct nrrd *nrrd, const char *value)
{
    return take_ends(nrrd, 0, value);
}

static enum ts_status take_maxs(struct nrrd *nrrd, const char *value)
{
    return take_ends(nrrd, 1, value);
}

static enum ts_status take_labels(struct nrrd *nrrd, const char *value)
{
    nrrd->labels = value;
    return TS_OK;
}

static enum ts_status take_old_min(struct nrrd *nrrd, const char *value)
{
    nrrd->old_min = value;
    return TS_OK;
}

static enum ts_status take_old_max(struct nrrd *nrrd, const char *value)
{
    nrrd->old_max = value;
    return TS_OK;
}

static enum ts_status take_directions(struct nrrd *nrrd, const char *value)
{
    nrrd->has_directions =
        nrrd->rank > 0 && read_vectors(value, nrrd->rank, nrrd->rank, nrrd->directions);
    return nrrd->has_directions
               ? TS_OK
               : refuse(nrrd, "nrrd-header", "has directions that are not a vector for each axis",
                        value);
}

static enum ts_status take_origin(struct nrrd *nrrd, const char *value)
{
    nrrd->has_origin = read_vectors(value, 1, nrrd->rank == 2 ? 2 : AXES, &nrrd->origin);
    return nrrd->has_origin ? TS_OK
                            : refuse(nrrd, "nrrd-header", "has an origin that is no vector", value);
}

/* Takes the units: a text in quotes for each axis, such as "mm", which is empty if the unit is not
   known. */
static enum ts_status take_units(struct nrrd *nrrd, const char *value)
{
    static const char *const read[] = {"\"mm\"", "\"millimeter\"", "\"millimeters\"", "\"\""};
    int n = 0;
    for (const char *at = value + strspn(value, " \t"); *at; at += strspn(at, " \t"), n++) {
        size_t length = 0;
        for (size_t i = 0; i < sizeof read / sizeof *read && length == 0; i++)
            length = strncmp(at, read[i], strlen(read[i])) ? 0 : strlen(read[i]);
        if (length == 0)
            return refuse(nrrd, "nrrd-header", "has lengths in another unit than \"mm\"", value);
        at += length;
    }
    return n == nrrd->rank ? TS_OK
                           : refuse(nrrd, "nrrd-header", "has no unit for each axis", value);
}

/* Returns how many words a field has, one for each axis; -1 if a word is not known. */
static int count_words(const char *value, const char *const *known, size_t n_known)
{
    int n = 0;
    for (const char *at = value + strspn(value, " \t"); *at; at += strspn(at, " \t"), n++) {
        const size_t length = strcspn(at, " \t");
        bool found = false;
        for (size_t i = 0; i < n_known; i++)
            found |= strlen(known[i]) == length && !strncasecmp(at, known[i], length);
        if (!found)
            return -1;
        at += length;
    }
    return n;
}

static enum ts_status take_kinds(struct nrrd *nrrd, const char *value)
{
    static const char *const plain[] = {"domain", "space", "none", "???"};
    const int n = count_words(value, plain, sizeof plain / sizeof *plain);
    if (n < 0)
        return refuse_axes(nrrd, "has an axis that is none of space", value);
    return n == nrrd->rank ? TS_OK
                           : refuse(nrrd, "nrrd-header", "has no kind for each axis", value);
}

/* Samples of cells and of nodes are at the same places: at `space origin` and then `spacings`
   apart. Only the edges of the volume differ. */
static enum ts_status take_centers(struct nrrd *nrrd, const char *value)
{
    static const char *const known[] = {"cell", "node", "none", "???"};
    const char *at = value + strspn(value, " \t");
    for (int d = 0; d < nrrd->rank && *at; d++) {
        const char kind = (char)tolower((unsigned char)*at);
        nrrd->centers[d] =
            kind == 'c' || (kind == 'n' && tolower((unsigned char)at[2]) == 'd') ? kind : '\0';
        at += strcspn(at, " \t");
        at += strspn(at, " \t");
    }
    return count_words(value, known, sizeof known / sizeof *known) == nrrd->rank
               ? TS_OK
               : refuse(nrrd, "nrrd-header", "has no centering, cell or node, for each axis",
                        value);
}

static enum ts_status take_skip(struct nrrd *nrrd, const char *value)
{
    return ts_header_take_skip(&nrrd->header, value)
               ? TS_OK
               : refuse(nrrd, "nrrd-header", "has a byte skip that is not read", value);
}

static enum ts_status take_line_skip(struct nrrd *nrrd, const char *value)
{
    return strcmp(value, "0") ? refuse(nrrd, "nrrd-header", "skips lines before its values", value)
                              : TS_OK;
}

static enum ts_status take_data_file(struct nrrd *nrrd, const char *value)
{
    if (!ts_header_may_name(value))
        return refuse(nrrd, "nrrd-data-file",
                      "names values outside of its folder, or in several files", value);
    nrrd->header.file = value;
    return TS_OK;
}

static const struct {
    const char *names; /* between bars */
    enum ts_status (*take)(struct nrrd *nrrd, const char *value);
} fields[] = {{"|type|", take_type},
              {"|dimension|", take_dimension},
              {"|sizes|", take_sizes},
              {"|encoding|", take_encoding},
              {"|endian|", take_endian},
              {"|space|", take_space},
              {"|spacings|", take_spacings},
              {"|space directions|", take_directions},
              {"|space origin|", take_origin},
              {"|space units|", take_units},
              {"|units|", take_units},
              {"|kinds|", take_kinds},
              {"|centers|centerings|", take_centers},
              {"|byte skip|byteskip|", take_skip},
              {"|line skip|lineskip|", take_line_skip},
              {"|data file|datafile|", take_data_file},
              {"|axis mins|axismins|", take_mins},
              {"|axis maxs|axismaxs|", take_maxs},
              {"|labels|", take_labels},
              {"|old min|oldmin|", take_old_min},
              {"|old max|oldmax|", take_old_max},
              /* The following fields change neither values nor places. */
              {"|content|", NULL},
              {"|number|", NULL},
              {"|min|", NULL},
              {"|max|", NULL},
              {"|block size|blocksize|", NULL},
              {"|sample units|sampleunits|", NULL},
              {"|space dimension|", NULL},
              {"|measurement frame|", NULL},
              {"|thicknesses|", NULL}};
_Static_assert(sizeof fields / sizeof *fields <= 32, "struct nrrd has a bit for each field");

/* Returns the index of a field, or -1. */
static int find_field(const char *name)
{
    char between[64];
    if (strchr(name, '|') || snprintf(between, sizeof between, "|%s|", name) >= (int)sizeof between)
        return -1;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcasestr(fields[i].names, between))
            return (int)i;
    return -1;
}

/* Looks at a pair `key:=value`: those of 3D Slicer tell a segmentation, whose values are labels
   unless they are fractions, and those of this program what the values are. */
static void take_pair(struct nrrd *nrrd, char *line, char *colon)
{
    nrrd->segments |= !strncmp(line, SEGMENT, strlen(SEGMENT));
    nrrd->fractions |= !strncmp(line, "Segmentation_", strlen("Segmentation_")) &&
                       strstr(line, ":=Fractional labelmap");
    *colon = '\0';
    (void)ts_header_take_own(&nrrd->header, line, colon + 2);
}

/* Takes one line, which ends in a zero. */
static enum ts_status take_line(struct nrrd *nrrd, char *line)
{
    char *colon = strchr(line, ':');
    if (*line == '#')
        return TS_OK;
    if (colon && colon[1] == '=') {
        take_pair(nrrd, line, colon);
        return TS_OK;
    }
    if (!colon || colon[1] != ' ')
        return refuse(nrrd, "nrrd-header", "has a line that is no field", line);
    *colon = '\0';
    char *value = colon + 1 + strspn(colon + 1, " \t");
    ts_header_trim(value);
    const int i = find_field(line);
    if (i < 0)
        return refuse(nrrd, "nrrd-header", "has a field that NRRD does not know", line);
    if (nrrd->seen >> i & 1)
        return refuse(nrrd, "nrrd-header", "has a field twice", line);
    nrrd->seen |= 1U << i;
    return fields[i].take ? fields[i].take(nrrd, value) : TS_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Reads the header and finds its end: an empty line, or the end of a file that names another
   file. */
static enum ts_status read_header(struct nrrd *nrrd)
{
    struct volume_layout *layout = nrrd->layout;
    enum ts_status status = ts_header_read(layout, &nrrd->header, nrrd->diag);
    if (status != TS_OK)
        return status;
    const char *text = nrrd->header.text;
    if (nrrd->header.n < 8 || memcmp(text, "NRRD000", 7) != 0)
        return ts_volume_refuse(layout, "nrrd-header", nrrd->diag, "is no NRRD file");
    if (text[7] < '1' || text[7] > '5')
        return ts_volume_refuse(layout, "nrrd-header", nrrd->diag,
                                "is of version NRRD000%c; 1 to 5 are read",
                                isalnum((unsigned char)text[7]) ? text[7] : '?');
    bool ended = false;
    (void)ts_header_line(&nrrd->header);
    while (!ended && status == TS_OK) {
        char *line = ts_header_line(&nrrd->header);
        if (!line && nrrd->header.file && nrrd->header.length == nrrd->header.n)
            break;
        if (!line)
            return ts_volume_refuse(layout, "nrrd-header", nrrd->diag,
                                    "has a header that does not end");
        ended = *line == '\0';
        if (!ended)
            status = take_line(nrrd, line);
    }
    return status;
}

static enum ts_status check_fields(const struct nrrd *nrrd)
{
    const bool one_byte = nrrd->has_type && ts_dtype_bytes(nrrd->layout->stored) == 1;
    const struct {
        bool has;
        const char *name;
    } needed[] = {{nrrd->rank != 0, "dimension"},
                  {nrrd->has_type, "type"},
                  {nrrd->has_sizes, "sizes"},
                  {nrrd->has_encoding, "encoding"},
                  {nrrd->has_endian || one_byte, "endian"}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].has)
            return ts_volume_refuse(nrrd->layout, "nrrd-header", nrrd->diag, "lacks the field '%s'",
                                    needed[i].name);
    if (nrrd->has_spacings && nrrd->has_directions)
        return ts_volume_refuse(
            nrrd->layout, "nrrd-header", nrrd->diag,
            "has the fields 'spacings' and 'space directions', of which one is allowed");
    if ((nrrd->has_ends[0] || nrrd->has_ends[1]) && !nrrd->has_spacings && !nrrd->has_directions)
        return ts_volume_refuse(
            nrrd->layout, "nrrd-header", nrrd->diag,
            "states its spacings only by 'axis mins' and 'axis maxs', which are not read");
    if (nrrd->header.skip < 0 && nrrd->layout->gzip)
        return ts_volume_refuse(nrrd->layout, "nrrd-header", nrrd->diag,
                                "has a byte skip of -1, which only raw values can have");
    return TS_OK;
}

/* Warns of integers that are rounded floats. */
static void warn_of_range(const struct nrrd *nrrd)
{
    char low[64], high[64];
    const struct diag_site site = {
        .code = "nrrd-quantized", .span = nrrd->layout->span, .stage = nrrd->layout->site};
    ts_text_escape(low, sizeof low, nrrd->old_min ? nrrd->old_min : "?");
    ts_text_escape(high, sizeof high, nrrd->old_max ? nrrd->old_max : "?");
    ts_diag_warning(nrrd->diag, &site,
                    "%s says that its values were quantized from the range %s to %s: they are read "
                    "as they are stored",
                    nrrd->layout->path, low, high);
}

/* Warns of axes whose spacing is nan or 0, if that of other axes is known. */
static void warn_of_spacings(const struct nrrd *nrrd)
{
    const struct volume_layout *layout = nrrd->layout;
    const struct diag_site site = {
        .code = "nrrd-spacing", .span = layout->span, .stage = layout->site};
    char axes[8] = "";
    int n = 0;
    for (int d = 0; d < nrrd->rank && nrrd->has_spacings; d++)
        if (!(layout->spacing[d] > 0)) {
            snprintf(axes + strlen(axes), sizeof axes - strlen(axes), "%s%c", n ? ", " : "",
                     "xyz"[d]);
            n++;
        }
    if (n > 0 && n < nrrd->rank)
        ts_diag_warning(
            nrrd->diag, &site,
            "%s states no spacing along %s: lengths along %s are counted in pixels, not in mm",
            layout->path, axes, n == 1 ? "it" : "them");
}

/* Warns if the ends of an axis (`axis mins`, `axis maxs`) give a different spacing than the one
   that is used. If `centers` does not say whether they are edges or middles, both spacings are
   accepted. */
static void warn_of_ends(const struct nrrd *nrrd)
{
    const struct volume_layout *layout = nrrd->layout;
    const struct diag_site site = {
        .code = "nrrd-spacing", .span = layout->span, .stage = layout->site};
    for (int d = 0; d < nrrd->rank && nrrd->has_ends[0] && nrrd->has_ends[1]; d++) {
        const double n = (double)layout->n[d], used = layout->spacing[d],
                     length = fabs(nrrd->ends[1][d] - nrrd->ends[0][d]);
        const double cells = length / n, nodes = n > 1 ? length / (n - 1) : used;
        const bool by_cells = nrrd->centers[d] != 'n' && fabs(cells - used) <= SAME_SPACING * used,
                   by_nodes = nrrd->centers[d] != 'c' && fabs(nodes - used) <= SAME_SPACING * used;
        if (!(used > 0 && length > 0) || by_cells || by_nodes)
            continue;
        ts_diag_warning(nrrd->diag, &site,
                        "%s has a spacing of %.6g mm along %c, which is used, and its 'axis mins' "
                        "and 'axis maxs' say %.6g mm",
                        layout->path, used, "xyz"[d], nrrd -> centers[d] == 'n' ? nodes : cells);
        return;
    }
}

/* Warns of axes that are named x, y and z but are in a different order from that in which they are
   read. */
static void warn_of_labels(const struct nrrd *nrrd)
{
    const struct volume_layout *layout = nrrd->layout;
    const struct diag_site site = {
        .code = "nrrd-labels", .span = layout->span, .stage = layout->site};
    char shown[128];
    int other = 0;
    const char *at = nrrd->labels ? nrrd->labels : "";
    for (int d = 0; d < nrrd->rank && (at = strchr(at, '"')) != NULL; d++) {
        const char *name = at + 1, *end = strchr(name, '"');
        if (!end)
            break;
        const char letter = end == name + 1 ? (char)tolower((unsigned char)*name) : '\0';
        other += letter >= 'x' && letter <= 'z' && letter != "xyz"[d];
        at = end + 1;
    }
    if (other == 0)
        return;
    ts_text_escape(shown, sizeof shown, nrrd->labels);
    ts_diag_warning(nrrd->diag, &site,
                    "%s labels its axes %s, and they are read as x, y and z: the first axis of the "
                    "file is x, whose values follow each other",
                    layout->path, shown);
}

/* Returns true if x, y and z of the file are those of its space, so that its spacings are, too. */
static bool is_upright(const struct nrrd *nrrd)
{
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < 3; i++)
            if (i == d ? nrrd->directions[d][i] < 0 : nrrd->directions[d][i] != 0)
                return false;
    return true;
}

/* Warns of what the header says of the volume's place and orientation, if its space is not that of
   a patient. */
static void warn_of_place(const struct nrrd *nrrd)
{
    const struct volume_layout *layout = nrrd->layout;
    const struct diag_site site = {
        .code = "nrrd-place", .span = layout->span, .stage = layout->site};
    const bool left = nrrd->space && !strcmp(nrrd->space, "3D-left-handed");
    const char *lost = nrrd->has_origin ? "its 'space origin' is" : "its 'space directions' are";
    if (nrrd->has_origin && nrrd->has_directions)
        lost = "its 'space origin' and 'space directions' are";
    if (nrrd->negative)
        ts_diag_warning(nrrd->diag, &site,
                        "%s has a negative spacing: it is read in the order of the file, with the "
                        "spacing's amount",
                        layout->path);
    if (layout->has_transform || (nrrd->rank == 2 && is_upright(nrrd)) ||
        !(nrrd->has_origin || left || (nrrd->has_directions && !is_upright(nrrd)) ||
          (nrrd->has_directions && nrrd->patient)))
        return;
    if (nrrd->patient) {
        ts_diag_warning(nrrd->diag, &site,
                        "%s has no '%s': %s not used, and it has no place in the patient",
                        layout->path, nrrd->has_origin ? "space directions" : "space origin", lost);
        return;
    }
    if (nrrd->has_origin || nrrd->has_directions)
        ts_diag_warning(nrrd->diag, &site,
                        "%s %s%s%s, whose axes need not be those of a patient: %s used for the "
                        "spacings only, and it may be mirrored or turned",
                        layout->path, nrrd->space ? "lies in the space '" : "names no space",
                        nrrd->space ? nrrd->space : "", nrrd->space ? "'" : "", lost);
    else
        ts_diag_warning(nrrd->diag, &site, "%s lies in the space '%s': it may be mirrored",
                        layout->path, nrrd->space);
    ts_diag_hint(nrrd->diag,
                 "where these are the axes of a patient, name them in its header: `space: "
                 "left-posterior-superior`, `right-anterior-superior` or `left-anterior-superior`");
}

static void take_geometry(const struct nrrd *nrrd)
{
    struct volume_layout *layout = nrrd->layout;
    for (int d = 0; nrrd->has_directions && d < 3; d++)
        layout->spacing[d] = ts_length(nrrd->directions[d]);
    layout->has_transform = nrrd->has_directions && nrrd->patient && nrrd->has_origin;
    layout->unplaced_hint =
        "in Python: nrrd.write('NEW.nrrd', nrrd.read('FILE')[0]), and then input: {nrrd: "
        "NEW.nrrd}, has its values without place and spacings; the package is pynrrd";
    for (int i = 0; i < 3 && layout->has_transform; i++) {
        for (int d = 0; d < 3; d++)
            layout->transform[i][d] = nrrd->signs[i] * nrrd->directions[d][i];
        layout->transform[i][3] = nrrd->signs[i] * nrrd->origin[i];
    }
}

/* Opens the file of the values, if that is another one, and finds where they begin. */
static enum ts_status find_values(struct nrrd *nrrd, const struct param_set *set)
{
    struct volume_layout *layout = nrrd->layout;
    const enum ts_status status = ts_header_find_values(layout, &nrrd->header, set, nrrd->diag);
    if (status != TS_OK)
        return status;
    return layout->gzip && !ts_gzip_is(layout->fd, layout->start)
               ? ts_volume_refuse(layout, "nrrd-encoding", nrrd->diag,
                                  "says gzip, and its values are not")
               : TS_OK;
}

static enum ts_status open_nrrd(const struct param_set *set, struct source **source,
                                struct ts_diag *diag)
{
    const struct nrrd_params *params = set->values;
    struct volume_layout layout;
    struct nrrd nrrd = {.layout = &layout, .diag = diag};
    enum ts_status status = ts_volume_open(&layout, set, params->nrrd, diag);
    if (status == TS_OK)
        status = read_header(&nrrd);
    if (status == TS_OK)
        status = check_fields(&nrrd);
    if (status == TS_OK) {
        if (nrrd.old_min || nrrd.old_max)
            warn_of_range(&nrrd);
        take_geometry(&nrrd);
        warn_of_place(&nrrd);
        warn_of_spacings(&nrrd);
        warn_of_ends(&nrrd);
        warn_of_labels(&nrrd);
        status = find_values(&nrrd, set);
    }
    layout.quantity = (enum ts_quantity)params->quantity;
    layout.labels = nrrd.segments && !nrrd.fractions;
    if (status == TS_OK)
        status = ts_header_use_own(&layout, &nrrd.header, ts_volume_quantity_given(set), diag);
    return ts_volume_source_take(&layout, status, source, diag);
}

const struct source_format nrrd_format = {
    .name = "nrrd",
    .summary = "a volume in a NRRD file",
    .params = nrrd_params,
    .n_params = sizeof nrrd_params / sizeof nrrd_params[0],
    .params_bytes = sizeof(struct nrrd_params),
    .open = open_nrrd,
    .resolve = ts_volume_resolve,
};
