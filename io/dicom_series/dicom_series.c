/* SPDX-License-Identifier: Apache-2.0
 *
 * This keeps what is found about a series until it is printed or turned into an error: why it is no
 * volume, and warnings. Texts are in the arena of the series. Warnings are limited, because a
 * damaged folder could have one for each of a hundred thousand files; those beyond the limit are
 * counted in a last one.
 */
#include "io/dicom_series/dicom_series.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"

enum { TEXT_BYTES = 512 };

double ts_dicom_image_number(const struct dicom_image *image, size_t place)
{
    double number;
    memcpy(&number, (const char *)image + place, sizeof number);
    return number;
}

int ts_dicom_compare_images(const struct dicom_image *a, const struct dicom_image *b)
{
    int order = strcmp(a->file->sop_instance, b->file->sop_instance);
    order = order ? order : (a->frame > b->frame) - (a->frame < b->frame);
    order = order ? order : a->tile - b->tile;
    return order ? order : strcmp(a->file->path, b->file->path);
}

static int compare_pointers(const void *a, const void *b)
{
    const uintptr_t first = (uintptr_t) * (const void *const *)a,
                    second = (uintptr_t) * (const void *const *)b;
    return (first > second) - (first < second);
}

size_t ts_dicom_count_files(const struct dicom_series *series, size_t n)
{
    size_t n_images = 0, count = 0, files = 0;
    for (size_t i = 0; i < n; i++)
        n_images += series[i].n_images + series[i].n_unused;
    const void **all = ts_arena_alloc(series->arena, n_images * sizeof *all);
    for (size_t i = 0; all && i < n; i++) {
        for (size_t k = 0; k < series[i].n_images; k++)
            all[count++] = series[i].images[k]->file;
        for (size_t k = 0; k < series[i].n_unused; k++)
            all[count++] = series[i].unused[k]->file;
    }
    if (count > 0)
        qsort(all, count, sizeof *all, compare_pointers);
    for (size_t i = 0; i < count; i++)
        files += i == 0 || all[i] != all[i - 1];
    return files;
}

const char *ts_dicom_image_name(struct dicom_series *series, const struct dicom_image *image)
{
    const char *name = ts_base_name(image->file->path);
    const bool tile = image->rows < image->file->rows;
    if (image->file->n_images == 1)
        return name;
    const char *full = ts_arena_printf(series->arena, "%s %s %lld", name, tile ? "tile" : "frame",
                                       tile ? image->tile + 1LL : (long long)image->frame + 1);
    series->no_memory |= !full;
    return full ? full : name;
}

bool ts_dicom_same_series(const struct dicom_series *a, const struct dicom_series *b)
{
    const char *const *first = a->images[0]->keys, *const *second = b->images[0]->keys;
    return !strcmp(first[KEY_SERIES], second[KEY_SERIES]) &&
           !strcmp(first[KEY_STUDY], second[KEY_STUDY]);
}

/* Returns the arena's copy of the text, or NULL, which the series remembers. */
__attribute__((format(printf, 2, 0))) static char *keep(struct dicom_series *series,
                                                        const char *format, va_list arguments)
{
    char text[TEXT_BYTES];
    vsnprintf(text, sizeof text, format, arguments);
    char *kept = ts_arena_text(series->arena, text, strlen(text));
    series->no_memory |= kept == NULL;
    return kept;
}

void ts_dicom_series_refuse(struct dicom_series *series, const char *code, const char *hint,
                            const char *format, ...)
{
    if (series->refusal)
        return;
    va_list arguments;
    va_start(arguments, format);
    const char *kept = keep(series, format, arguments);
    va_end(arguments);
    series->refusal = kept ? kept : "memory is out";
    series->refusal_code = code;
    series->hint = hint;
}

static void count_unlisted(struct dicom_series *series)
{
    char **last = &series->warnings[DICOM_MAX_WARNINGS];
    if (series->n_unlisted++ == 0)
        *last = ts_arena_alloc(series->arena, TEXT_BYTES);
    series->n_warnings = DICOM_MAX_WARNINGS + (*last != NULL);
    series->no_memory |= *last == NULL;
    if (*last)
        snprintf(*last, TEXT_BYTES, "there are more warnings, which are not listed: %zu",
                 series->n_unlisted);
}

void ts_dicom_series_warn(struct dicom_series *series, const char *format, ...)
{
    if (!series->warnings)
        series->warnings =
            ts_arena_alloc(series->arena, (DICOM_MAX_WARNINGS + 1) * sizeof *series->warnings);
    if (!series->warnings) {
        series->no_memory = true;
        return;
    }
    if (series->n_warnings >= DICOM_MAX_WARNINGS) {
        count_unlisted(series);
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    char *kept = keep(series, format, arguments);
    va_end(arguments);
    if (kept)
        series->warnings[series->n_warnings++] = kept;
}

void ts_dicom_series_leave_out(struct dicom_series *series, const bool *left)
{
    struct dicom_image **unused =
        ts_arena_alloc(series->arena, (series->n_unused + series->n_images) * sizeof *unused);
    size_t kept = 0, n = series->n_unused;
    series->no_memory |= !unused;
    if (!unused)
        return;
    if (n > 0)
        memcpy(unused, series->unused, n * sizeof *unused);
    for (size_t i = 0; i < series->n_images; i++)
        *(left[i] ? &unused[n++] : &series->images[kept++]) = series->images[i];
    series->unused = unused;
    series->n_unused = n;
    series->n_images = kept;
}
