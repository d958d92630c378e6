/* SPDX-License-Identifier: Apache-2.0
 *
 * Value 3 of Image Type or Frame Type is the kind of an image, and always makes a series of its
 * own. The values behind it name maps that were computed of several images, such as ADC or FAT, and
 * much else that says nothing of what is shown: only the names below count. Source: DICOM PS3.3
 * C.8.13.3.1.1 and C.8.15.3.1.1 (Frame Type), C.8.2.1.1.1 (Image Type of multi-energy CT); the
 * conformance statements of GE, Philips and Siemens.
 */
#include "io/dicom_header/dicom_kind.h"
#include "io/dicom_header/dicom_fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_VALUES = 6 };

/* Copies a text and cuts it to its field. */
static void copy_code(const char *text, size_t length, char out[DICOM_CODE_MAX])
{
    snprintf(out, DICOM_CODE_MAX, "%.*s", (int)length, text);
}

/* Returns value i of a text whose values backslashes divide, and its length; "" if there are fewer.
 */
static const char *value_of(const char *text, int i, size_t *length)
{
    for (; i > 0 && text; i--) {
        text = strchr(text, '\\');
        text = text ? text + 1 : NULL;
    }
    *length = text ? strcspn(text, "\\") : 0;
    return text ? text : "";
}

/* These are the parts of a complex image, as GE numbers them too. */
static const char *const components[] = {"MAGNITUDE", "PHASE", "REAL", "IMAGINARY"};
enum { COMPONENTS = sizeof components / sizeof *components };

const char *ts_dicom_component(const char *text, int first)
{
    for (int i = first; i < first + MAX_VALUES; i++) {
        size_t length;
        const char *value = value_of(text, i, &length);
        for (int k = 0; k < COMPONENTS && length > 0; k++) {
            const size_t whole = strlen(components[k]);
            if ((value[0] == components[k][0] && (length == 1 || value[1] == '_')) ||
                (length >= whole && !strncmp(value, components[k], whole)))
                return components[k];
        }
    }
    return "";
}

/* Sets the part of a complex GE image from its private elements if no standard element states it,
 * or calls the image a field map, in Hz. The map and its magnitude share a type, and differ in the
 * collapse flag (vendor_kind). */
static void name_ge_kind(const struct dicom_file *file, struct dicom_image *image)
{
    static const char *const maps[] = {"B0map", "B0rf", "3db0map"};
    bool map = false;
    if (strcmp(file->modality, "MR") != 0 || *image->component)
        return;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        map |= !strcasecmp(file->ge_sequence, maps[i]);
    if (map && image->ge_type == 0 && image->vendor_kind == 0)
        strcpy(image->kind, "FIELD MAP");
    else
        for (int k = 0; k < COMPONENTS; k++)
            if (image->ge_type == k)
                strcpy(image->component, components[k]);
}

/* Images of MR that are computed of several, by their whole names, and those of multi-energy CT and
 * of perfusion, by the start of theirs. */
static const char *const maps[] = {"ADC",
                                   "EADC",
                                   "EXP_ADC",
                                   "FA",
                                   "COLFA",
                                   "DIFFUSION_ANISO",
                                   "WATER",
                                   "FAT",
                                   "W",
                                   "F",
                                   "IN_PHASE",
                                   "INPHASE",
                                   "IP",
                                   "OPP_PHASE",
                                   "OUT_PHASE",
                                   "OUTPHASE",
                                   "OPPOSED_PHASE",
                                   "OP",
                                   "FAT_FRACTION",
                                   "WATER_FRACTION",
                                   "FF",
                                   "R1",
                                   "R2",
                                   "R2_STAR",
                                   "T1",
                                   "T2",
                                   "T2_STAR",
                                   "T1_MAP",
                                   "T2_MAP",
                                   "T2_STAR_MAP",
                                   "B0_MAP",
                                   "RCBF",
                                   "RCBV",
                                   "MTT",
                                   "TTP",
                                   "PROTON_DENSITY",
                                   NULL};
static const char *const energies[] = {
    "IODINE", "DE_IODINE", "CALCIUM", "URIC",     "WATER",     "FAT",  "MONO",
    "VMI",    "VNC",       "VIRTUAL", "VUE",      "Z_EFF",     "ZEFF", "EFF_",
    "RHO",    "ELECTRON",  "MAT_",    "MATERIAL", "PERFUSION", "RCBF", "RCBV",
    "CBF",    "CBV",       "MTT",     "RMTT",     "TTP",       "TMAX", NULL};

/* Returns the first value of the type, from number `first` on, that names such an image, and its
 * length; "" if none does. */
static const char *find_map(const char *type, int first, bool ct, size_t *length)
{
    const char *const *list = ct ? energies : maps;
    for (int i = first; i < first + MAX_VALUES; i++) {
        const char *value = value_of(type, i, length);
        while (*length > 0 && value[*length - 1] == ' ')
            --*length;
        for (int k = 0; list[k]; k++) {
            const size_t whole = strlen(list[k]);
            if ((ct ? *length >= whole : *length == whole) && !strncasecmp(value, list[k], whole))
                return value;
        }
    }
    *length = 0;
    return "";
}

bool ts_dicom_is_energy(const struct dicom_image *image)
{
    size_t length;
    const char *type = *image->frame_type ? image->frame_type : image->file->image_type;
    find_map(type, 2, true, &length);
    return length > 0;
}

/* Values of these images have a unit, which their names do not tell. All others but those of
 * `rated` are shades of gray, as the parts of a complex image are, but for its phase. */
static const char *const rated[] = {"ADC",
                                    "EADC",
                                    "EXP_ADC",
                                    "FA",
                                    "DIFFUSION_ANISO",
                                    "FAT_FRACTION",
                                    "WATER_FRACTION",
                                    "FF",
                                    "R1",
                                    "R2",
                                    "R2_STAR",
                                    "T1",
                                    "T2",
                                    "T2_STAR",
                                    "RCBF",
                                    "RCBV",
                                    "CBF",
                                    "CBV",
                                    "MTT",
                                    "RMTT",
                                    "TTP",
                                    "TMAX",
                                    "T_MAX",
                                    NULL};

/* Returns true if the value names a map that has a unit. T1, T2 and the like are maps only behind
 * the third value, which names by them how the contrast of an image is weighted. */
static bool is_rated(const char *value, size_t length, int i)
{
    enum { FLAVOR = 2 };
    if (length > 4 && !strncasecmp(value + length - 3, "MAP", 3) && strchr(" _", value[length - 4]))
        return true;
    for (int k = 0; rated[k]; k++)
        if (strlen(rated[k]) == length && !strncasecmp(value, rated[k], length))
            return i > FLAVOR || strncasecmp(value, "T1", 2) * strncasecmp(value, "T2", 2) != 0;
    return false;
}

const char *ts_dicom_map_unit(const struct dicom_image *image)
{
    const char *type = *image->frame_type ? image->frame_type : image->file->image_type;
    const char *maker = ts_dicom_field_text(image, DICOM_FIELD_manufacturer);
    const bool philips = !strncasecmp(maker, "Philips", 7);
    bool map = !strcmp(image->component, "PHASE");
    if (ts_dicom_has_word(type, 2, "FIELDMAPHZ") || !strcmp(image->kind, "FIELD MAP") ||
        (philips && strcmp(image->component, "MAGNITUDE") != 0 &&
         ts_dicom_has_word(type, 2, "B0 MAP")))
        return "Hz";
    for (int i = 2; i < 2 + MAX_VALUES && !map; i++) {
        size_t length;
        const char *value = value_of(type, i, &length);
        map = is_rated(value, length, i);
    }
    return map ? "unknown" : "";
}

/* Returns the flow that Siemens states in the name of a sequence or in (0051,1014), such as
 * "v150ap" in "*fl3d1_v150ap": the velocity and the direction. */
static const char *find_flow(const char *text, size_t *length)
{
    static const char *const directions[] = {"in", "through", "ap", "pa", "rl",
                                             "lr", "fh",      "hf", "si", "is"};
    for (const char *at = strchr(text, 'v'); at; at = strchr(at + 1, 'v')) {
        const size_t digits = strspn(at + 1, "0123456789");
        for (size_t k = 0; digits > 0 && k < sizeof directions / sizeof *directions; k++) {
            *length = 1 + digits + strlen(directions[k]);
            if (!strncmp(at + 1 + digits, directions[k], strlen(directions[k])))
                return at;
        }
    }
    *length = 0;
    return "";
}

/* Returns a part of a direction, without what is rounding, and never -0. */
static double round_part(double part)
{
    const double steps = 100;
    return rint(part * steps) / steps + 0.0;
}

/* Names the direction in which a flow is encoded, and the velocity: by the elements of the
 * standard, of Philips, or of Siemens. */
static void name_velocity(const struct dicom_file *file, struct dicom_image *image)
{
    const double *along = image->velocity_direction, *philips = image->velocity_philips;
    char most[32] = "";
    size_t length;
    if (image->velocity_most > 0)
        snprintf(most, sizeof most, " at %g cm/s", image->velocity_most);
    if (!isnan(along[0] + along[1] + along[2])) {
        snprintf(image->velocity, sizeof image->velocity, "%g %g %g%s", round_part(along[0]),
                 round_part(along[1]), round_part(along[2]), most);
    } else if (fabs(philips[0]) + fabs(philips[1]) + fabs(philips[2]) > 0) {
        snprintf(image->velocity, sizeof image->velocity, "%g %g %g cm/s", philips[0], philips[1],
                 philips[2]);
    } else {
        const char *flow = find_flow(file->flow, &length);
        flow = length > 0 ? flow : find_flow(file->sequence_name, &length);
        snprintf(image->velocity, sizeof image->velocity, "%.*s", (int)length, flow);
    }
}

bool ts_dicom_has_word(const char *text, int first, const char *word)
{
    for (int i = first; i < first + MAX_VALUES; i++) {
        size_t length;
        const char *value = value_of(text, i, &length);
        if (length == strlen(word) && !strncasecmp(value, word, length))
            return true;
    }
    return false;
}

const char *const ts_dicom_labelings[] = {"LABEL", "CONTROL", "M_ZERO_SCAN", NULL};

/* Names how blood was labeled in an image of perfusion: by ASL Context, else by what Philips
 * states, by a value of Image Type, or by a comment that is nothing else. */
static void name_labeling(const char *type, struct dicom_image *image)
{
    const char *context = ts_dicom_field_text(image, DICOM_FIELD_asl_context), *found = "";
    for (int k = 0; !*context && ts_dicom_labelings[k]; k++) {
        const char *word = ts_dicom_labelings[k];
        if (ts_dicom_has_word(image->labeling, 0, word) || ts_dicom_has_word(type, 2, word) ||
            !strcasecmp(image->comment, word))
            found = word;
    }
    context = *context ? context : found;
    copy_code(context, strlen(context), image->labeling);
}

/* Names what the image shows, from its own Frame Type or from the Image Type of the file. Vendors
 * put the part of a complex image there too, since classic images have no attribute for it. */
void ts_dicom_name_kind(const struct dicom_file *file, struct dicom_image *image)
{
    const char *type = *image->frame_type ? image->frame_type : file->image_type, *component = "";
    size_t length;
    const char *kind = value_of(type, 2, &length);
    copy_code(kind, length, image->kind);
    if (!strcmp(file->modality, "MR"))
        component = ts_dicom_component(image->component, 0);
    if (!strcmp(file->modality, "MR") && !*component)
        component = ts_dicom_component(type, 2);
    copy_code(component, strlen(component), image->component);
    name_ge_kind(file, image);
    const bool ct = !strcmp(file->modality, "CT"), mr = !strcmp(file->modality, "MR");
    const char *map = ct || mr ? find_map(type, 3, ct, &length) : "";
    copy_code(map, *map ? length : 0, image->map);
    name_velocity(file, image);
    if (mr)
        name_labeling(type, image);
    image->trigger_ms = isnan(image->trigger_ms) ? image->delay_ms : image->trigger_ms;
    if (isnan(image->cardiac_percent) && isnan(image->trigger_ms))
        image->cardiac_percent = image->cycle_percent; /* a delay in ms says more */
}

bool ts_dicom_is_regions(const char *sop_class)
{
    static const char *const regions[] = {"66.4", "66.7", "481.3", NULL};
    return ts_dicom_is_class(sop_class, regions);
}

const char *ts_dicom_object_noun(const char *sop_class)
{
    static const struct {
        const char *class, *noun; /* the first one that fits names it */
    } objects[] = {{"66.4", "a segmentation"},
                   {"66.7", "a segmentation"},
                   {"481.3", "a structure set"},
                   {"481.5", "a plan of radiotherapy"},
                   {"481.8", "a plan of radiotherapy"},
                   {"481.4", "a record of a radiotherapy"},
                   {"481.6", "a record of a radiotherapy"},
                   {"481.7", "a record of a radiotherapy"},
                   {"481.9", "a record of a radiotherapy"},
                   {"11.", "a presentation state, which says how images are shown"},
                   {"88.59", "a key object selection, which points to images"},
                   {"88.", "a structured report"},
                   {"104.", "a document or a model"},
                   {"9.", "a waveform"},
                   {"66.1", "a registration"},
                   {"66.2", "a list of fiducials"},
                   {"66.3", "a registration"},
                   {"66.5", "a surface"},
                   {"66.6", "a list of tracts"},
                   {"66", "raw data of a scanner"},
                   {"67", "a mapping of values"},
                   {"91.", "a list of annotations"},
                   {"4.2", "a spectrum"}};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (ts_dicom_is_class(sop_class, (const char *const[]){objects[i].class, NULL}))
            return objects[i].noun;
    return NULL;
}
