/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the one-line form of a chain into the same tree as its YAML form:
 *
 *     dicom ./study series=2 | box radius=2 | radon angles=0,10,20 | hdf5 result.h5
 *
 * Segments are separated by |. The first is the source (it may be left out: -i gives it then), the
 * last ones may be outputs: | hdf5 r.h5 | nifti r.nii.gz. Further inputs come between them: | input
 * atlas dicom ./atlas | and | input flats like=input frames=flats |. Words are separated by spaces;
 * "double quotes" keep spaces, commas, = and | in a value, with \" and \\ for the two characters
 * themselves, and 'single quotes' do so without escapes. Values with commas are lists; brackets,
 * which may enclose them as in YAML, make rows: weights=[[0,1,0],[1,4,1],[0,1,0]], and keep blanks
 * in an item: take=[phase, 7.38 ms].
 */
#ifndef PIPELINE_CHAIN_ONELINE_H
#define PIPELINE_CHAIN_ONELINE_H

#include "pipeline/chain/tree.h"

/* Returns true if the text is one line and its first word is neither a key nor a mark of YAML. */
bool ts_oneline_is(const char *text, size_t length);
/* Returns the hint with its pieces of YAML in the one-line form: `center: {center: 5}` as `center
   center=5`. The caller frees it; NULL if memory is out. */
char *ts_oneline_hint(const char *hint);
/* Reads tree->text into tree->root, as ts_yaml_read does. */
bool ts_oneline_read(struct tree *tree);
/* Reads the value that begins at `offset` and ends at the end of the text, as in "box.radius=3"; it
   may contain spaces and |. NULL if refused (reported). */
struct node *ts_oneline_value(struct tree *tree, size_t offset);

#endif
