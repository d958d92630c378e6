/* SPDX-License-Identifier: Apache-2.0
 *
 * Every element of a header is looked up here, and most are in no row: the tags are sorted, so that
 * a bisection of a few steps decides.
 */
#include "io/dicom_header/dicom_fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "io/dicom_header/dicom_parse.h"

/* ---- known ----------------------------------------------------------------------------------- */

/* The lists are searched one by one: a text is looked up once for a series whose slices agree, so
 * that no index is worth its lines. Values are compared without regard to the case of letters and
 * to spaces at their ends, since vendors write "GE MEDICAL SYSTEMS" and "GE Medical Systems". */

/* clang-format off */
const char *const ts_dicom_image_types[] = {
    "", "ORIGINAL", "DERIVED", "PRIMARY", "SECONDARY", "AXIAL", "LOCALIZER", "OTHER", "MPR", "MIP", "CPR", "MIXED",
    "NONE", "M", "P", "R", "I", "M_FFE", "P_FFE", "R_FFE", "I_FFE", "FFE", "M_SE", "M_IR", "R_IR", "SE", "IR",
    "PHASE MAP", "FIELD MAP", "DOSE_INFO", "PATIENT_INFO", "RESULTS", "T1 MAP", "T2 MAP", "T2 STAR MAP", "B0 MAP", "T1",
    "T2", "T2_STAR", "PROTON_DENSITY", "DIFFUSION", "DIFFUSION_ANISO", "TRACEW", "ADC", "FA", "PERFUSION", "RCBF",
    "RCBV", "MTT", "TTP", "ND", "NORM", "DIS2D", "DIS3D", "DFC", "FM", "FIL", "MOSAIC", "MFSPLIT", "MAGNITUDE", "PHASE",
    "REAL", "IMAGINARY", "FMRI", "EPI", "ADD", "SUB", "SUM", "MEAN", "REFORMATTED", "RESAMPLED", "VOLUME", "STATIC",
    "DYNAMIC", "GATED", "EMISSION", "TRANSMISSION", "WHOLE BODY", "PROJECTION IMAGE", "RECON", "RECON TOMO", "TOMO",
    "REF_SURVIEW", "SURVIEW", "SCOUT", "HELIX", "HELIXFROMSURVIEW", "CT_SOM5 MON", "CT_SOM5 SEQ", "CT_SOM5 SPI",
    "CT_SOM5 TOP", "CT_SOM7 SEQ", "CT_SOM7 SPI", "CSA MPR", "CSA REFORMATTED", "CSA PARALLEL", "CSA RESAMPLED",
    "NORMAL", "CINE", "ANGIO", "VELOCITY", "WATER", "FAT", "DIXON", "IN_PHASE", "OUT_PHASE", "IP", "OP", "AVERAGE",
    "OPP_PHASE", "OPPOSED_PHASE", "INPHASE",
    "OUTPHASE", "W", "F", "FF", "FAT_FRACTION", "WATER_FRACTION", "R1", "R2", "R2_STAR", "T1_MAP", "T2_MAP",
    "T2_STAR_MAP", "B0_MAP", "ISOTROPIC", "EADC", "EXP_ADC", "COLFA", "PHASE CONTRAST", "VELOCITY MAP", "IODINE_MAP",
    "VNC", "VMI", "MONO", "Z_EFF", "EFF_ATOMIC_NUM", "ELECTRON_DENSITY", "MAT_SPECIFIC", "MAT_REMOVED",
    "MAT_FRACTIONAL", "MAT_MODIFIED", "MAT_VALUE_BASED", "GSP", "SINGLEPLANE", "BIPLANE A", "BIPLANE B", "MINIP", "MAX_IP", NULL};

const char *const ts_dicom_modalities[] = {
    "AR", "BI", "BMD", "CR", "CT", "DX", "EPS", "ES", "GM", "IO", "IVOCT", "IVUS", "KER", "LEN", "MG", "MR", "NM",
    "OAM", "OCT", "OP", "OPM", "OPT", "OPTBSV", "OPTENF", "OPV", "OT", "PT", "PX", "RF", "RG", "RTDOSE", "RTIMAGE",
    "SC", "SEG", "SM", "SRF", "US", "VA", "XA", "XC", NULL};

static const char *const dicom_manufacturers[] = {
    "ACUSON", "ADAC", "Agfa", "Agfa-Gevaert", "Agfa-Gevaert AG", "Agfa HealthCare", "Bruker", "Bruker BioSpin",
    "Bruker BioSpin MRI GmbH", "BrainLAB", "Canon", "CANON_MEC", "Canon Medical Systems",
    "Canon Medical Systems Corporation", "Carestream", "Carestream Health", "CPS", "CTI", "Elekta", "Elscint", "ESAOTE",
    "FONAR", "Fuji", "FUJI PHOTO FILM CO. LTD.", "FUJI PHOTO FILM Co., ltd.", "FUJIFILM", "FUJIFILM Corporation",
    "FUJIFILM Healthcare Corporation", "GE", "GE HEALTHCARE", "GE HealthCare", "GE MEDICAL SYSTEMS",
    "GE Medical Systems Israel", "G.E. Medical Systems", "General Electric", "GEMS", "Hitachi",
    "Hitachi Medical Corporation", "Hitachi Healthcare Americas", "Hitachi, Ltd.", "Hologic", "Hologic, Inc.",
    "Hyperfine", "Imaging Sciences International", "Imatron", "Kodak", "Konica Minolta", "Lodox",
    "Marconi Medical Systems", "Marconi Medical Systems, Inc.", "Mediso", "MEDISO", "Mediso Medical Imaging Systems",
    "MILabs", "MIM Software Inc.", "Neurologica", "NeuroLogica", "Neusoft", "Paramed", "Philips", "Philips Healthcare",
    "Philips Medical Systems", "Philips Medical Systems, Inc.", "Picker", "Picker International",
    "Picker International, Inc.", "Planmeca", "PMOD Technologies", "Rayscan", "Resonance Research", "Samsung",
    "Samsung Electronics", "SAMSUNG MEDISON", "Scanco", "SCANCO Medical AG", "Shimadzu", "SHIMADZU CORPORATION",
    "SIEMENS", "SIEMENS / MIM Software", "Siemens Healthcare", "Siemens HealthCare GmbH", "Siemens Healthineers",
    "Siemens Medical Systems", "Sirona", "SkyScan", "SOREDEX", "TomoTherapy", "TomoTherapy Incorporated", "Toshiba",
    "TOSHIBA_MEC", "TOSHIBA MEDICAL SYSTEMS", "UIH", "United Imaging", "United Imaging Healthcare", "Varian",
    "Varian Medical Systems", "Vatech", "ViewRay", "Xoran", NULL};

static const char *const dicom_models[] = {
    /* General Electric */
    "BrightSpeed", "BrightSpeed Elite", "BrightSpeed QX/i", "BrightSpeed S", "CT/e Plus", "Discovery 690",
    "Discovery 710", "Discovery CT590 RT", "Discovery CT750 HD", "Discovery IQ", "Discovery LS", "Discovery MI",
    "DISCOVERY MR450", "DISCOVERY MR750", "DISCOVERY MR750w", "Discovery NM/CT 670", "Discovery RX", "Discovery ST",
    "Discovery STE", "GENESIS_SIGNA", "GENESIS_ZEUS", "HiSpeed", "HiSpeed CT/i", "HiSpeed Dual", "HiSpeed NX/i",
    "LightSpeed Plus", "LightSpeed Power", "LightSpeed Pro 16", "LightSpeed Pro 32", "LightSpeed QX/i", "LightSpeed RT",
    "LightSpeed RT16", "LightSpeed Ultra", "LightSpeed VCT", "LightSpeed Xtra", "LightSpeed16", "MILLENNIUM MG",
    "MILLENNIUM VG", "Optima CT520", "Optima CT540", "Optima CT580", "Optima CT660", "Optima MR360", "Optima MR450w",
    "Revolution CT", "Revolution EVO", "Revolution HD", "Revolution Apex", "SIGNA Architect", "SIGNA Artist",
    "SIGNA Creator", "SIGNA EXCITE", "SIGNA Explorer", "SIGNA HDe", "SIGNA HDx", "SIGNA HDxt", "SIGNA Hero",
    "SIGNA PET/MR", "SIGNA Pioneer", "SIGNA Premier", "SIGNA Voyager", "SIGNA UHP",
    /* Siemens */
    "Aera", "Allegra", "Avanto", "Avanto_fit", "Biograph", "Biograph128", "Biograph16", "Biograph40", "Biograph64",
    "Biograph6", "Biograph_mMR", "Biograph20", "Biograph128_Vision 600 Edge", "Biograph128_mCT", "Emotion", "Emotion 6",
    "Emotion 16", "Emotion Duo", "Espree", "Investigational_Device_7T", "MAGNETOM Aera", "MAGNETOM Altea",
    "MAGNETOM Amira", "MAGNETOM Avanto", "MAGNETOM Cima.X", "MAGNETOM ESSENZA", "MAGNETOM Lumina", "MAGNETOM Prisma",
    "MAGNETOM Skyra", "MAGNETOM Sola", "MAGNETOM Terra", "MAGNETOM Terra.X", "MAGNETOM Vida", "NAEOTOM Alpha",
    "Perspective", "Prisma", "Prisma_fit", "Sensation 10", "Sensation 16", "Sensation 4", "Sensation 40",
    "Sensation 64", "Sensation Open", "SIEMENS PET/CT", "Skyra", "Skyra_fit", "SOMATOM Confidence",
    "SOMATOM Definition", "SOMATOM Definition AS", "SOMATOM Definition AS+", "SOMATOM Definition Edge",
    "SOMATOM Definition Flash", "SOMATOM Drive", "SOMATOM Edge Plus", "SOMATOM Force", "SOMATOM go.All",
    "SOMATOM go.Now", "SOMATOM go.Sim", "SOMATOM go.Top", "SOMATOM go.Up", "SOMATOM Perspective", "SOMATOM PLUS 4",
    "SOMATOM Scope", "SOMATOM X.cite", "Sonata", "SonataVision", "Spirit", "Symphony", "SymphonyTim", "SymphonyVision",
    "Trio", "TrioTim", "Verio", "Verio_Dot", "Volume Zoom",
    /* Philips */
    "Achieva", "Achieva dStream", "Allegro Body(C)", "Ambition X", "AcQSim CT", "Brilliance 10", "Brilliance 16",
    "Brilliance 16P", "Brilliance 40", "Brilliance 6", "Brilliance 64", "Brilliance Big Bore", "Eclipse 1.5T",
    "GEMINI TF Big Bore", "GEMINI TF TOF 16", "GEMINI TF TOF 64", "Gyroscan Intera", "Gyroscan NT", "Guardian Body(C)",
    "iCT 128", "iCT 256", "IQon - Spectral CT", "CT 7500", "Spectral CT", "Incisive CT", "Ingenia",
    "Ingenia Ambition X", "Ingenia CX", "Ingenia Elition S", "Ingenia Elition X", "Ingenuity CT", "Ingenuity Core",
    "Ingenuity TF PET/CT", "Ingenuity TF PET/MR", "Intera", "Mx8000", "Mx8000 IDT", "Mx8000 IDT 16", "Panorama HFO",
    "Precedence 16P", "Vereos PET/CT",
    /* Canon, Toshiba, Hitachi, United Imaging and others */
    "Alexion", "Aquilion", "Aquilion LB", "Aquilion Lightning", "Aquilion ONE", "Aquilion PRIME", "Aquilion Prime SP",
    "Aquilion Precision", "Aquilion RXL", "Aquilion/LB", "Activion16", "Asteion", "Asteion VP", "Asteion/Multi",
    "Xpress/GX", "Xvision/EX", "Titan", "MRT200SP3", "MRT200PP3", "MRT50H1", "Vantage Galan", "Vantage Orian",
    "Vantage Titan", "AIRIS", "AIRIS II", "Echelon", "ECHELON Oval", "ECLOS", "OASIS", "ROBUSTO", "Scenaria",
    "SCENARIA View", "Supria", "uCT 510", "uCT 530", "uCT 550", "uCT 760", "uCT 780", "uCT 960+", "uEXPLORER",
    "uMI 510", "uMI 550", "uMI 780", "uMI Panorama", "uMR 560", "uMR 570", "uMR 580", "uMR 680", "uMR 770", "uMR 780",
    "uMR 790", "uMR 880", "uMR 890", "uPMR 790", "BodyTom", "CereTom", "OmniTom", "C150", "Hi-ART", "Swoop", "CT/i",
    "BioSpec 70/20", "BioSpec 94/20", "PharmaScan 70/16", "SkyScan 1276", "XtremeCT", "XtremeCT II", NULL};

static const char *const dicom_body_parts[] = {
    "ABDOMEN", "ABDOMENPELVIS", "ABDOMEN_PELVIS", "ADRENAL", "ANKLE", "AORTA", "ARM", "BLADDER", "BODY", "BRAIN",
    "BREAST", "BRONCHUS", "CALF", "CAROTID", "CEREBELLUM", "CERVIX", "CHEST", "CHESTABDOMEN", "CHESTABDPELVIS",
    "CLAVICLE", "COCCYX", "COLON", "COMMONCAROTID", "CORONARY", "CORONARYARTERY", "CSPINE", "CTSPINE", "EAR", "ELBOW",
    "ESOPHAGUS", "EXTREMITY", "EYE", "FACE", "FEMUR", "FINGER", "FOOT", "FOREARM", "HAND", "HEAD", "HEADNECK", "HEART",
    "HIP", "HUMERUS", "JAW", "KIDNEY", "KNEE", "LEG", "LIVER", "LSPINE", "LSSPINE", "LUNG", "MAXILLA", "NECK",
    "NECKCHEST", "NOSE", "ORBIT", "PANCREAS", "PELVIS", "PHANTOM", "PROSTATE", "RECTUM", "RIB", "SACRUM", "SHOULDER",
    "SINUS", "SKULL", "SPINE", "SPLEEN", "STERNUM", "STOMACH", "THIGH", "THORAX", "THUMB", "THYROID", "TLSPINE",
    "TMJOINT", "TOE", "TRUNK", "TSPINE", "UTERUS", "WHOLE BODY", "WHOLEBODY", "WHOLESPINE", "WRIST", NULL};

static const char *const dicom_sequences[] = {
    "SE", "IR", "GR", "EP", "RM", "SK", "MTC", "SS", "TRSS", "SP", "MP", "OSP", "TOF", "NONE", "OTHER", "1D", "2D",
    "3D", "DIRECTIONAL", "BMATRIX", "ISOTROPIC", NULL};

static const char *const dicom_scan_options[] = {
    "PER", "RG", "CG", "PPG", "FC", "PFF", "PFP", "SP", "FS", "CT", "WE", "NONE", "OTHER", "HELICAL MODE", "AXIAL MODE",
    "SCOUT MODE", "CINE MODE", "AXIAL", "HELIX", "HELICAL", "SURVIEW", "SCANOSCOPE", "SEQUENCED", "SPIRAL",
    "CONSTANT_ANGLE", "STATIONARY", "FREE", "VB_GEMS", "EPI_GEMS", "EDR_GEMS", "ACC_GEMS", "FAST_GEMS",
    "HYPERBAND_GEMS", "SQUARE_PIXEL_GEMS", "FILTERED_GEMS", "SAT_GEMS", "SAT1", "SAT2", "IR", "DIXON", NULL};

static const char *const dicom_nuclei[] = {
    "1H", "H", "H1", "3HE", "7LI", "13C", "19F", "23NA", "31P", "129XE", NULL};

static const char *const dicom_bodies[] = {"BIPED", "QUADRUPED", NULL};

static const char *const dicom_directions[] = {
    "CW", "CC", "ROW", "COL", "COLUMN", "OTHER", NULL};

static const char *const dicom_filters[] = {
    "NONE", "STRIP", "WEDGE", "BUTTERFLY", "MULTIPLE", "FLAT", "SHAPED", "BODY FILTER", "HEAD FILTER", "MEDIUM FILTER",
    "LARGE BOWTIE FIL", "SMALL", "MEDIUM", "LARGE", "WEDGE_2", "WEDGE_3", "UB", "UA", "UC", "B", "C", NULL};

static const char *const dicom_positions[] = {
    "HFP", "HFS", "HFDR", "HFDL", "FFDR", "FFDL", "FFP", "FFS", "LFP", "LFS", "RFP", "RFS", "AFDR", "AFDL", "PFDR",
    "PFDL", NULL};

const char *const ts_dicom_photometric[] = {
    "MONOCHROME1", "MONOCHROME2", "PALETTE COLOR", "RGB", "YBR_FULL", "YBR_FULL_422", "YBR_PARTIAL_420", "YBR_ICT",
    "YBR_RCT", "HSV", "ARGB", "CMYK", "XYB", NULL};

const char *const ts_dicom_units[] = {
    "HU", "US", "OD", "OD REL", "HU_MOD", "MGML", "PCT", "Z_EFF", "ED", "EDW", "MG/ML", "normalized", "CNTS", "NONE",
    "CM2", "PCNT", "CPS", "BQML", "MGMINML", "UMOLMINML", "MLMING", "MLG", "1CM", "UMOLML", "PROPCNTS", "PROPCPS",
    "MLMINML", "MLML", "GML", "STDDEV", "SUV", "CM2ML", "ms", "s", "us", "1/s", "1/ms", "s-1", "mm2/s", "mm^2/s",
    "10^-3 mm2/s", "10^-3 mm^2/s", "10^-6 mm2/s", "10^-6 mm^2/s", "um2/s", "um2/ms", "um^2/ms", "%", "percent", "ppm",
    "ppb", "Hz", "rad", "mrad", "milliradials", "rad/s", "deg", "degree", "cm/s", "mm/s", "m/s", "Pa", "kPa", "T", "mT", "uT", "mm", "ml/100g",
    "ml/100g/min", "ml/100ml", "ml/100ml/min", "ml/g/min", "mg/l", "mmol/l", "a.u.", NULL};

const char *const ts_dicom_pet[] = {
    "STATIC", "DYNAMIC", "GATED", "WHOLE BODY", "IMAGE", "REPROJECTION", "EMISSION", "TRANSMISSION", "NONE", "START",
    "ADMIN", "DLYD", "SING", NULL};

const char *const ts_dicom_corrections[] = {
    "DECY", "ATTN", "SCAT", "DTIM", "MOTN", "PMOT", "CLEN", "RAN", "RADL", "DCAL", "NORM", "SLSENS", NULL};

static const char *const dicom_doses[] = {
    "PHYSICAL", "EFFECTIVE", "ERROR", "PLAN", "MULTI_PLAN", "PLAN_OVERVIEW", "FRACTION", "BEAM", "BRACHY",
    "FRACTION_SESSION", "BEAM_SESSION", "BRACHY_SESSION", "CONTROL_POINT", "RECORD", NULL};
/* clang-format on */

static bool is_known(const char *const *list, const char *text, size_t length)
{
    for (; *list; list++)
        if (strlen(*list) == length && strncasecmp(*list, text, length) == 0)
            return true;
    return false;
}

const char *ts_dicom_known(const char *const *list, const char *text)
{
    return is_known(list, text, strlen(text)) ? text : DICOM_UNRECOGNIZED;
}

const char *ts_dicom_known_uid(const char *uid)
{
    return uid[strspn(uid, "0123456789.")] ? DICOM_UNRECOGNIZED : uid;
}

void ts_dicom_keep_known(const char *const *list, const char *text, char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    while (at < size) {
        size_t length = strcspn(text, "\\"), kept = length;
        while (kept > 0 && text[kept - 1] == ' ')
            kept--;
        const bool known = is_known(list, text, kept);
        const int n = snprintf(out + at, size - at, "%.*s%s",
                               known ? (int)kept : (int)strlen(DICOM_UNRECOGNIZED),
                               known ? text : DICOM_UNRECOGNIZED, text[length] ? "\\" : "");
        at += (size_t)n;
        if (!text[length])
            return;
        text += length + 1;
    }
}

/* ---- fields ---------------------------------------------------------------------------------- */

enum { VALUE_BYTES = 256 };

#define READ DICOM_PLACE_LIST, 0
#define IN_FILE(member) DICOM_PLACE_FILE, offsetof(struct dicom_file, member)
#define IN_IMAGE(member) DICOM_PLACE_IMAGE, offsetof(struct dicom_image, member)

const struct dicom_field_row ts_dicom_fields[DICOM_FIELDS] = {
#define FIELD(group, element, name, key, scale, unit, most, kind, where, known, action, reason)    \
    {DICOM_TAG(group, element), #name, key,   scale,  unit,  most,                                 \
     DICOM_FIELD_##kind,        where, known, action, reason},
#define ALIAS(group, element, name, kind)
#include "io/dicom_header/dicom_fields.def"
};

/* This lists the tags in rising order, each with its field and the kind of its values. */
static const struct tag_row {
    uint32_t tag;
    enum dicom_field field;
    enum dicom_field_kind kind;
} tags[] = {
#define FIELD(group, element, name, key, scale, unit, most, kind, ...)                             \
    {DICOM_TAG(group, element), DICOM_FIELD_##name, DICOM_FIELD_##kind},
#define ALIAS(group, element, name, kind)                                                          \
    {DICOM_TAG(group, element), DICOM_FIELD_##name, DICOM_FIELD_##kind},
#include "io/dicom_header/dicom_fields.def"
};

static const struct tag_row *dicom_fields_find(uint32_t tag)
{
    size_t low = 0, high = sizeof tags / sizeof *tags;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (tags[middle].tag == tag)
            return &tags[middle];
        if (tags[middle].tag < tag)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool ts_dicom_field_is_number(enum dicom_field field)
{
    return ts_dicom_fields[field].kind <= DICOM_FIELD_BINARY;
}

/* Returns true if the number of the field tells images apart, says how thick slices are or when
 * they were made. */
static bool tells(enum dicom_field field)
{
    static const enum dicom_field telling[] = {
        DICOM_FIELD_slice_thickness, DICOM_FIELD_tube_voltage, DICOM_FIELD_repetition_time,
        DICOM_FIELD_inversion_time,  DICOM_FIELD_echo_number,  DICOM_FIELD_flip_angle,
        DICOM_FIELD_frame_duration,  DICOM_FIELD_decay_factor};
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++)
        if (telling[i] == field)
            return true;
    return false;
}

/* Reads the bytes as the row's kind. Returns false if they are not of that kind. */
static bool parse(const struct tag_row *row, const struct dicom_element *element, const char *bytes,
                  size_t length, bool big_endian, struct scan *scan, struct dicom_value *value)
{
    if (!ts_dicom_field_is_number(row->field)) {
        ts_dicom_trim(&bytes, &length);
        if (length == 0 || !ts_dicom_is_text_vr(element->vr))
            return false;
        value->text = ts_arena_text(scan->arena, bytes, length);
        if (!value->text)
            ts_dicom_refuse(scan, "no-memory", "memory is out");
        return value->text != NULL;
    }
    const char *end = ts_dicom_is_text_vr(element->vr) && row->kind == DICOM_FIELD_NUMBER
                          ? memchr(bytes, '\\', length)
                          : NULL; /* the first of several */
    const struct dicom_field_row *field = &ts_dicom_fields[row->field];
    const size_t first = end ? (size_t)(end - bytes) : length;
    const bool binary = row->kind == DICOM_FIELD_BINARY;
    value->number = ts_dicom_parse_number(bytes, first, element->vr, binary, big_endian);
    if (ts_dicom_is_no_number(bytes, first, element->vr, binary, big_endian))
        ts_dicom_note_unread(scan, element, field->key ? field->key : field->name, bytes, length,
                             tells(row->field), 0);
    return isfinite(value->number);
}

void ts_dicom_take_field(struct scan *scan, const struct dicom_element *element, bool big_endian)
{
    const struct tag_row *row = dicom_fields_find(element->tag);
    char bytes[VALUE_BYTES];
    if (!row || ts_dicom_fields[row->field].place != DICOM_PLACE_LIST || element->length == 0)
        return;
    const size_t length = element->length < sizeof bytes ? element->length : sizeof bytes;
    struct dicom_value parsed = {.field = row->field, .next = ts_dicom_current_image(scan)->values};
    if (!ts_dicom_read(&scan->reader, element->offset, bytes, length) ||
        !parse(row, element, bytes, length, big_endian, scan, &parsed))
        return;
    struct dicom_value *value = ts_arena_copy(scan->arena, &parsed, 1, sizeof parsed);
    if (!value)
        ts_dicom_refuse(scan, "no-memory", "memory is out");
    else
        ts_dicom_current_image(scan)->values = value;
}

static const struct dicom_value *newest(const struct dicom_image *image, enum dicom_field field)
{
    const struct dicom_value *value = image->values;
    while (value && value->field != field)
        value = value->next;
    return value;
}

/* Returns the member that holds the field; NULL if a list does. */
static const void *member(const struct dicom_image *image, enum dicom_field field)
{
    const struct dicom_field_row *row = &ts_dicom_fields[field];
    const char *base =
        row->place == DICOM_PLACE_FILE ? (const char *)image->file : (const char *)image;
    return row->place == DICOM_PLACE_LIST ? NULL : base + row->offset;
}

void ts_dicom_field_mark(const struct dicom_image *image, bool present[DICOM_FIELDS])
{
    for (int field = 0; field < DICOM_FIELDS; field++)
        present[field] |= ts_dicom_fields[field].place != DICOM_PLACE_LIST;
    for (const struct dicom_value *value = image->values; value; value = value->next)
        present[value->field] = true;
}

double ts_dicom_field_believed(enum dicom_field field, double number)
{
    return fabs(number) <= ts_dicom_fields[field].most ? number : NAN;
}

double ts_dicom_field_number(const struct dicom_image *image, enum dicom_field field)
{
    const double *held = member(image, field);
    const struct dicom_value *value = held ? NULL : newest(image, field);
    if (held)
        return *held;
    return value ? value->number : NAN;
}

const char *ts_dicom_field_text(const struct dicom_image *image, enum dicom_field field)
{
    const char *held = member(image, field);
    const struct dicom_value *value = held ? NULL : newest(image, field);
    if (held)
        return held;
    return value && value->text ? value->text : "";
}
