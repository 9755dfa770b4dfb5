/* SPDX-License-Identifier: MIT
 * netcdf.c: the run as netCDF-4 in ArviZ's schema; the only file that sees netcdf.h.
 *
 *     /posterior      one variable per block of parameters: (chain, draw) for a single number,
 *                     with name_dim_0 for a vector, with name_dim_0, name_dim_1 for a matrix
 *     /sample_stats   one variable per statistic: (chain, draw)
 *     /group_effects  of models with groups, the draws of effects that are kept: one variable per
 *                     factor, effects_user (chain, draw, user) or (chain, draw, user, user_effect),
 *                     its coordinates being names; draw has the numbers of the draws in /posterior
 *
 * arviz.from_netcdf and xarray.open_datatree open it, by h5netcdf and by netCDF4. Each group has
 * its own dimensions and coordinates and the root has none (xarray aligns groups with their
 * parent). chain is the run's own number of the chain, from 0. A vector's coordinate holds its
 * parameters' names; a matrix is indexed from 0. Flags are bytes with the attribute dtype = "bool",
 * counts (tree_depth, n_steps) 64-bit integers; other statistics are doubles.
 * Deflate and shuffle are the filters every reader has.
 *
 * HDF5 never touches the disk: the file is made in memory and then written like every other export.
 * Left to itself on a full disk HDF5 leaves files that open and show wrong numbers, and crashes the
 * process when it ends (both seen with 1.10). The price is room for the compressed file in memory.
 *
 * It is made in a process of its own: netCDF and HDF5 crash or call exit where an allocation fails
 * (19 of 138 tried), and are not safe for threads. Since nothing but memory can fail there,
 * whatever goes wrong in that process counts as memory that ran out.
 */
#include "sink/effects.h"
#include "sink/export.h"

#ifdef SGFS_NO_NETCDF /* as in the Python package, which has arrays for ArviZ */

static sgfs_status print_netcdf(const sgfs_draws *d, const sgfsi_used *used, FILE *f,
                                sgfs_err *err) {
    (void)d, (void)used, (void)f;
    return sgfsi_fail(
        err, SGFS_EUSAGE,
        "This build of sgfs has no netCDF: write .csv, .stan.csv or .npy, or hand the "
        "draws to ArviZ in Python (fit.to_arviz()).");
}

#else

#include <errno.h>
#include <math.h>
#include <netcdf.h>
#include <netcdf_mem.h>
#include <stdlib.h>
#include <string.h>

#include "base/apart.h"

enum { NAME_MAX_BYTES = 200, CHUNK_NUMBERS = 1 << 17 };

typedef struct writer {
    const sgfs_draws *d;
    const sgfsi_used *used;
    sgfsi_export_block *blocks;
    int64_t block_count;
    double *numbers; /* one chain of one variable */
    sgfsi_effects effects;
    int64_t kept, *draw,
        *at;      /* draws of effects that all chains have: their numbers, and where they
                               * are (chains x kept) */
    int file, rc; /* rc: the first error; everything below does nothing after it */
} writer;

/* What one variable is made of. */
typedef struct field {
    const char *name, *given; /* given: its name in the run */
    bool stat, flag, count;
    int64_t offset, rows, cols; /* place and shape within a row of theta or of the statistics */
} field;

static bool ok(writer *w, int rc) {
    if (w->rc == NC_NOERR) w->rc = rc;
    return w->rc == NC_NOERR;
}

/* ---- names and attributes -------------------------------------------------------------------- */

/* netCDF names: no / or control characters, no odd first character, no blank at the end. */
static void make_name(char *text) {
    size_t n = strlen(text);
    if (n > NAME_MAX_BYTES) {
        n = NAME_MAX_BYTES;
        while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80) n--; /* not inside a character */
        text[n] = '\0';
    }
    for (char *c = text; *c != '\0'; c++) {
        unsigned char b = (unsigned char)*c;
        if (b < 0x20 || b == 0x7F || b == '/' || b == ' ') *c = '_';
    }
    unsigned char first = (unsigned char)text[0];
    bool letter = (first | 0x20) >= 'a' && (first | 0x20) <= 'z';
    if (!letter && first < 0x80 && !(first >= '0' && first <= '9')) text[0] = '_';
    /* a variable may not bear the name of a dimension it does not describe */
    n = strlen(text);
    if (strcmp(text, "chain") == 0 || strcmp(text, "draw") == 0) {
        text[n] = '_';
        text[n + 1] = '\0';
    }
}

static void put_text(writer *w, int group, int var, const char *name, const char *text) {
    if (w->rc == NC_NOERR) ok(w, nc_put_att_text(group, var, name, strlen(text), text));
}

static void put_attributes(writer *w, int group) {
    const sgfsi_json *h = w->d->header;
    const char *version = sgfsi_json_get_text(h, "sgfs_version", SGFS_VERSION_TEXT);
    put_text(w, group, NC_GLOBAL, "created_at", sgfsi_json_get_text(h, "created_at", ""));
    put_text(w, group, NC_GLOBAL, "creation_library", "sgfs");
    put_text(w, group, NC_GLOBAL, "creation_library_version", SGFS_VERSION_TEXT);
    put_text(w, group, NC_GLOBAL, "creation_library_language", "C");
    put_text(w, group, NC_GLOBAL, "inference_library", "sgfs");
    put_text(w, group, NC_GLOBAL, "inference_library_version", version);
    put_text(w, group, NC_GLOBAL, "model", sgfsi_json_get_text(h, "model", ""));
    put_text(w, group, NC_GLOBAL, "sampler", sgfsi_json_get_text(h, "sampler", ""));
    put_text(w, group, NC_GLOBAL, "state", w->d->state);
    double seconds = 0; /* of the chain that took longest */
    for (int64_t k = 0; k < w->used->chains; k++)
        seconds = fmax(seconds, w->d->chain[w->used->chain[k]].info.sample_seconds);
    const long long warmup = sgfsi_json_get_int(h, "warmup", 0), thin = w->d->thin;
    if (w->rc != NC_NOERR) return;
    ok(w, nc_put_att_double(group, NC_GLOBAL, "sampling_time", NC_DOUBLE, 1, &seconds));
    ok(w, nc_put_att_longlong(group, NC_GLOBAL, "tuning_steps", NC_INT64, 1, &warmup));
    ok(w, nc_put_att_longlong(group, NC_GLOBAL, "thinned_by", NC_INT64, 1, &thin));
}

/* ---- dimensions and their coordinates -------------------------------------------------------- */

/* A dimension and the variable for its coordinates; -1 when something is wrong. */
static int define_dim(writer *w, int group, const char *name, int64_t size, nc_type type,
                      int *var) {
    int dim = -1;
    bool made = w->rc == NC_NOERR && ok(w, nc_def_dim(group, name, (size_t)size, &dim)) &&
                ok(w, nc_def_var(group, name, type, 1, &dim, var));
    return made ? dim : -1;
}

/* A dimension with integer coordinates: values, or 0, 1, ... when values is NULL. */
static int put_dim(writer *w, int group, const char *name, int64_t size, const int64_t *values) {
    int var = -1, dim = define_dim(w, group, name, size, NC_INT64, &var);
    if (dim < 0) return -1;
    long long *index = malloc((size_t)size * sizeof *index);
    for (int64_t i = 0; index != NULL && i < size; i++) index[i] = values == NULL ? i : values[i];
    ok(w, index == NULL ? NC_ENOMEM : nc_put_var_longlong(group, var, index));
    free(index);
    return dim;
}

/* The dimensions after chain and draw; returns how many. Those of a matrix count from 0; the
 * coordinates of a vector are the names of its parameters: beta[age] in block beta is "age";
 * anything else is its own label. */
static int put_inner_dims(writer *w, int group, const field *f, int dims[2]) {
    char name[NC_MAX_NAME + 1];
    int64_t size = f->rows * f->cols;
    if (size == 1) return 0;
    snprintf(name, sizeof name, "%.230s_dim_0", f->name);
    if (f->rows > 1 && f->cols > 1) {
        dims[0] = put_dim(w, group, name, f->rows, NULL);
        snprintf(name, sizeof name, "%.230s_dim_1", f->name);
        dims[1] = put_dim(w, group, name, f->cols, NULL);
        return 2;
    }
    int var = -1;
    dims[0] = define_dim(w, group, name, size, NC_STRING, &var);
    size_t head = strlen(f->given);
    for (size_t i = 0; i < (size_t)size && w->rc == NC_NOERR; i++) {
        const char *param = w->d->param[f->offset + (int64_t)i];
        size_t length = strlen(param);
        bool inside = length > head + 2 && strncmp(param, f->given, head) == 0 &&
                      param[head] == '[' && param[length - 1] == ']';
        char *label = inside ? strndup(param + head + 1, length - head - 2) : strdup(param);
        const char *text = label;
        ok(w, label == NULL ? NC_ENOMEM : nc_put_var1_string(group, var, &i, &text));
        free(label);
    }
    return 1;
}

/* ---- variables ------------------------------------------------------------------------------- */

/* One chain is start .. start + count in the file. */
static void chain_slab(const writer *w, const field *f, int64_t k, size_t start[4],
                       size_t count[4]) {
    bool matrix = f->rows > 1 && f->cols > 1;
    memset(start, 0, 4 * sizeof *start);
    start[0] = (size_t)k;
    count[0] = 1;
    count[1] = (size_t)w->used->draws;
    count[2] = (size_t)(matrix ? f->rows : f->rows * f->cols);
    count[3] = (size_t)f->cols;
}

static void put_field(writer *w, int group, const int sample_dims[2], const field *f) {
    int dims[4] = {sample_dims[0], sample_dims[1], 0, 0}, var = -1;
    int inner = put_inner_dims(w, group, f, dims + 2);
    int64_t width = f->stat ? w->d->S : w->d->D, size = f->rows * f->cols;
    nc_type type = f->flag ? NC_BYTE : f->count ? NC_INT64 : NC_DOUBLE;
    if (w->rc != NC_NOERR || !ok(w, nc_def_var(group, f->name, type, 2 + inner, dims, &var)))
        return;
    /* chunks of about a megabyte, HDF5's cache, and of one chain */
    size_t start[4], count[4];
    chain_slab(w, f, 0, start, count);
    int64_t rows = CHUNK_NUMBERS / size;
    if (rows < 1) rows = 1;
    if (rows < w->used->draws) count[1] = (size_t)rows;
    if (ok(w, nc_def_var_chunking(group, var, NC_CHUNKED, count)))
        ok(w, nc_def_var_deflate(group, var, 1, 1, 1)); /* noise hardly shrinks: the cheapest */
    if (f->flag) put_text(w, group, var, "dtype", "bool");
    for (int64_t k = 0; k < w->used->chains && w->rc == NC_NOERR; k++) {
        chain_slab(w, f, k, start, count);
        /* all draws of the chain for this variable, draws x size */
        const sgfsi_chain_draws *c = &w->d->chain[w->used->chain[k]];
        const double *from = (f->stat ? c->stats : c->theta) + f->offset;
        for (int64_t t = 0; t < w->used->draws; t++) {
            memcpy(w->numbers + t * size, from + t * width, (size_t)size * sizeof(double));
            if (f->flag) w->numbers[t] = w->numbers[t] != 0;
        }
        ok(w, nc_put_vara_double(group, var, start, count, w->numbers));
    }
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Statistic s counts something, and every number of it is one that an integer holds. */
static bool is_count(const writer *w, int64_t s) {
    const char *name = w->d->stat[s];
    if (strcmp(name, SGFSI_STAT_TREE_DEPTH) != 0 && strcmp(name, SGFSI_STAT_N_STEPS) != 0)
        return false;
    for (int64_t k = 0; k < w->used->chains; k++) {
        const double *stats = w->d->chain[w->used->chain[k]].stats;
        for (int64_t t = 0; t < w->used->draws; t++) {
            double x = stats[t * w->d->S + s];
            if (!(fabs(x) < 0x1p53 && x == floor(x))) return false;
        }
    }
    return true;
}

static int put_group(writer *w, const char *name, int dims[2]) {
    const char *sample_dims[2] = {"chain", "draw"};
    int group = -1;
    if (w->rc != NC_NOERR || !ok(w, nc_def_grp(w->file, name, &group))) return -1;
    dims[0] = put_dim(w, group, "chain", w->used->chains, w->used->chain);
    dims[1] = put_dim(w, group, "draw", w->used->draws, NULL);
    put_attributes(w, group);
    if (w->rc == NC_NOERR)
        ok(w, nc_put_att_string(group, NC_GLOBAL, "sample_dims", 2, sample_dims));
    return group;
}

static void put_groups(writer *w) {
    int dims[2] = {-1, -1};
    put_attributes(w, w->file);
    /* The parameters, a variable for each block. */
    int group = put_group(w, "posterior", dims);
    for (int64_t b = 0; b < w->block_count && w->rc == NC_NOERR; b++) {
        const sgfsi_export_block *block = &w->blocks[b];
        field f = {.name = block->name,
                   .given = block->given,
                   .offset = block->offset,
                   .rows = block->rows,
                   .cols = block->cols};
        put_field(w, group, dims, &f);
    }
    /* The statistics, a variable each. */
    if (w->d->S == 0) return;
    group = put_group(w, "sample_stats", dims);
    for (int64_t s = 0; s < w->d->S && w->rc == NC_NOERR; s++) {
        const char *name = w->d->stat[s];
        field f = {name,           name, true, strcmp(name, SGFSI_STAT_DIVERGING) == 0,
                   is_count(w, s), s,    1,    1};
        put_field(w, group, dims, &f);
    }
}

/* ---- effects of groups ----------------------------------------------------------------------- */

static int put_names(writer *w, int group, const char *name, int64_t size, const char **text) {
    int var = -1, dim = define_dim(w, group, name, size, NC_STRING, &var);
    if (dim >= 0) ok(w, nc_put_var_string(group, var, text));
    return dim;
}

static void put_term(writer *w, int group, const int sample_dims[2], const sgfsi_effects_term *t) {
    char name[NC_MAX_NAME + 1], factor[NC_MAX_NAME + 1];
    int dims[4] = {sample_dims[0], sample_dims[1], 0, 0}, inner = t->q > 1 ? 2 : 1, var = -1;
    snprintf(factor, sizeof factor, "%.200s", t->factor);
    make_name(factor);
    dims[2] = put_names(w, group, factor, t->G, t->level);
    snprintf(name, sizeof name, "%.200s_effect", factor);
    if (inner == 2) dims[3] = put_names(w, group, name, t->q, t->effect);
    snprintf(name, sizeof name, "effects_%.200s", factor);
    if (w->rc != NC_NOERR || !ok(w, nc_def_var(group, name, NC_FLOAT, 2 + inner, dims, &var)))
        return;
    ok(w, nc_def_var_deflate(group, var, 1, 1, 1));
    for (int64_t k = 0; k < w->used->chains; k++) {
        for (int64_t i = 0; i < w->kept && w->rc == NC_NOERR; i++) {
            size_t start[4] = {(size_t)k, (size_t)i, 0, 0},
                   count[4] = {1, 1, (size_t)t->G, (size_t)t->q};
            const sgfs_kept_effects *kept = &w->d->effect_draws;
            const float *u = kept->u + w->at[k * w->kept + i] * kept->numbers + t->first;
            ok(w, nc_put_vara_float(group, var, start, count, u));
        }
    }
}

static void put_effects(writer *w) {
    int dims[2] = {-1, -1}, group = -1;
    if (w->kept == 0) return;
    if (w->rc != NC_NOERR || !ok(w, nc_def_grp(w->file, "group_effects", &group))) return;
    dims[0] = put_dim(w, group, "chain", w->used->chains, w->used->chain);
    dims[1] = put_dim(w, group, "draw", w->kept, w->draw);
    put_attributes(w, group);
    for (int64_t k = 0; k < w->effects.terms && w->rc == NC_NOERR; k++)
        put_term(w, group, dims, &w->effects.term[k]);
}

static int64_t find_kept(const sgfs_kept_effects *kept, int64_t chain, int64_t draw) {
    for (int64_t i = 0; i < kept->count; i++)
        if (kept->chain[i] == chain && kept->draw[i] == draw) return i;
    return -1;
}

/* The draws of effects that all chains have, among those that the file has. */
static sgfs_status list_kept(writer *w, sgfsi_arena *arena, sgfs_err *err) {
    const sgfs_kept_effects *kept = &w->d->effect_draws;
    sgfs_status status = sgfsi_effects_read(w->d, &w->effects, arena, err);
    if (status != SGFS_OK || w->effects.terms == 0 || kept->count == 0) return status;
    int64_t chains = w->used->chains, *row = sgfsi_arena_alloc(arena, chains, sizeof *row);
    w->draw = sgfsi_arena_alloc(arena, kept->count, sizeof *w->draw);
    int64_t *list = sgfsi_arena_alloc(arena, kept->count * chains, sizeof *list);
    w->at = sgfsi_arena_alloc(arena, kept->count * chains, sizeof *w->at);
    if (row == NULL || w->draw == NULL || list == NULL || w->at == NULL)
        return sgfsi_fail_memory(err, "the effects of groups");
    for (int64_t i = 0; i < kept->count; i++) {
        bool all = kept->chain[i] == w->used->chain[0] && kept->draw[i] < w->used->draws;
        for (int64_t k = 0; k < chains && all; k++) {
            row[k] = find_kept(kept, w->used->chain[k], kept->draw[i]);
            all = row[k] >= 0;
        }
        if (!all) continue;
        memcpy(list + w->kept * chains, row, (size_t)chains * sizeof *row);
        w->draw[w->kept++] = kept->draw[i];
    }
    for (int64_t i = 0; i < w->kept; i++)
        for (int64_t k = 0; k < chains; k++) w->at[k * w->kept + i] = list[i * chains + k];
    return SGFS_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* In a process of its own: nothing is freed. */
static sgfsi_made make_image(void *work) {
    enum { FIRST_BYTES = 1 << 16 }; /* of the image, which grows */
    writer *w = work;
    NC_memio image = {0};
    /* The name given to the library stands nowhere. */
    if (ok(w, nc_create_mem("sgfs", NC_NETCDF4, FIRST_BYTES, &w->file))) {
        put_groups(w);
        put_effects(w);
    }
    if (w->rc == NC_NOERR) ok(w, nc_close_memio(w->file, &image));
    if (w->rc == NC_NOERR && image.memory == NULL) w->rc = NC_ENOMEM;
    return (sgfsi_made){.bytes = image.memory,
                        .size = image.size,
                        .code = w->rc < 0   ? -w->rc
                                : w->rc > 0 ? -NC_EHDFERR
                                            : 0};
}

static sgfs_status print_netcdf(const sgfs_draws *d, const sgfsi_used *used, FILE *f,
                                sgfs_err *err) {
    writer w = {.d = d, .used = used, .rc = NC_NOERR};
    sgfsi_arena arena = {NULL};
    sgfs_status status = list_kept(&w, &arena, err);
    if (status != SGFS_OK) return sgfsi_arena_free(&arena), status;
    w.blocks = sgfsi_export_blocks(d, make_name, &w.block_count, err);
    if (w.blocks == NULL) return sgfsi_arena_free(&arena), SGFS_ENOMEM;
    int64_t widest = 1;
    for (int64_t b = 0; b < w.block_count; b++) {
        int64_t size = w.blocks[b].rows * w.blocks[b].cols;
        if (size > widest) widest = size;
    }
    w.numbers = malloc((size_t)(widest * used->draws) * sizeof(double));
    int code = w.numbers != NULL ? sgfsi_apart(make_image, &w, f) : -ENOMEM;
    free(w.numbers);
    sgfsi_export_blocks_free(w.blocks, w.block_count);
    sgfsi_arena_free(&arena);
    if (code == 0) return SGFS_OK;
    if (code < -1 && code != -ENOMEM) return sgfsi_fail_io(err, "netCDF", "make the file", -code);
    return sgfsi_fail(err, SGFS_ENOMEM,
                      "The netCDF library could not make the file, most likely because memory ran "
                      "out (%s); a .csv or .npy file needs less.",
                      code > 0    ? nc_strerror(-code)
                      : code < -1 ? strerror(-code)
                                  : "its process ended early");
}

#endif

const sgfs_export_kind sgfs_export_netcdf = {
    .name = "netcdf",
    .suffix = ".nc",
    .help = "netCDF-4 in ArviZ's schema (arviz, xarray)",
    .of_draws = true,
    .print = print_netcdf,
};
