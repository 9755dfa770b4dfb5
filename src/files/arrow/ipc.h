/* SPDX-License-Identifier: MIT
 * ipc.h: the messages of an Arrow stream: what columns there are, then batches of rows.
 *
 * A stream is a row of messages, each a small table of FlatBuffers and a body of plain arrays
 * (arrow.apache.org/docs/format/Columnar.html). A file of Arrow is a stream between two magic
 * words. Here messages are read one after another, and every number in them is checked against the
 * bytes that are there. Compressed bodies are refused.
 */
#pragma once

#include "base/bytes.h"

typedef enum sgfsi_ipc_kind {
    SGFSI_IPC_OTHER, /* lists, bytes, ...: neither numbers nor words */
    SGFSI_IPC_BOOL,
    SGFSI_IPC_INT,
    SGFSI_IPC_UINT,
    SGFSI_IPC_FLOAT,
    SGFSI_IPC_TEXT,
    SGFSI_IPC_TIME /* days, or a part of a second, since 1970 */
} sgfsi_ipc_kind;

/* How values of a column lie in memory. */
typedef struct sgfsi_ipc_type {
    sgfsi_ipc_kind kind;
    int bits;          /* of a number; of the offsets of a text, 0 where it has views */
    const char *shown; /* in a sentence, of kinds OTHER and TIME */
    int64_t an_hour;   /* of kind TIME: units; 0: they are days */
} sgfsi_ipc_type;

typedef struct sgfsi_ipc_field {
    char *name; /* malloc'ed */
    sgfsi_ipc_type type;
    bool coded; /* cells are numbers (index) of values in dictionary `id` */
    sgfsi_ipc_type index;
    int64_t id;
    int64_t nodes, buffers, views; /* that it has in a batch, with all that is inside of it */
    int64_t node, buffer, view;    /* the first of each in the batch at hand */
} sgfsi_ipc_field;

/* The cells of one column in a batch, or the values of a dictionary. */
typedef struct sgfsi_ipc_array {
    sgfsi_ipc_type type;
    int64_t rows;
    const unsigned char *valid;   /* a bit for each row, or NULL: all are */
    const unsigned char *data;    /* numbers, offsets, or views */
    const unsigned char *text;    /* of offsets */
    int64_t text_bytes, variadic; /* of views: buffers with long texts */
    const unsigned char *buffer;  /* their list: 16 bytes each, checked */
    const unsigned char *body;
} sgfsi_ipc_array;

/* A dictionary: its values as texts. */
typedef struct sgfsi_ipc_words {
    int64_t id, count, room;
    char **text;      /* malloc'ed; NULL: a missing value */
    int64_t replaced; /* how often all of them were replaced */
    double bytes;     /* of memory, about */
} sgfsi_ipc_words;

typedef struct sgfsi_ipc {
    const char *path;  /* borrowed */
    double most_bytes; /* of a batch, and of a dictionary, in memory; 0 or less: no limit */
    sgfsi_bytes *in;
    bool ended; /* what follows are no more batches */
    int64_t fields, words;
    sgfsi_ipc_field *field; /* fields */
    sgfsi_ipc_words *word;  /* words */
    /* the message at hand */
    unsigned char *head, *body;
    size_t head_bytes, body_bytes, head_room, body_room;
    int64_t rows, row_nodes, row_buffers, variadics;
    const unsigned char *node, *buffer, *variadic; /* of the batch: lists in head */
} sgfsi_ipc;

/* Does a file that begins so hold Arrow? */
bool sgfsi_ipc_probe(const unsigned char *head, size_t bytes);
/* The columns. On failure it is to be closed as well. */
sgfs_status sgfsi_ipc_open(sgfsi_ipc *a, const char *path, double most_bytes, sgfs_err *err);
void sgfsi_ipc_close(sgfsi_ipc *a); /* safe on a zeroed value */
/* The first batch comes next again; the columns stay what they were. */
sgfs_status sgfsi_ipc_rewind(sgfsi_ipc *a, sgfs_err *err);
/* The next batch of rows; a->rows is 0 at the end. */
sgfs_status sgfsi_ipc_next(sgfsi_ipc *a, sgfs_err *err);
/* A column of the batch at hand. */
sgfs_status sgfsi_ipc_column(const sgfsi_ipc *a, int64_t field, sgfsi_ipc_array *out,
                             sgfs_err *err);
/* The dictionary of a coded column; NULL: it has not come. */
const sgfsi_ipc_words *sgfsi_ipc_dictionary(const sgfsi_ipc *a, int64_t id);

bool sgfsi_ipc_is_valid(const sgfsi_ipc_array *array, int64_t i);
double sgfsi_ipc_number(const sgfsi_ipc_array *array, int64_t i); /* of kinds BOOL to FLOAT */
double sgfsi_ipc_hours(const sgfsi_ipc_array *array, int64_t i);  /* of kind TIME; since 1970 */
/* A text where it lies; false: the file is damaged. */
bool sgfsi_ipc_text(const sgfsi_ipc_array *array, int64_t i, const char **text, size_t *bytes);
sgfs_status sgfsi_ipc_damaged(const sgfsi_ipc *a, const char *what, sgfs_err *err);
