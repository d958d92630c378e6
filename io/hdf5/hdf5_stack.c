/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens datasets of foreign files, and those of which a virtual one is made.
 *
 * Each part of a virtual dataset is a part of another dataset, in the same file or in another one.
 * A source that is missing is an error, although libhdf5 would give zeros. The child lists the
 * mappings: a selection of the virtual dataset, a selection of the source, and names of a file and
 * a dataset. Selections must be regular, so that each is a list of indices along every axis.
 * Elements correspond in row-major order; axes of which both sides select more than one index must
 * then correspond one by one. Source: HDF5 1.10 reference, H5Pset_virtual; unlimited selections and
 * "%b" in names as described there.
 */
#include "io/hdf5/hdf5_stack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAPPINGS = 1 << 14, MAPPING_RANK = 4, UNLIMITED = -1, INDICES_TEXT = 96 };

/* `count` blocks along an axis; count or block may be UNLIMITED. */
struct virtual_axis {
    int64_t start, stride, count, block;
};

struct selection {
    int32_t all;     /* all of it; the file does not say how much that is */
    int32_t regular; /* 0: single points, or several boxes */
    int32_t rank;
    struct virtual_axis axes[MAPPING_RANK];
};

/* The child sends `head`, then one of these for each mapping. */
struct virtual_mapping {
    struct selection on, from;
    char file[FINDER_NAME + 1], dataset[FINDER_NAME + 1];
};

struct virtual_head {
    int64_t n;
    unsigned char fill[8]; /* in the type of the file */
};

/* ---- the child ------------------------------------------------------------------------------- */

static int64_t count_of(hsize_t n)
{
    if (n == H5S_UNLIMITED)
        return UNLIMITED;
    return n < INT64_MAX ? (int64_t)n : INT64_MAX;
}

static bool describe_selection(hid_t space, struct selection *selection)
{
    hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK], block[H5S_MAX_RANK];
    const H5S_sel_type type = H5Sget_select_type(space);
    selection->all = type == H5S_SEL_ALL;
    if (type != H5S_SEL_HYPERSLABS)
        return type != H5S_SEL_ERROR;
    selection->rank = H5Sget_simple_extent_ndims(space);
    if (selection->rank < 1 || selection->rank > MAPPING_RANK ||
        H5Sis_regular_hyperslab(space) <= 0)
        return selection->rank >= 0;
    if (H5Sget_regular_hyperslab(space, start, stride, count, block) < 0)
        return false;
    selection->regular = 1;
    for (int d = 0; d < selection->rank; d++)
        selection->axes[d] = (struct virtual_axis){count_of(start[d]), count_of(stride[d]),
                                                   count_of(count[d]), count_of(block[d])};
    return true;
}

static bool describe_mapping(hid_t list, size_t i, struct virtual_mapping *mapping)
{
    const hid_t on = H5Pget_virtual_vspace(list, i), from = H5Pget_virtual_srcspace(list, i);
    const ssize_t file = H5Pget_virtual_filename(list, i, mapping->file, sizeof mapping->file),
                  dataset =
                      H5Pget_virtual_dsetname(list, i, mapping->dataset, sizeof mapping->dataset);
    const bool done = on >= 0 && from >= 0 && file >= 0 && file < (ssize_t)sizeof mapping->file &&
                      dataset >= 0 && dataset < (ssize_t)sizeof mapping->dataset &&
                      describe_selection(on, &mapping->on) &&
                      describe_selection(from, &mapping->from);
    TS_HDF5_CLOSE(on, from);
    return done;
}

/* Finds the value if no mapping gives one; zero if none is set. */
static bool describe_fill(hid_t dataset, hid_t list, struct virtual_head *head)
{
    H5D_fill_value_t defined;
    const hid_t type = H5Dget_type(dataset);
    bool done = type >= 0 && H5Pfill_value_defined(list, &defined) >= 0;
    if (done && defined == H5D_FILL_VALUE_USER_DEFINED && H5Tget_size(type) <= sizeof head->fill)
        done = H5Pget_fill_value(list, type, head->fill) >= 0;
    TS_HDF5_CLOSE(type);
    return done;
}

static enum ts_status list_mappings(struct hdf5_child *child, const void *request, FILE *out,
                                    struct ts_diag *diag)
{
    const struct object_request *of = request;
    struct virtual_head head = {0};
    size_t n = 0;
    const hid_t list = H5Dget_create_plist(of->object);
    bool done =
        list >= 0 && H5Pget_virtual_count(list, &n) >= 0 && describe_fill(of->object, list, &head);
    head.n = (int64_t)n;
    fwrite(&head, sizeof head, 1, out);
    for (size_t i = 0; done && i < n && n <= MAPPINGS; i++) {
        struct virtual_mapping mapping = {0};
        done = describe_mapping(list, i, &mapping);
        fwrite(&mapping, sizeof mapping, 1, out);
    }
    TS_HDF5_CLOSE(list);
    return done ? TS_OK : ts_hdf5_child_unreadable(child, diag, "a virtual dataset");
}

static int64_t last_of(const struct hdf5_indices *indices)
{
    return ts_hdf5_index(indices, indices->n - 1);
}

static bool is_unlimited(const struct virtual_axis *axis)
{
    return axis->count == UNLIMITED || axis->block == UNLIMITED;
}

/* Makes the n indices of an axis. Returns false if the last one exceeds a 64-bit number. */
static bool make_indices(const struct virtual_axis *axis, int64_t n, struct hdf5_indices *indices)
{
    const bool one_block = axis->block == UNLIMITED || n <= axis->block;
    int64_t end;
    *indices = (struct hdf5_indices){.n = n,
                                     .start = axis->start,
                                     .stride = one_block ? n : axis->stride,
                                     .block = one_block ? n : axis->block};
    return n > 0 && indices->block > 0 && indices->stride >= indices->block &&
           !__builtin_mul_overflow(n / indices->block + 1, indices->stride, &end) &&
           !__builtin_add_overflow(end, indices->start, &end);
}

/* Returns true if the two share an index. */
static bool meet(const struct hdf5_indices *a, const struct hdf5_indices *b)
{
    if (last_of(a) < b->start || last_of(b) < a->start)
        return false;
    if (ts_hdf5_indices_follow(a) && ts_hdf5_indices_follow(b))
        return true;
    for (int64_t k = 0; k < a->n; k++) {
        const int64_t i = ts_hdf5_index(a, k);
        if (ts_hdf5_indices_below(b, i + 1) > ts_hdf5_indices_below(b, i))
            return true;
    }
    return false;
}

/* ---- sources --------------------------------------------------------------------------------- */

/* A virtual dataset while its sources are opened. */
struct opening {
    struct hdf5_input *input;
    struct hdf5_stack *stack;
    struct hdf5_input *source; /* the input whose child runs, for the next mapping */
    char file[FINDER_NAME + 32];
    const char **names; /* "FILE:DATASET" of stack->sources */
    size_t room;        /* of stack->parts */
    bool grows[3];      /* the axis is as long as its sources make it */
};

static enum ts_status hdf5_stack_refuse(const struct opening *opening, const char *what)
{
    ts_hdf5_input_refuse(opening->input, "hdf5-virtual", "%s is virtual: %s", opening->stack->name,
                         what);
    return ts_diag_hint(opening->input->diag,
                        "the Python script in docs/inputs.md, under \"HDF5 that is not read as it "
                        "is\", writes a copy that is read");
}

/* Writes for which indices of the first axis of the virtual dataset a source is, without the first
 * `there` of them; "" if the source decides how many they are. */
static void indices_text(const struct opening *opening, const struct selection *on, int64_t there,
                         char text[static INDICES_TEXT])
{
    const struct virtual_axis whole = {0, 1, 1, opening->stack->storage.n[0]},
                              *axis = on->all ? &whole : &on->axes[0];
    struct hdf5_indices indices;
    int64_t n;
    *text = '\0';
    if (is_unlimited(axis) || __builtin_mul_overflow(axis->count, axis->block, &n) || n <= there ||
        !make_indices(axis, n, &indices))
        return;
    snprintf(text, INDICES_TEXT,
             ", for indices %" PRId64 " to %" PRId64 " of the virtual one's first axis",
             ts_hdf5_index(&indices, there), last_of(&indices));
}

/* Reports that there is no such file, or no such dataset in it. */
static enum ts_status missing(const struct opening *opening, const struct selection *on,
                              const char *file, const char *dataset)
{
    const struct hdf5_input *input = opening->input;
    char shown_file[HDF5_INPUT_PATH], shown_dataset[HDF5_INPUT_PATH], folder[HDF5_INPUT_PATH];
    char indices[INDICES_TEXT];
    ts_text_escape(shown_file, sizeof shown_file, file);
    ts_text_escape(shown_dataset, sizeof shown_dataset, dataset);
    ts_text_escape(folder, sizeof folder, input->files[opening->stack->dataset.file].folder);
    indices_text(opening, on, 0, indices);
    if (opening->source)
        return ts_hdf5_input_refuse(input, "hdf5-source-missing",
                                    "%s takes values from %s of %s, which has no such dataset%s",
                                    opening->stack->name, shown_dataset, shown_file, indices);
    ts_hdf5_input_refuse(input, "hdf5-source-missing",
                         "%s takes values from %s, which is not there%s", opening->stack->name,
                         shown_file, indices);
    const char *relative = *shown_file == '/' ? strrchr(shown_file, '/') + 1 : shown_file;
    return ts_diag_hint(input->diag, "put that file at %s/%s", folder, relative);
}

/* Writes a name of a mapping: "%b" is the number of the block, "%%" a percent sign. */
static void spell(const char *name, int64_t block, char *out, size_t size)
{
    size_t n = 0;
    for (const char *at = name; *at && n + 24 < size; at++) {
        if (at[0] == '%' && at[1] == 'b')
            n += (size_t)snprintf(out + n, size - n, "%" PRId64, block);
        else
            out[n++] = *at;
        at += at[0] == '%' && (at[1] == 'b' || at[1] == '%');
    }
    out[n] = '\0';
}

static bool has_block(const char *name)
{
    for (const char *at = name; *at; at++) {
        if (at[0] == '%' && at[1] == 'b')
            return true;
        at += at[0] == '%' && at[1] == '%';
    }
    return false;
}

/* Ends the child of the file that is open, unless the next mapping needs it too. */
static enum ts_status open_file(struct opening *opening, const char *file)
{
    if (opening->source && !strcmp(file, opening->file))
        return TS_OK;
    if (opening->source)
        ts_hdf5_input_found(opening->source);
    snprintf(opening->file, sizeof opening->file, "%s", file);
    return ts_hdf5_input_source(opening->input, opening->stack->dataset.file, file,
                                &opening->source);
}

/* Opens a dataset, or finds it among those that are open. *stack becomes NULL if there is none of
   this name. */
static enum ts_status open_source(struct opening *opening, const char *file, const char *dataset,
                                  struct hdf5_stack **stack)
{
    struct hdf5_stack *owner = opening->stack;
    char name[2 * FINDER_NAME + 64];
    struct hdf5_ref found;
    *stack = NULL;
    snprintf(name, sizeof name, "%s:%s", file, dataset);
    for (int64_t i = owner->n_sources - 1; i >= 0; i--)
        if (!strcmp(opening->names[i], name)) {
            *stack = owner->sources[i];
            return TS_OK;
        }
    if (owner->n_sources == MAPPINGS)
        return hdf5_stack_refuse(opening, "it has too many sources");
    enum ts_status status = open_file(opening, file);
    if (status != TS_OK || !opening->source)
        return status;
    status = ts_hdf5_input_find_root(opening->source, dataset, &found);
    if (status != TS_OK || found.kind == FINDER_NONE)
        return status;
    struct hdf5_stack *opened = ts_arena_alloc(opening->input->arena, sizeof *opened);
    opening->names[owner->n_sources] = ts_arena_text(opening->input->arena, name, strlen(name));
    if (!opened || !opening->names[owner->n_sources])
        return ts_diag_no_memory(opening->input->diag, sizeof *opened + sizeof name);
    *opened = (struct hdf5_stack){0};
    owner->sources[owner->n_sources++] = opened;
    status = ts_hdf5_stack_open(opening->source, &found, name, STACK_ANY_RANK, opened);
    if (status == TS_OK)
        status = ts_hdf5_stack_locate(opening->source, opened);
    ts_hdf5_input_release(opening->source, &found);
    if (status == TS_OK && opened->stored != owner->stored)
        status = hdf5_stack_refuse(opening, "a source has elements of another type");
    *stack = opened;
    return status;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Finds which axis of the source belongs to each axis of the virtual dataset. */
static bool match_axes(struct hdf5_part *part)
{
    int e = 0;
    for (int d = 0; d < 3; d++) {
        part->axis[d] = -1;
        if (part->on[d].n == 1)
            continue;
        while (e < 3 && part->from[e].n == 1)
            e++;
        if (e == 3 || part->from[e].n != part->on[d].n)
            return false;
        part->axis[d] = e++;
    }
    while (e < 3 && part->from[e].n == 1)
        e++;
    return e == 3;
}

static struct hdf5_part *add_part(struct opening *opening)
{
    struct hdf5_stack *stack = opening->stack;
    if ((size_t)stack->n_parts == opening->room) {
        const size_t room = 2 * opening->room + 16;
        struct hdf5_part *grown = realloc(stack->parts, room * sizeof *grown);
        if (!grown)
            return NULL;
        stack->parts = grown;
        opening->room = room;
    }
    struct hdf5_part *part = &stack->parts[stack->n_parts++];
    *part = (struct hdf5_part){0};
    for (int d = 0; d < 3; d++)
        part->on[d] = part->from[d] = (struct hdf5_indices){1, 0, 1, 1};
    return part;
}

/* Returns how many indices of an unlimited axis are below a length. */
static int64_t count_within(const struct virtual_axis *axis, int64_t length)
{
    const int64_t past = length - axis->start;
    if (past <= 0 || axis->block == UNLIMITED || axis->stride <= 0)
        return past < 0 ? 0 : past;
    const int64_t rest = past % axis->stride;
    return past / axis->stride * axis->block + (rest < axis->block ? rest : axis->block);
}

/* Returns how many indices an axis has; if it is unlimited, those below the source's length. -1 if
   there are too many. */
static int64_t count_indices(const struct virtual_axis *axis, int64_t length)
{
    int64_t n;
    if (is_unlimited(axis))
        return count_within(axis, length);
    return __builtin_mul_overflow(axis->count, axis->block, &n) ? -1 : n;
}

/* Refuses a source that has only the first `there` of the `wanted` values along its axis e. The
 * script that refuse() names cannot help here, since the others do not exist. */
static enum ts_status too_short(const struct opening *opening, const struct selection *on,
                                const struct hdf5_part *part, int e, int64_t there, int64_t wanted)
{
    char indices[INDICES_TEXT] = "", shown[HDF5_INPUT_PATH];
    bool first = true;
    for (int d = 0; d < e; d++)
        first &= part->from[d].n == 1;
    if (first)
        indices_text(opening, on, there, indices);
    ts_text_escape(shown, sizeof shown, part->source->name);
    ts_hdf5_input_refuse(opening->input, "hdf5-source-missing",
                         "%s takes values from past the end of a source, %s: of %" PRId64
                         " along its axis %d there are %" PRId64 "%s",
                         opening->stack->name, shown, wanted, e, there, indices);
    return ts_diag_hint(opening->input->diag,
                        "see if that file was written or copied as a whole, and copy it anew");
}

/* Makes the indices of the source. *n_unlimited becomes their number on its unlimited axis; *empty:
   there are none. */
static enum ts_status take_from(const struct opening *opening,
                                const struct virtual_mapping *mapping, struct hdf5_part *part,
                                int64_t *n_unlimited, bool *empty)
{
    const struct selection *from = &mapping->from;
    for (int e = 0; e < 3; e++) {
        const int64_t length = part->source->n[e];
        const int d = from->all ? e : e - (3 - from->rank);
        const struct virtual_axis whole = {0, 1, 1, length}, one = {0, 1, 1, 1},
                                  *axis = from->all ? &whole
                                          : d >= 0  ? &from->axes[d]
                                                    : &one;
        const int64_t n = count_indices(axis, length);
        *n_unlimited = is_unlimited(axis) ? n : *n_unlimited;
        *empty |= n == 0;
        if (n != 0 && !make_indices(axis, n, &part->from[e]))
            return too_short(opening, &mapping->on, part, e, 0, n);
        if (n != 0 && last_of(&part->from[e]) >= length)
            return too_short(opening, &mapping->on, part, e,
                             ts_hdf5_indices_below(&part->from[e], length), n);
    }
    return TS_OK;
}

/* Makes the part of one block of a mapping; if the names contain no number, of block 0, the only
   one. */
static enum ts_status make_part(struct opening *opening, const struct virtual_mapping *mapping,
                                int64_t block, bool numbered, const struct hdf5_stack *source)
{
    struct hdf5_part *part = add_part(opening);
    int64_t n_unlimited = 0;
    bool empty = false;
    if (!part)
        return ts_diag_no_memory(opening->input->diag, opening->room * sizeof *part);
    part->source = source;
    const enum ts_status status = take_from(opening, mapping, part, &n_unlimited, &empty);
    if (empty)
        opening->stack->n_parts--;
    if (status != TS_OK || empty)
        return status;
    for (int d = 0; d < opening->stack->storage.rank; d++) {
        const struct virtual_axis whole = {0, 1, 1, opening->stack->storage.n[d]};
        struct virtual_axis axis = mapping->on.all ? whole : mapping->on.axes[d];
        int64_t n = is_unlimited(&axis) ? n_unlimited : count_indices(&axis, 0), before = 0;
        opening->grows[d] |= is_unlimited(&axis);
        if (is_unlimited(&axis) && numbered) {
            n = axis.block;
            if (__builtin_mul_overflow(block, axis.stride, &before) ||
                __builtin_add_overflow(axis.start, before, &axis.start))
                n = UNLIMITED;
        }
        if (!make_indices(&axis, n, &part->on[d]))
            return hdf5_stack_refuse(opening, "a selection of it is not understood");
    }
    if (match_axes(part))
        return TS_OK;
    double wanted = 1, there = 1;
    int e = 0;
    for (int d = 2; d >= 0; d--) {
        wanted *= (double)part->on[d].n;
        there *= (double)part->from[d].n;
        e = part->from[d].n < part->on[d].n ? d : e;
    }
    if (there < wanted)
        return too_short(opening, &mapping->on, part, e, part->from[e].n, part->on[e].n);
    return hdf5_stack_refuse(opening, "a part of it has another shape than the values for it");
}

/* Opens the sources of a mapping: one dataset, or one for each number until there is none. */
static enum ts_status open_mapping(struct opening *opening, const struct virtual_mapping *mapping)
{
    const bool numbered = has_block(mapping->file) || has_block(mapping->dataset);
    char file[FINDER_NAME + 32], dataset[FINDER_NAME + 32];
    if ((!mapping->on.all &&
         (!mapping->on.regular || mapping->on.rank != opening->stack->storage.rank)) ||
        (!mapping->from.all && (!mapping->from.regular || mapping->from.rank > 3)))
        return hdf5_stack_refuse(opening, "a selection of it is not a regular box");
    for (int64_t block = 0; block < MAPPINGS; block++) {
        struct hdf5_stack *source;
        spell(mapping->file, block, file, sizeof file);
        spell(mapping->dataset, block, dataset, sizeof dataset);
        enum ts_status status = open_source(opening, file, dataset, &source);
        if (status != TS_OK)
            return status;
        if (!source)
            return block > 0 ? TS_OK : missing(opening, &mapping->on, file, dataset);
        status = make_part(opening, mapping, block, numbered, source);
        if (status != TS_OK || !numbered)
            return status;
    }
    return hdf5_stack_refuse(opening, "it has too many parts");
}

/* Sets the lengths that follow from the parts, and checks that no part is outside or overlaps
   another. */
static enum ts_status check_parts(const struct opening *opening)
{
    struct hdf5_stack *stack = opening->stack;
    for (int d = 0; d < stack->storage.rank; d++) {
        int64_t end = 0;
        for (int64_t i = 0; i < stack->n_parts; i++)
            end =
                last_of(&stack->parts[i].on[d]) >= end ? last_of(&stack->parts[i].on[d]) + 1 : end;
        if (opening->grows[d])
            stack->storage.n[d] = end;
        if (end > stack->storage.n[d])
            return hdf5_stack_refuse(opening, "it has parts past its end");
    }
    for (int64_t i = 0; i < stack->n_parts; i++)
        for (int64_t j = 0; j < i; j++) {
            const struct hdf5_part *a = &stack->parts[i], *b = &stack->parts[j];
            if (meet(&a->on[0], &b->on[0]) && meet(&a->on[1], &b->on[1]) &&
                meet(&a->on[2], &b->on[2]))
                return hdf5_stack_refuse(opening, "two sources give the same values");
        }
    return TS_OK;
}

/* A frame without any source was lost or never taken; reading it is refused. A gap in all frames is
   one of the detector. */
static enum ts_status check_gaps(const struct opening *opening)
{
    struct hdf5_stack *stack = opening->stack;
    const int64_t n = stack->storage.n[0], rows = stack->storage.rank > 1 ? stack->storage.n[1] : 1,
                  columns = stack->storage.rank > 2 ? stack->storage.n[2] : 1;
    int64_t lost = 0, frame;
    if (n <= 0 || n > INT32_MAX || __builtin_mul_overflow(rows, columns, &frame) || frame <= 0)
        return TS_OK; /* the sizes are refused later */
    int64_t *covered = calloc((size_t)n, sizeof *covered);
    if (!covered)
        return ts_diag_no_memory(opening->input->diag, (size_t)n * sizeof *covered);
    for (int64_t i = 0; i < stack->n_parts; i++)
        for (int64_t k = 0; k < stack->parts[i].on[0].n; k++)
            covered[ts_hdf5_index(&stack->parts[i].on[0], k)] +=
                stack->parts[i].on[1].n * stack->parts[i].on[2].n;
    for (int64_t i = 0; i < n; i++) {
        if (covered[i] == 0 && stack->storage.rank < 3) { /* no frames, but a list */
            free(covered);
            return ts_hdf5_input_refuse(opening->input, "hdf5-source-missing",
                                        "nothing gives the values of index %" PRId64
                                        " of the first axis of %s",
                                        i, stack->name);
        }
        if (covered[i] == 0 && !stack->lost &&
            !(stack->lost = calloc((size_t)n, sizeof *stack->lost))) {
            free(covered);
            return ts_diag_no_memory(opening->input->diag, (size_t)n * sizeof *stack->lost);
        }
        if (covered[i] == 0)
            stack->lost[i] = true;
        else
            lost += frame - covered[i];
    }
    free(covered);
    stack->has_gaps = lost > 0;
    if (lost > 0)
        ts_diag_warning(opening->input->diag, &(struct diag_site){.code = "hdf5-virtual-gaps"},
                        "%s: no source gives %" PRId64 " of the %" PRId64
                        " values of %s: they are its fill value",
                        opening->input->path, lost, n * frame, stack->name);
    return TS_OK;
}

/* Checks the child's description of a mapping. */
static bool take_mapping(const void *from, struct virtual_mapping *mapping)
{
    memcpy(mapping, from, sizeof *mapping);
    mapping->file[FINDER_NAME] = mapping->dataset[FINDER_NAME] = '\0';
    for (int side = 0; side < 2; side++) {
        const struct selection *selection = side ? &mapping->from : &mapping->on;
        if (!selection->regular)
            continue;
        if (selection->rank < 1 || selection->rank > MAPPING_RANK)
            return false;
        for (int d = 0; d < selection->rank; d++) {
            const struct virtual_axis *axis = &selection->axes[d];
            if (axis->start < 0 || axis->stride < 0 || axis->count < UNLIMITED ||
                axis->block < UNLIMITED)
                return false;
        }
    }
    return true;
}

static enum ts_status open_all(struct opening *opening, const unsigned char *answer, size_t bytes)
{
    const struct hdf5_input *input = opening->input;
    struct hdf5_stack *stack = opening->stack;
    struct virtual_mapping *mapping = ts_arena_alloc(input->arena, sizeof *mapping);
    struct virtual_head head;
    if (!mapping)
        return ts_diag_no_memory(input->diag, sizeof *mapping);
    if (bytes < sizeof head)
        return ts_hdf5_session_wrong_answer(input->session, input->diag);
    memcpy(&head, answer, sizeof head);
    if (head.n > MAPPINGS)
        return hdf5_stack_refuse(opening, "it has too many parts");
    if (head.n < 0 || bytes != sizeof head + (size_t)head.n * sizeof *mapping)
        return ts_hdf5_session_wrong_answer(input->session, input->diag);
    memcpy(stack->fill, head.fill, sizeof stack->fill);
    stack->sources = ts_arena_alloc(input->arena, MAPPINGS * sizeof *stack->sources);
    opening->names = ts_arena_alloc(input->arena, MAPPINGS * sizeof *opening->names);
    if (!stack->sources || !opening->names)
        return ts_diag_no_memory(input->diag, 2 * MAPPINGS * sizeof *stack->sources);
    for (int64_t i = 0; i < head.n; i++) {
        if (!take_mapping(answer + sizeof head + (size_t)i * sizeof *mapping, mapping))
            return ts_hdf5_session_wrong_answer(input->session, input->diag);
        const enum ts_status status = open_mapping(opening, mapping);
        if (status != TS_OK)
            return status;
    }
    const enum ts_status status = check_parts(opening);
    return status == TS_OK ? check_gaps(opening) : status;
}

/* Finds the parts of a virtual dataset of up to three axes, whose storage and type the stack has,
   and opens their datasets. Sets the lengths of its axes if they follow from those. */
static enum ts_status hdf5_virtual_open(struct hdf5_input *input, struct hdf5_stack *stack)
{
    struct opening opening = {.input = input, .stack = stack};
    void *answer;
    size_t bytes;
    enum ts_status status =
        ts_hdf5_input_call(input, list_mappings, &stack->dataset, &answer, &bytes);
    if (status != TS_OK)
        return status;
    status = open_all(&opening, answer, bytes);
    if (opening.source)
        ts_hdf5_input_found(opening.source);
    free(answer);
    return status;
}

/* ---- the dataset ----------------------------------------------------------------------------- */

/* Takes the child's description. */
static enum ts_status take_storage(const struct hdf5_input *input, struct hdf5_stack *stack)
{
    const void *compact;
    void *answer;
    size_t bytes;
    enum ts_status status =
        ts_hdf5_input_call(input, ts_hdf5_task_describe, &stack->dataset, &answer, &bytes);
    if (status != TS_OK)
        return status;
    if (!ts_hdf5_storage_take(answer, bytes, &stack->storage, &compact)) {
        status = ts_hdf5_session_wrong_answer(input->session, input->diag);
    } else if (stack->storage.compact_bytes > 0) {
        stack->compact = malloc(stack->storage.compact_bytes);
        if (stack->compact)
            memcpy(stack->compact, compact, stack->storage.compact_bytes);
        else
            status = ts_diag_no_memory(input->diag, stack->storage.compact_bytes);
    }
    free(answer);
    return status;
}

enum ts_status ts_hdf5_stack_is(const struct hdf5_input *input, const struct hdf5_stack *stack,
                                const struct hdf5_ref *dataset, bool *same)
{
    struct hdf5_stack other = {.dataset = *dataset};
    const enum ts_status status = take_storage(input, &other);
    const struct hdf5_storage *a = &stack->storage, *b = &other.storage;
    *same = status == TS_OK && a->class == b->class && a->element_bytes == b->element_bytes &&
            a->rank == b->rank && !memcmp(a->n, b->n, sizeof a->n) && a->layout == b->layout &&
            a->offset == b->offset && stack->dataset.file == dataset->file;
    free(other.compact);
    return status;
}

/* Returns true if elements of the storage's type can be read, and sets the types to do so. */
static bool hdf5_stack_type(struct hdf5_stack *stack, bool doubles)
{
    static const enum ts_dtype floats[9] = {[2] = TS_F16, [4] = TS_F32, [8] = TS_F64};
    static const enum ts_dtype integers[2][5] = {{0, TS_U8, TS_U16, 0, TS_U32},
                                                 {0, TS_I8, TS_I16, 0, TS_I32}};
    const struct hdf5_storage *storage = &stack->storage;
    const uint32_t bytes = storage->element_bytes;
    const bool integer = storage->class == STORAGE_INTEGER;
    if (!storage->standard || (!integer && storage->class != STORAGE_FLOAT))
        return false;
    stack->swapped = (storage->big_endian != 0) == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    if (integer && bytes == 8) {
        stack->stored = TS_U64;
        stack->dtype = doubles ? TS_F64 : TS_F32;
        return true;
    }
    if (integer && bytes != 1 && bytes != 2 && bytes != 4)
        return false;
    if (!integer && bytes != 2 && bytes != 4 && bytes != 8)
        return false;
    stack->stored = integer ? integers[storage->has_sign != 0][bytes] : floats[bytes];
    stack->dtype = integer ? stack->stored : TS_F32;
    return true;
}

enum ts_status ts_hdf5_stack_open(struct hdf5_input *input, const struct hdf5_ref *dataset,
                                  const char *name, int rank, struct hdf5_stack *stack)
{
    char shown[HDF5_INPUT_PATH];
    ts_text_escape(shown, sizeof shown, name);
    *stack = (struct hdf5_stack){.dataset = *dataset,
                                 .n_volumes = 1,
                                 .fd = input->files[dataset->file].fd,
                                 .sandbox = input->sandbox,
                                 .file_bytes = input->files[dataset->file].bytes};
    stack->name = ts_arena_text(input->arena, shown, strlen(shown));
    enum ts_status status = stack->name ? TS_OK : ts_diag_no_memory(input->diag, sizeof shown);
    if (status == TS_OK && dataset->kind != FINDER_DATASET)
        status = ts_hdf5_input_refuse(input, "hdf5-no-dataset", "%s is a group, not a dataset",
                                      stack->name);
    if (status == TS_OK)
        status = take_storage(input, stack);
    const bool doubles = rank == 1 || (input->set && input->set->doubles);
    if (status == TS_OK && !hdf5_stack_type(stack, doubles))
        status = ts_hdf5_input_refuse(
            input, "hdf5-type",
            "the elements of %s are neither integers of 8 to 64 bits nor floats of 16, 32 or 64",
            stack->name);
    if (status == TS_OK && stack->storage.layout == STORAGE_VIRTUAL && stack->storage.rank <= 3)
        status = hdf5_virtual_open(input, stack);
    return status == TS_OK ? ts_hdf5_stack_check(input, stack, rank) : status;
}

void ts_hdf5_stack_close(struct hdf5_stack *stack)
{
    free(stack->compact);
    free(stack->table);
    free(stack->parts);
    free(stack->lost);
    for (int64_t i = 0; i < stack->n_sources; i++)
        ts_hdf5_stack_close(stack->sources[i]);
    stack->compact = NULL;
    stack->table = NULL;
    stack->parts = NULL;
    stack->lost = NULL;
    stack->n_parts = stack->n_sources = 0;
}
