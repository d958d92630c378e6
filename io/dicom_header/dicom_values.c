/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of wanted elements, and where their values go: to the file, to every image of it, or,
 * inside of the functional groups of a multi-frame file, to one frame. Private elements are known
 * by the text that reserves their block, since a block's number differs from file to file. Source:
 * DICOM PS3.6 (tags), PS3.3 C.7.6.16 (functional groups), PS3.5 7.8 (private elements); the
 * vendors' conformance statements.
 */
#include "io/dicom_header/dicom_values.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "core/vector3.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_parse.h"

enum value_kind {
    VALUE_UID,      /* text that must fit */
    VALUE_TEXT,     /* text, cut at its field */
    VALUE_SHORT,    /* int, from 16 bits; a US or SS by PixelRepresentation is kept as raw bits */
    VALUE_DECIMALS, /* exactly `count` doubles */
    VALUE_INTEGER,  /* int64_t */
    /* a number of any VR as double, which tells images apart or says where they lie; a value that
     * is not one number is noted (ts_dicom_note_unread) */
    VALUE_NUMBER,
    VALUE_ADVICE,   /* the same of a number that is only compared with what the images show */
    VALUE_FIRST,    /* the first of several such numbers */
    VALUE_BINARY,   /* the same, of `count` numbers of a VR that is not text */
    VALUE_INDEXES,  /* up to `count` uint32_t; nothing if there are more */
    VALUE_FLOAT,    /* `count` numbers of VR FL, whatever the encoding says of them */
    VALUE_STORED,   /* one FL or FD as double, which may be infinite or NaN as pixels may */
    VALUE_TIME,     /* TM or DT in seconds; NaN if it is none */
    VALUE_DATETIME, /* DT in seconds of the local clock, as VALUE_TIME, whose zone the image then
                       has */
    VALUE_ZONE,     /* an offset from UTC in seconds; NaN if it is none */
    VALUE_DATE,     /* DA in seconds; NaN if it is none */
    /* Two that only uptake values need, so that nothing is said of one that cannot be read: */
    VALUE_ASIDE,   /* a number of any VR as double; NaN if it is none */
    VALUE_CLOCK,   /* DA, TM or DT in seconds of the local clock, and, of two numbers, its offset
                      from UTC; NaN if it is none */
    VALUE_PLACE,   /* struct dicom_place: where the value lies */
    VALUE_PRESENCE /* bool: the element is there */
};

/* These texts reserve blocks of private elements. */
enum creator {
    PUBLIC,
    SIEMENS_CSA,
    SIEMENS_MR,
    SIEMENS_SDI,
    GE_PARAMETERS,
    GE_ACQUISITION,
    GE_RELATIONSHIP,
    PHILIPS_IMAGING,
    PHILIPS_MR,
    PHILIPS_MR_5,
    UIH_IMAGE,
    PHILIPS_PET,
    GE_PET,
    CREATORS
};
static const char *const creators[CREATORS] = {
    [SIEMENS_CSA] = "SIEMENS CSA HEADER",
    [SIEMENS_MR] = "SIEMENS MR HEADER",
    [SIEMENS_SDI] = "SIEMENS MR SDI 02",
    [GE_PARAMETERS] = "GEMS_PARM_01",
    [GE_ACQUISITION] = "GEMS_ACQU_01",
    [GE_RELATIONSHIP] = "GEMS_RELA_01",
    [PHILIPS_IMAGING] = "Philips Imaging DD 001",
    [PHILIPS_MR] = "Philips MR Imaging DD 001",
    [PHILIPS_MR_5] = "Philips MR Imaging DD 005",
    [UIH_IMAGE] = "Image Private Header",
    [PHILIPS_PET] = "Philips PET Private Group",
    [GE_PET] = "GEMS_PETD_01",
};

struct wanted {
    uint32_t parent; /* the sequence in which the element stands; 0: none */
    enum creator
        creator; /* of a private element, whose `tag` is then without the number of the block */
    uint32_t tag;
    enum value_kind kind;
    const char *name;
    enum target { OF_FILE, OF_IMAGE, OF_SCAN } target; /* the struct that holds the field */
    size_t offset, size; /* the field; size: bytes of a text, count of numbers */
    size_t have; /* offset of the have_ flag in struct dicom_image; 0: none (the file is there) */
};

#define FIELD(field) OF_IMAGE, offsetof(struct dicom_image, field)
#define FLAG(field) offsetof(struct dicom_image, field)
#define TEXT(field) FIELD(field), sizeof(((struct dicom_image *)0)->field), 0
#define FILE_FIELD(field) OF_FILE, offsetof(struct dicom_file, field)
#define FILE_TEXT(field) FILE_FIELD(field), sizeof(((struct dicom_file *)0)->field), 0
#define SCAN_FIELD(field) OF_SCAN, offsetof(struct scan, field)
#define TAG DICOM_TAG

static const struct wanted wanted[] = {
#include "io/dicom_header/dicom_values.def"
};
static const double SAME_SHARE = 1e-6; /* of a number, by which a repeated one is rounded */
static const double SAME_B = 10, SAME_B_SHARE = 0.05; /* s/mm2, and of a b-value */
static const double SAME_COSINE = 0.98, LEAST_LENGTH = 0.1;
enum { WANTED_COUNT = sizeof wanted / sizeof *wanted };
_Static_assert(sizeof wanted / sizeof *wanted <= DICOM_MAX_WANTED,
               "struct scan has a flag for each");

/* Returns the block of a private element, if its creator is noted; else NULL. */
static const struct dicom_block *block_of(const struct scan *scan, uint32_t parent, uint32_t tag)
{
    const uint32_t block = (tag & 0xFFFF0000) | (tag & 0xFFFF) >> 8;
    for (int i = 0; i < scan->n_blocks; i++)
        if (scan->blocks[i].tag == block && scan->blocks[i].parent == parent)
            return &scan->blocks[i];
    return NULL;
}

/* Tools that remove private texts leave the numbers: Philips' weightings are in block 10 then. */
static enum creator guess_creator(uint32_t tag)
{
    if (tag == TAG(0x2001, 0x1003))
        return PHILIPS_IMAGING;
    return tag >= TAG(0x2005, 0x10B0) && tag <= TAG(0x2005, 0x10B2) ? PHILIPS_MR : PUBLIC;
}

/* Returns the creator of a private element's block as the file states it; PUBLIC if it is none of
 * the known ones. */
static enum creator creator_of(const struct scan *scan, uint32_t parent, uint32_t tag)
{
    const struct dicom_block *block = block_of(scan, parent, tag);
    return block ? (enum creator)block->creator : guess_creator(tag);
}

static bool is_private(uint32_t tag)
{
    return tag >> 16 & 1;
}

/* Returns a tag as the table has it: a private one without the number of its block. */
static uint32_t without_block(uint32_t tag)
{
    return is_private(tag) ? tag & 0xFFFF00FF : tag;
}

/* Few elements of a header are wanted, and most are told apart by a hash of their tag. first_row
 * has the row behind which a chain of rows with one hash begins, and next_row the one behind each
 * row, counted from 1; 0 ends a chain. */
enum { HASH_BITS = 9 };
static unsigned char first_row[1 << HASH_BITS], next_row[WANTED_COUNT];
static pthread_once_t indexed = PTHREAD_ONCE_INIT;

static unsigned char *chain_of(uint32_t tag)
{
    return &first_row[(tag * UINT32_C(2654435769)) >> (32 - HASH_BITS)];
}

static void index_rows(void)
{
    for (int i = WANTED_COUNT - 1; i >= 0; i--) {
        unsigned char *chain = chain_of(wanted[i].tag);
        next_row[i] = *chain;
        *chain = (unsigned char)(i + 1);
    }
}

/* Returns the row of an element; -1 if it is not wanted. */
static int dicom_values_find(const struct scan *scan, uint32_t parent, uint32_t tag)
{
    const bool private = is_private(tag);
    const uint32_t wanted_tag = without_block(tag), wanted_parent = without_block(parent);
    pthread_once(&indexed, index_rows);
    int row = *chain_of(wanted_tag);
    if (row == 0)
        return -1;
    const enum creator creator = private ? creator_of(scan, parent, tag) : PUBLIC;
    for (; row > 0 && (!private || creator != PUBLIC); row = next_row[row - 1]) {
        const struct wanted *want = &wanted[row - 1];
        if (want->tag == wanted_tag && want->parent == wanted_parent && want->creator == creator)
            return row - 1;
    }
    return -1;
}

/* Notes which block of private elements a known text reserves, or any text those of Philips. */
static void take_creator(struct scan *scan, const struct dicom_element *element)
{
    char bytes[64];
    const char *text = bytes;
    size_t length = element->length;
    if (length > sizeof bytes || scan->n_blocks == DICOM_MAX_BLOCKS ||
        !ts_dicom_read(&scan->reader, element->offset, bytes, length))
        return;
    ts_dicom_trim(&text, &length);
    int i = PUBLIC + 1;
    while (i < CREATORS &&
           (strlen(creators[i]) != length || memcmp(creators[i], text, length) != 0))
        i++;
    const unsigned group = element->tag >> 16;
    if (i < CREATORS || group == 0x2001 || group == 0x2005)
        scan->blocks[scan->n_blocks++] =
            (struct dicom_block){element->tag, element->parent, i < CREATORS ? i : PUBLIC};
}

bool ts_dicom_has_in(const struct scan *scan, uint32_t parent, uint32_t tag)
{
    const int i = dicom_values_find(scan, parent, tag);
    return i >= 0 && scan->filled[i];
}

bool ts_dicom_has(const struct scan *scan, uint32_t tag)
{
    return ts_dicom_has_in(scan, 0, tag);
}

void ts_dicom_need(struct scan *scan, uint32_t tag)
{
    if (!ts_dicom_has(scan, tag))
        ts_dicom_refuse(scan, "dicom-missing-element", "%s (%04x,%04x) is missing",
                        wanted[dicom_values_find(scan, 0, tag)].name, tag >> 16, tag & 0xFFFF);
}

/* Returns true if the row is of an element of a functional group, whose value is a text or numbers.
 */
static bool is_public_group(const struct wanted *want)
{
    return want->parent != 0 && want->creator == PUBLIC && want->kind != VALUE_INDEXES;
}

static bool is_short_vr(const char *vr)
{
    return !*vr || !strcmp(vr, "US") || !strcmp(vr, "SS") || !strcmp(vr, "UN");
}

/* Returns the field of the value: that of the frame whose functional groups are read, or of the
 * file or all images. */
static void *field_of(struct scan *scan, const struct wanted *want)
{
    char *const targets[] = {
        [OF_FILE] = (char *)scan->file,
        [OF_IMAGE] = (char *)ts_dicom_current_image(scan),
        [OF_SCAN] = (char *)scan,
    };
    return targets[want->target] + want->offset;
}

/* Stores a time, and the zone that it ends in as that of the image; without one the image keeps the
 * zone it has. */
static void store_datetime(const char *bytes, size_t length, double *field,
                           struct dicom_image *image)
{
    const double zone = ts_dicom_parse_zone(bytes, length);
    *field = ts_dicom_parse_time(bytes, length);
    if (!isnan(*field) && !isnan(zone)) {
        image->zone_s = zone;
        image->zone_in_time = true;
    }
}

/* Notes that the value holds no number that can be read. The field keeps what it has. */
static void note_unread(struct scan *scan, const struct wanted *want,
                        const struct dicom_element *element, const char *bytes, size_t length)
{
    const bool tells =
        want->kind == VALUE_NUMBER || want->kind == VALUE_FIRST ||
        ((want->kind == VALUE_BINARY || want->kind == VALUE_FLOAT) && want->target != OF_SCAN);
    size_t field = want->target == OF_IMAGE && element->root == 0 ? want->offset : 0;
    if (field == offsetof(struct dicom_image, ge_b_value))
        field = offsetof(struct dicom_image, b_value);
    else if (field >= offsetof(struct dicom_image, ge_gradient) &&
             field < offsetof(struct dicom_image, ge_gradient[3]))
        field = offsetof(struct dicom_image, gradient);
    ts_dicom_note_unread(scan, element, want->name, bytes, length, tells, field);
}

/* Stores one number of any VR, or the first one. */
static void store_number(struct scan *scan, const struct wanted *want,
                         const struct dicom_element *element, const char *bytes, size_t length,
                         bool big_endian)
{
    const bool first = want->kind == VALUE_FIRST && ts_dicom_is_text_vr(element->vr);
    const char *end = first ? memchr(bytes, '\\', length) : NULL;
    const size_t n = end ? (size_t)(end - bytes) : length;
    const double number = ts_dicom_parse_number(bytes, n, element->vr, false, big_endian);
    if (ts_dicom_is_no_number(bytes, n, element->vr, false, big_endian))
        note_unread(scan, want, element, bytes, length);
    else if (!isnan(number)) /* which leaves what another element gave */
        *(double *)field_of(scan, want) = number;
}

/* Stores `count` binary numbers, or as many in a text, as writers that do not know the element's VR
 * give it. */
static void store_binary(struct scan *scan, const struct wanted *want,
                         const struct dicom_element *element, const char *bytes, size_t length,
                         bool big_endian)
{
    double *field = field_of(scan, want);
    const bool unknown = !*element->vr || !strcmp(element->vr, "UN");
    const char *vr = want->kind == VALUE_FLOAT && unknown ? "FL" : element->vr;
    const size_t each = want->size == 1 ? length : length / want->size;
    bool unread = false, nothing = true;
    if (*vr && !unknown && ts_dicom_is_text_vr(vr)) {
        if (!ts_dicom_parse_decimals(bytes, length, field, want->size))
            note_unread(scan, want, element, bytes, length);
        return;
    }
    for (size_t i = 0; i < want->size; i++)
        unread |= ts_dicom_is_no_number(bytes + i * each, each, vr, true, big_endian);
    for (size_t i = 0; i < want->size; i++)
        nothing &= isnan(ts_dicom_parse_number(bytes + i * each, each, vr, true, big_endian));
    for (size_t i = 0; i < want->size && !unread && !nothing; i++)
        field[i] = ts_dicom_parse_number(bytes + i * each, each, vr, true, big_endian);
    if (unread)
        note_unread(scan, want, element, bytes, length);
}

/* Stores a time, which counts as absent if it cannot be read. */
static void store_time(struct scan *scan, const struct wanted *want,
                       const struct dicom_element *element, const char *bytes, size_t length)
{
    double *field = field_of(scan, want);
    if (want->kind == VALUE_DATETIME)
        store_datetime(bytes, length, field, ts_dicom_current_image(scan));
    else if (want->kind == VALUE_DATE)
        *field = ts_dicom_parse_date(bytes, length);
    else
        *field = want->kind == VALUE_ZONE ? ts_dicom_parse_zone(bytes, length)
                                          : ts_dicom_parse_time(bytes, length);
    bool removed = true; /* tools that make headers anonymous write *** and the like */
    for (size_t i = 0; i < length; i++)
        removed &= bytes[i] < '0' || bytes[i] > '9';
    if (isnan(*field) && !removed)
        note_unread(scan, want, element, bytes, length);
}

/* Stores a date or a time, and the offset from UTC that it ends in if the field has room for it. */
static void store_clock(const struct wanted *want, const char *bytes, size_t length, double *field)
{
    field[0] = want->tag == TAG(0x0008, 0x0021) ? ts_dicom_parse_date(bytes, length)
                                                : ts_dicom_parse_time(bytes, length);
    if (want->size == 2)
        field[1] = ts_dicom_parse_zone(bytes, length);
}

/* Stores the indexes that frames have along the dimensions of their file. A list that was cut by
 * its buffer is longer than the field, too. */
static void store_indexes(const struct wanted *want, const unsigned char *bytes, size_t length,
                          bool big_endian, uint32_t *field)
{
    for (size_t i = 0; length <= 4 * want->size && i < length / 4; i++)
        field[i] = ts_dicom_u32(bytes + 4 * i, big_endian);
}

/* Warns if the groups of a frame state another value than those that all frames share, which may
 * not state it then. Scanners repeat what is the same. */
static void compare_shared(struct scan *scan, const struct wanted *want)
{
    const struct dicom_image *frame = ts_dicom_current_image(scan);
    const char *here = (const char *)frame + want->offset,
               *all = (const char *)&scan->image + want->offset;
    if (scan->file->warning) /* the first one stays */
        return;
    bool differs = want->kind == VALUE_TEXT && strcmp(here, all) != 0;
    for (size_t i = 0; want->kind != VALUE_TEXT && i < want->size; i++) {
        const double a = ((const double *)here)[i], b = ((const double *)all)[i];
        differs |= fabs(a - b) > SAME_SHARE * fmax(fabs(a), fabs(b));
    }
    const char *text =
        differs ? ts_arena_printf(scan->arena,
                                  "the functional groups of a frame contradict those that all "
                                  "frames share in %s: each frame has its own",
                                  want->name)
                : NULL;
    if (text)
        ts_dicom_warn(scan, text);
}

/* Returns true if the element is a part of a diffusion weighting in Philips' private sequence of a
 * frame, and the frame has one: its functional groups stand before that. */
static bool repeats_weighting(struct scan *scan, const struct wanted *want)
{
    const bool weighting =
        want->target == OF_IMAGE && (want->offset == offsetof(struct dicom_image, b_value) ||
                                     (want->offset >= offsetof(struct dicom_image, gradient) &&
                                      want->offset < offsetof(struct dicom_image, ge_b_value)));
    return weighting && want->parent == TAG(0x2005, 0x000F) &&
           !isnan(*(const double *)field_of(scan, want));
}

/* Warns if a private element is taken for one of Philips by its number. */
static void warn_of_guess(struct scan *scan, const struct dicom_element *element)
{
    if (guess_creator(element->tag) != PUBLIC && !block_of(scan, element->parent, element->tag))
        ts_dicom_warn(scan, "private b-values or gradients lack the text that names their maker, "
                            "and are taken for those of Philips");
}

static bool is_private_weighting(const struct wanted *want)
{
    return want->creator != PUBLIC && want->target == OF_IMAGE && want->parent == 0 &&
           ((want->offset == offsetof(struct dicom_image, b_value) && want->size == 1) ||
            (want->offset == offsetof(struct dicom_image, gradient) && want->size == 3));
}

/* Warns if a private b-value or gradient is another one than that of the standard's element, which
 * stands before it. Both may be rounded, and a gradient has no sign. */
static void compare_private(struct scan *scan, const struct wanted *want, const double before[3])
{
    const double *now = field_of(scan, want);
    const double off = fabs(*now - *before), most = fmax(fabs(*now), fabs(*before));
    if (want->size == 1 && off > fmax(SAME_B, SAME_B_SHARE * most))
        ts_dicom_warn(scan, "a private b-value is another one than Diffusion b-value (0018,9087), "
                            "and is taken");
    if (want->size == 3 && ts_length(before) > LEAST_LENGTH && ts_length(now) > LEAST_LENGTH &&
        fabs(ts_dot(now, before)) < SAME_COSINE * ts_length(now) * ts_length(before))
        ts_dicom_warn(scan, "a private gradient is another one than Diffusion Gradient "
                            "Orientation (0018,9089), and is taken");
}

/* Stores the value in its field; false if it is not of its kind. */
static bool dicom_values_store(const struct wanted *want, const char *bytes, size_t length,
                               const struct dicom_element *element, bool big_endian,
                               struct scan *scan)
{
    void *field = field_of(scan, want);
    const unsigned char *raw = (const unsigned char *)bytes;
    int64_t integer = 0;
    switch (want->kind) {
    case VALUE_UID:
    case VALUE_TEXT:
        ts_dicom_trim(&bytes, &length);
        if (!ts_dicom_is_text_vr(element->vr) || (want->kind == VALUE_UID && length >= want->size))
            return false;
        length = length < want->size ? length : want->size - 1;
        memcpy(field, bytes, length);
        ((char *)field)[length] = '\0';
        return true;
    case VALUE_SHORT:
        if (length != 2 || !is_short_vr(element->vr))
            return false;
        *(int *)field = ts_dicom_u16(raw, big_endian);
        return true;
    case VALUE_DECIMALS:
        return ts_dicom_is_text_vr(element->vr) &&
               ts_dicom_parse_decimals(bytes, length, field, want->size);
    case VALUE_INTEGER:
        if (!ts_dicom_is_text_vr(element->vr) || !ts_dicom_parse_integer(bytes, length, &integer))
            return false;
        *(int64_t *)field = integer;
        return true;
    case VALUE_NUMBER:
    case VALUE_ADVICE:
    case VALUE_FIRST:
        store_number(scan, want, element, bytes, length, big_endian);
        return true;
    case VALUE_STORED:
        return ts_dicom_parse_stored(raw, length, element->vr, big_endian, field);
    case VALUE_BINARY:
    case VALUE_FLOAT:
        store_binary(scan, want, element, bytes, length, big_endian);
        return true;
    case VALUE_INDEXES:
        store_indexes(want, raw, length, big_endian, field);
        return true;
    case VALUE_TIME:
    case VALUE_DATETIME:
    case VALUE_ZONE:
    case VALUE_DATE:
        store_time(scan, want, element, bytes, length);
        return true;
    case VALUE_ASIDE:
        *(double *)field =
            ts_dicom_is_no_number(bytes, length, element->vr, false, big_endian)
                ? NAN
                : ts_dicom_parse_number(bytes, length, element->vr, false, big_endian);
        return true;
    case VALUE_CLOCK:
        store_clock(want, bytes, length, field);
        return true;
    case VALUE_PLACE:
    case VALUE_PRESENCE:
        return true;
    }
    return false;
}

/* Refuses the file for a value of another form than the image needs. The message shows numbers as
 * they are written, and of texts and UIDs, which may name people, only how long they are. */
static void refuse_value(struct scan *scan, const struct wanted *want,
                         const struct dicom_element *element, const char *bytes, size_t length)
{
    enum { SHOWN = 40 };
    static const char *const decimals[] = {
        "", "a decimal number",   "two decimal numbers", "three decimal numbers", "",
        "", "six decimal numbers"};
    static const char *const forms[] = {[VALUE_UID] = "a UID of at most 64 characters",
                                        [VALUE_INTEGER] = "an integer",
                                        [VALUE_STORED] = "one floating point number",
                                        [VALUE_SHORT] = "one 16-bit number",
                                        [VALUE_PRESENCE] = NULL};
    const char *expected = want->kind == VALUE_DECIMALS ? decimals[want->size] : forms[want->kind],
               *vr = *element->vr ? element->vr : "(implicit)", *value = "";
    if (want->kind == VALUE_UID && !scan->file->refusal)
        scan->file->advice = "replace the UID in the files by one of at most 64 characters, the "
                             "same one wherever it is the same now";
    if ((want->kind == VALUE_DECIMALS || want->kind == VALUE_INTEGER) &&
        ts_dicom_is_text_vr(element->vr))
        value = ts_dicom_escape(scan, bytes, length, SHOWN);
    ts_dicom_refuse(scan, "dicom-bad-value",
                    "%s (%04x,%04x) is not %s: %s%s%sVR %s, %" PRIu32 " bytes", want->name,
                    element->tag >> 16, element->tag & 0xFFFF, expected ? expected : "text",
                    value && *value ? "'" : "", value ? value : "", value && *value ? "', " : "",
                    vr, element->length);
}

/* Returns true if the element, which is wanted, has a value to be read; its presence is noted. */
static bool has_value(struct scan *scan, int i, const struct dicom_element *element)
{
    const struct wanted *want = &wanted[i];
    if (scan->met[i] &&
        (want->creator != PUBLIC || want->parent == TAG(0x0040, 0x9096) ||
         want->parent == TAG(0x0040, 0x08EA) || want->parent == TAG(0x0018, 0x9197)))
        return false; /* tools that copy private blocks may leave two; the first one is the
                         scanner's; values may be mapped, and flows encoded, in several ways */
    if (repeats_weighting(scan, want))
        return false;
    if (scan->met[i] &&
        (want->parent == DICOM_DOSE_SEQUENCE || want->parent == TAG(0x0054, 0x0300))) {
        scan->file->uptake.several = true; /* which only uptake values do not allow */
        return false;
    }
    if (scan->met[i]) {
        ts_dicom_refuse(scan, "dicom-repeated-element", "%s (%04x,%04x) is given twice", want->name,
                        element->tag >> 16, element->tag & 0xFFFF);
        return false;
    }
    scan->met[i] = true;
    if (want->kind == VALUE_PRESENCE)
        *(bool *)field_of(scan, want) = true;
    if (want->kind == VALUE_PLACE && element->length > 0) {
        *(struct dicom_place *)field_of(scan, want) =
            (struct dicom_place){element->offset, element->length};
        scan->filled[i] = true;
    }
    return want->kind != VALUE_PRESENCE && want->kind != VALUE_PLACE && element->length > 0;
}

/* Returns true if no more of a value is needed than the buffer of ts_dicom_take holds. */
static bool may_be_cut(enum value_kind kind)
{
    return kind != VALUE_SHORT && kind != VALUE_DECIMALS && kind != VALUE_INTEGER &&
           kind != VALUE_STORED;
}

/* Returns true if a text, or a number that is written as text, is nothing but padding. */
static bool is_padding(const struct wanted *want, const struct dicom_element *element,
                       const char *bytes, size_t length)
{
    const bool number = want->kind == VALUE_NUMBER || want->kind == VALUE_ADVICE,
               binary = want->kind == VALUE_SHORT || want->kind == VALUE_BINARY ||
                        want->kind == VALUE_FLOAT || want->kind == VALUE_INDEXES ||
                        want->kind == VALUE_STORED || !strcmp(element->vr, "FD") ||
                        (number && !ts_dicom_is_text_vr(element->vr));
    if (!binary)
        ts_dicom_trim(&bytes, &length);
    return length == 0;
}

void ts_dicom_take(struct scan *scan, const struct dicom_walk *walk,
                   const struct dicom_element *element)
{
    char bytes[512];
    if (is_private(element->tag) && (element->tag & 0xFFFF) >= 0x10 &&
        (element->tag & 0xFFFF) <= 0xFF)
        take_creator(scan, element);
    ts_dicom_take_field(scan, element, walk->big_endian);
    const int i = dicom_values_find(scan, element->parent, element->tag);
    if (i < 0 || !has_value(scan, i, element))
        return;
    const struct wanted *want = &wanted[i];
    const unsigned group = element->tag >> 16, number = element->tag & 0xFFFF;
    const size_t length = element->length < sizeof bytes ? element->length : sizeof bytes;
    if (!ts_dicom_read(&scan->reader, element->offset, bytes, length)) {
        ts_dicom_refuse(scan, "dicom-unreadable", "%s (%04x,%04x) cannot be read", want->name,
                        group, number);
        return;
    }
    if (length < element->length && !may_be_cut(want->kind)) {
        refuse_value(scan, want, element, bytes, length);
        return;
    }
    if (is_padding(want, element, bytes, length))
        return; /* absent */
    const bool weighting = is_private_weighting(want);
    const struct dicom_unread *unread = ts_dicom_current_image(scan)->unread;
    double before[3] = {NAN, NAN, NAN};
    if (weighting)
        memcpy(before, field_of(scan, want), want->size * sizeof *before);
    if (!dicom_values_store(want, bytes, length, element, walk->big_endian, scan)) {
        refuse_value(scan, want, element, bytes, length);
        return;
    }
    if (ts_dicom_current_image(scan)->unread != unread)
        return;
    if (weighting)
        compare_private(scan, want, before);
    warn_of_guess(scan, element);
    scan->filled[i] = true;
    scan->shared[i] |= element->root == DICOM_SHARED_GROUPS;
    if (scan->shared[i] && scan->n_frames > 0 && want->target == OF_IMAGE && is_public_group(want))
        compare_shared(scan, want);
    if (want->have)
        *(bool *)((char *)ts_dicom_current_image(scan) + want->have) = true;
}

void ts_dicom_forget_groups(struct scan *scan)
{
    for (int i = 0; i < WANTED_COUNT; i++)
        scan->met[i] = scan->met[i] && wanted[i].parent == 0;
    int kept = 0;
    for (int i = 0; i < scan->n_blocks; i++)
        if (scan->blocks[i].parent == 0)
            scan->blocks[kept++] = scan->blocks[i];
    scan->n_blocks = kept;
}
