/* SPDX-License-Identifier: Apache-2.0
 *
 * A decoder is a sandboxed process that undoes the filters of chunks for one thread. The thread
 * puts the encoded bytes into shared memory and gets the values there.
 */
#ifndef IO_HDF5_HDF5_DECODER_H
#define IO_HDF5_HDF5_DECODER_H

#include "core/diag.h"
#include "io/hdf5/hdf5_filters.h"

struct hdf5_decoder;
struct sandbox;

/* Starts a decoder for chunks of this kind. */
enum ts_status ts_hdf5_decoder_create(struct sandbox *sandbox, const struct hdf5_pipeline *pipeline,
                                      struct hdf5_decoder **decoder, struct ts_diag *diag);
void ts_hdf5_decoder_destroy(struct hdf5_decoder *decoder); /* NULL does nothing */
/* Returns the space for an encoded chunk, of ts_hdf5_pipeline_bound bytes. */
unsigned char *ts_hdf5_decoder_encoded(const struct hdf5_decoder *decoder);
/* Returns the values of the chunk that was decoded last. The process may change them at any
 * time. */
unsigned char *ts_hdf5_decoder_block(const struct hdf5_decoder *decoder);
/* Decodes the encoded bytes. If the chunk is damaged, returns TS_BAD_INPUT without reporting it:
   `what` then completes "the chunk ...". Reports other failures. */
enum ts_status ts_hdf5_decoder_undo(struct hdf5_decoder *decoder, size_t bytes, uint32_t skipped,
                                    char *what, size_t size, struct ts_diag *diag);
/* Returns the memory of a decoder: that of its process, and the shared one. */
size_t ts_hdf5_decoder_bytes(const struct hdf5_pipeline *pipeline);

#endif
