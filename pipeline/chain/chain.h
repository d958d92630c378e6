/* SPDX-License-Identifier: Apache-2.0
 *
 * A parsed chain: its sources, its stages with their parameters and their places in the text, and
 * its output. No shape is known yet.
 */
#ifndef PIPELINE_CHAIN_CHAIN_H
#define PIPELINE_CHAIN_CHAIN_H

#include "core/diag.h"
#include "core/params.h"
#include "io/sink/sink.h"
#include "io/source/source.h"
#include "pipeline/chain/context.h"
#include "pipeline/chain/sweep.h"
#include "stages/engine/stage.h"

enum { CHAIN_MAX_STAGES = 256, CHAIN_MAX_SOURCES = 16 };
/* The newest version of the chain's form. Defaults may differ between versions (see struct
   param). */
enum { CHAIN_VERSION = 2 };

struct chain_source {
    const char *name; /* "input", or the key under inputs: */
    const struct source_format *format;
    struct param_set set;
    const struct chain_source
        *like; /* the source whose path this one takes; NULL: it has a path of its own */
};

struct chain_stage {
    const struct stage *stage;
    struct param_set set;
    const char *name; /* name: label, or NULL */
    struct ts_span name_span;
    /* The node whose image is this stage's input. Nodes [0, n_sources) are the sources (0 is
       `input`), node n_sources + i is stage i. It is the node before the stage, unless `input:`
       names a different one. Each reference among the parameters holds its node, too. */
    int32_t input_node;
    struct ts_span span; /* where the stage's name is in the text */
};

enum chain_compression { CHAIN_DEFLATE, CHAIN_STORED, CHAIN_SMALL };
enum chain_dtype { CHAIN_OWN, CHAIN_F16 };

/* An output in a format other than HDF5. */
struct chain_sink {
    const struct sink_format *format;
    const char *path; /* joined to the path of the chain's folder */
    struct ts_span span;
};

struct chain_output {
    /* of the HDF5 file, joined to the path of the chain's folder; NULL: none given */
    const char *path;
    struct ts_span span;
    /* outputs in addition to the HDF5 file, or in its place */
    struct chain_sink sinks[SINK_FORMATS];
    int32_t n_sinks;
    int32_t compression; /* enum chain_compression */
    int32_t dtype;       /* enum chain_dtype */
    struct ts_numbers window;
    int32_t codec; /* enum sink_codec */
};

struct ts_chain {
    const struct ts_context *context; /* NULL: that of the process */
    char *source_name, *text;         /* for messages */
    size_t text_length;
    int32_t version; /* 1 to CHAIN_VERSION */
    struct chain_source sources[CHAIN_MAX_SOURCES];
    int32_t n_sources;
    struct chain_stage *stages;
    int32_t n_stages;
    struct chain_sweep sweep;
    struct chain_output output;
    /* This chain runs as a part of another one, for the tables of its last stage: images may be
       unused, and there is no output. */
    bool part;
    struct arena *arena; /* owns every string, list and parameter struct above */
};

/* The table of the output's parameters other than its paths. */
enum { CHAIN_OUTPUT_PARAMS = 4 };
extern const struct param ts_chain_output_params[CHAIN_OUTPUT_PARAMS];

/* Reads a chain from a text into a context, as ts_context_parse does. */
enum ts_status ts_chain_read(const struct ts_context *context, const char *text, size_t length,
                             const char *name, const char *folder, struct ts_chain **chain,
                             struct ts_diag *diag);
/* Returns the chain with every parameter written out, as YAML without any path, for the record in
   results. The caller frees it; NULL if memory is out. */
char *ts_chain_canonical(const struct ts_chain *chain);
/* Returns true if the chain is that of a caller of the library, whom messages tell of functions and
   not of the command line: an input is an array, or the process is no program of this project. */
bool ts_chain_is_of_caller(const struct ts_chain *chain);

#endif
