/* SPDX-License-Identifier: MIT
 * pack.c: any files to one packed file, in memory that does not grow with their rows; or each of
 * them to one of its own, shared out between processes (--each).
 *
 *     files -> flow -> recipe -> cells of one type -> shuffle (packed/shuffle.c) -> packer -> .sgd
 *
 * Operations that have to look at rows first (--standardize, --categorical) cost one pass over the
 * files each. The first flow stays open to the end: names, words and levels are its. Rows are
 * turned into the file's type before they are shuffled, so that what goes to the disk is no larger
 * than it has to be. All or nothing: the packer's file gets its name when it is complete, and what
 * the shuffle writes never has one.
 *
 * Shapes: in: rows x cols of the files; out, raw: rows x cols of the packed file.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/scratch.h"
#include "base/ticker.h"
#include "context/comm/comm.h"
#include "files/files.h"
#include "files/flow.h"
#include "files/formula/formula.h"
#include "files/packed/packed.h"
#include "files/packed/packed_cells.h"
#include "files/packed/shuffle.h"
#include "files/transform/transform.h"
#include "jobs/job.h"

enum {
    MOST_BLOCK = 4 * 1024 * 1024, /* bytes of the rows taken at once */
    BLOCK_SHARE = 16,             /* at most this part of the memory */
    PACKER = 3 * 1024 * 1024,     /* bytes the packer may take */
    MOST_DENSE = 20000            /* columns of sparse files that are worth writing with zeros */
};

static const sgfs_option pack_options[] = {
    {"pack.memory", "memory", SGFS_TEXT, "512M", 1, 0, NULL,
     "memory for shuffling, in bytes, k, M, G or T; more rows go through the disk"},
    {"pack.shuffle", "shuffle", SGFS_FLAG, "true", 1, 0, NULL,
     "put the rows into a random order, which sampling in chunks needs"},
    {"pack.seed", "shuffle-seed", SGFS_INTEGER, "1", 0, 9e18, NULL,
     "which order: the same seed, the same file, whatever the memory"},
    {"pack.each", "each", SGFS_FLAG, "false", 1, 0, NULL,
     "a packed file for each file, in the folder --out; processes (--mpi) share the files"},
    SGFSI_OPTIONS_END};

typedef struct pack {
    sgfs_job job;
    sgfs_config *cfg; /* with --formula as the options it stands for */
    char *out;        /* or NULL: check the packed file `path` */
    char *path;
    sgfsi_files files; /* that become one packed file: all, or one after the other */
    int64_t memory;
    double input; /* bytes of all files */
    sgfs_pack_info info;
} pack;

/* One attempt at the work. */
typedef struct packing {
    pack *pack;
    const char *path;
    sgfsi_read_options options, later_options; /* of the first flow and of later ones */
    sgfsi_flow first, later; /* of the first pass, and of the one at hand after that */
    sgfsi_recipe *recipe;
    sgfsi_table head; /* of what comes out; borrows all from the recipe and the first flow */
    sgfsi_dtype type;
    sgfsi_packer *packer;
    sgfsi_shuffle *shuffle; /* NULL: rows keep their order */
    double *in, *out;
    char *raw;
    int64_t most; /* rows they have room for */
    int64_t rows; /* that stay, so far */
    bool room_checked;
    sgfsi_ticker ticker;
    double taken; /* rows the shuffle has handed over */
} packing;

/* "512M", "1.5G", "200000": bytes, by powers of 1024; -1: no size. */
static int64_t parse_size(const char *text) {
    static const char units[] = "kMGT";
    char *end;
    double x = strtod(text, &end);
    if (end == text || !(x > 0)) return -1;
    const char *unit = *end != '\0' ? strchr(units, *end == 'K' ? 'k' : *end) : NULL;
    if (*end != '\0' && unit == NULL) return -1;
    if (unit != NULL) x *= pow(1024, (double)(unit - units + 1));
    if (unit != NULL && strcmp(end + 1, "") != 0 && strcmp(end + 1, "B") != 0 &&
        strcmp(end + 1, "iB") != 0)
        return -1;
    return x < 0x1p60 ? (int64_t)x : -1;
}

/* ---- opening --------------------------------------------------------------------------------- */

static sgfs_status open_pack(pack *p, const char *data, sgfs_err *err) {
    const char *memory = sgfsi_config_text(p->job.cfg, "pack.memory");
    p->memory = parse_size(memory);
    if (p->memory < 0)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--memory %.60s: is no size; give a number with k, M or G, as in 512M.",
                          memory);
    if (sgfsi_config_given(p->job.cfg, "data.intercept"))
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--intercept and --no-intercept are no matter of the file: give them to "
                          "sgfs sample.");
    return sgfsi_files_open(&p->files, data, sgfsi_config_log(p->job.cfg), err);
}

sgfs_job *sgfs_pack_open(const char *data, const char *out, const sgfs_config *cfg, sgfs_err *err) {
    pack *p = sgfsi_job_new(&sgfsi_job_pack, sizeof *p, data != NULL ? cfg : NULL,
                            "sgfs_pack_open: data and a config are needed.", err);
    if (p == NULL) return NULL;
    p->path = sgfsi_arena_text(&p->job.arena, data);
    if (out != NULL) p->out = sgfsi_arena_text(&p->job.arena, out);
    sgfs_status status = SGFS_OK;
    if (p->path == NULL || (out != NULL && p->out == NULL))
        status = sgfsi_fail_memory(err, "packing");
    else if (out != NULL) status = open_pack(p, data, err);
    return sgfsi_job_opened(&p->job, status);
}

static void close_pack(sgfs_job *job) {
    sgfsi_files_close(&((pack *)job)->files);
    sgfs_config_free(((pack *)job)->cfg);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static sgfs_status check_stop(const packing *w, sgfs_err *err) {
    if (!sgfsi_job_stopping(&w->pack->job)) return SGFS_OK;
    return sgfsi_fail(err, SGFS_ESTOPPED,
                      "Stopped early: nothing was written. The same command starts over.");
}

/* What a recipe says, with the files in front. */
static sgfs_status blame(const packing *w, sgfs_status status, sgfs_err *err) {
    if (status == SGFS_OK || err == NULL) return status;
    const sgfs_err own = *err;
    return sgfsi_fail(err, status, "%.200s: %s", w->pack->files.shown, own.text);
}

static sgfs_status write_block(packing *w, const sgfsi_flow *flow, int64_t n, bool *done,
                               sgfs_err *err) {
    int64_t kept = 0;
    sgfs_status status = sgfsi_recipe_run(w->recipe, n, w->in, w->out, &kept, done, err);
    if (status != SGFS_OK) return blame(w, status, err);
    w->rows += kept;
    /* Rows there will be, going by those that came from this part of the files; 0: too early to
     * say. */
    double fraction = flow->fraction(flow);
    int64_t limit = sgfsi_config_int(w->pack->cfg, "data.limit");
    double all = fraction > 0 ? (double)w->rows / fraction : 0;
    double rows = limit > 0 && all > (double)limit ? (double)limit : all;
    /* Rows that keep their order need room for the result only; the shuffle checks for itself. */
    if (!w->room_checked && rows > 0) {
        char need[24], have[24];
        double want = rows * (double)w->head.cols * (double)sgfsi_dtype_size(w->type);
        double there = sgfsi_free_bytes(w->path);
        w->room_checked = true;
        if (there >= 0 && want > there)
            return sgfsi_fail(err, SGFS_EIO, "%s: needs about %s, and the disk has %s.", w->path,
                              sgfsi_format_bytes(want, need), sgfsi_format_bytes(there, have));
    }
    if (w->shuffle == NULL) return sgfsi_packer_add(w->packer, kept, w->out, err);
    status = sgfsi_packer_cells(w->packer, kept, w->out, w->raw, err);
    return status == SGFS_OK ? sgfsi_shuffle_add(w->shuffle, kept, w->raw, rows, err) : status;
}

static sgfs_status take_rows(void *user, int64_t n, const void *rows, sgfs_err *err) {
    packing *w = user;
    sgfs_status status = check_stop(w, err);
    if (status == SGFS_OK && n > 0) status = sgfsi_packer_add_raw(w->packer, n, rows, err);
    w->taken += (double)n;
    return status == SGFS_OK ? sgfsi_tick(&w->ticker, w->taken / (double)w->rows, err) : status;
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* Pass k over all rows: the recipe looks at them, or, in the last pass, they are written. The first
 * pass has the first flow, later ones the same files again, of which everything worth a note has
 * been said. *restarted: the target held words after all, and all has to begin anew. */
static sgfs_status go_through(packing *w, int64_t k, bool *restarted, sgfs_err *err) {
    static const sgfsi_log silent = {NULL};
    const sgfsi_files *files = &w->pack->files;
    sgfsi_flow *flow = k == 0 ? &w->first : &w->later;
    bool done = false, looking = k < sgfsi_recipe_looks(w->recipe);
    sgfs_status status = SGFS_OK;
    if (k > 0) {
        sgfsi_flow_close(&w->later);
        w->later_options = w->options;
        w->later_options.log = &silent;
        w->later_options.words = w->first.head.text_col >= 0;
        w->later_options.known = &w->first.head;
        status = sgfsi_flow_open(&w->later, files->count, (const char *const *)files->path,
                                 &w->later_options, err);
    }
    sgfsi_recipe_rewind(w->recipe);
    while (status == SGFS_OK && !done) {
        int64_t n = 0;
        status = sgfsi_flow_next(flow, w->most, w->in, NULL, &n, err);
        if (status != SGFS_OK) break;
        *restarted = flow->restarted;
        flow->restarted = false;
        if (*restarted && k > 0)
            return sgfsi_fail(err, SGFS_EDATA, "%s: changed while it was read.", files->shown);
        if (n == 0) break;
        status = check_stop(w, err);
        if (status != SGFS_OK) break;
        status = looking ? blame(w, sgfsi_recipe_look(w->recipe, k, n, w->in, err), err)
                         : write_block(w, flow, n, &done, err);
        if (status == SGFS_OK) status = sgfsi_tick(&w->ticker, flow->fraction(flow), err);
    }
    return status;
}

/* ---- the file that is to be ------------------------------------------------------------------ */

static sgfs_status check_columns(const packing *w, sgfs_err *err) {
    const sgfs_reader_kind *kind = sgfsi_table_reader(w->pack->files.path[0], err);
    if (kind == NULL) return sgfsi_why(err);
    if (!kind->sparse) return SGFS_OK;
    if (w->head.cols > MOST_DENSE)
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: packed rows hold their zeros, and %lld columns of them are too many "
                          "(%d at most): sample from the file itself, or use --features or "
                          "--project.",
                          w->pack->files.shown, (long long)w->head.cols, MOST_DENSE);
    sgfsi_say(
        w->options.log, SGFS_NOTE,
        "Packed rows hold their zeros: %lld columns each. Sampling from the libsvm file itself "
        "leaves them out.",
        (long long)w->head.cols);
    return SGFS_OK;
}

/* Rows of so many bytes that are taken at once. */
static int64_t rows_at_once(const packing *w, int64_t row_bytes) {
    int64_t block = w->pack->memory / BLOCK_SHARE;
    block = block < MOST_BLOCK ? block : MOST_BLOCK;
    return block > row_bytes ? block / row_bytes : 1;
}

/* Room for blocks, and what is left of the memory for the shuffle. */
static sgfs_status make_room(packing *w, int64_t *left, sgfs_err *err) {
    int64_t cols = w->head.cols, cells = cols * (int64_t)sgfsi_dtype_size(w->type);
    int64_t row = (w->first.head.cols + cols) * (int64_t)sizeof(double) + cells;
    int64_t most = rows_at_once(w, row), least = sgfsi_shuffle_least(cells);
    w->most = most < w->most ? most : w->most;
    *left = w->pack->memory - w->most * row - PACKER;
    if (*left < least) {
        double need = (double)(least + PACKER + row) * BLOCK_SHARE / (BLOCK_SHARE - 1);
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--memory %s is too little for rows of %lld bytes: give at least %.0fM.",
                          sgfsi_config_text(w->pack->job.cfg, "pack.memory"), (long long)cells,
                          ceil(need / 1048576));
    }
    w->out = malloc((size_t)(w->most * cols) * sizeof *w->out);
    w->raw = malloc((size_t)(w->most * cells));
    return w->out != NULL && w->raw != NULL ? SGFS_OK : sgfsi_fail_memory(err, "a block of rows");
}

/* What comes out is known now. */
static sgfs_status prepare(packing *w, sgfs_err *err) {
    int64_t left;
    w->head = *sgfsi_recipe_head(w->recipe);
    /* Numbers stay what they are in the files unless something computes others. */
    const sgfs_config *cfg = w->pack->cfg;
    sgfsi_dtype type = w->first.head.type;
    w->type = sgfsi_recipe_selects(w->recipe) && type != SGFSI_CSR ? type : SGFSI_F64;
    if (sgfsi_config_given(cfg, "data.storage"))
        w->type = w->options.single ? SGFSI_F32 : SGFSI_F64;
    sgfs_status status = check_columns(w, err);
    if (status == SGFS_OK) status = make_room(w, &left, err);
    if (status != SGFS_OK) return status;
    bool shuffle = sgfsi_config_flag(cfg, "pack.shuffle");
    const sgfsi_packer_plan plan = {.path = w->path,
                                    .overwrite = sgfsi_config_flag(cfg, "output.overwrite"),
                                    .head = &w->head,
                                    .type = w->type,
                                    .shuffled = shuffle || w->first.head.shuffled,
                                    .log = w->options.log};
    status = sgfsi_packer_open(&w->packer, &plan, err);
    if (status != SGFS_OK || !shuffle) return status;
    const sgfsi_shuffle_plan order = {.row_bytes =
                                          w->head.cols * (int64_t)sgfsi_dtype_size(w->type),
                                      .memory = left,
                                      .seed = (uint64_t)sgfsi_config_int(cfg, "pack.seed"),
                                      .beside = w->path};
    return sgfsi_shuffle_open(&w->shuffle, &order, err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* All but the first flow, which stays. */
static void clear(packing *w) {
    sgfsi_packer_abandon(w->packer);
    sgfsi_shuffle_free(w->shuffle);
    sgfsi_recipe_free(w->recipe);
    sgfsi_flow_close(&w->later);
    free(w->in);
    free(w->out);
    free(w->raw);
    *w = (packing){.pack = w->pack, .path = w->path, .options = w->options, .first = w->first};
}

static sgfs_status attempt(packing *w, bool *restarted, sgfs_err *err) {
    int64_t cols = w->first.head.cols;
    sgfs_status status = sgfsi_recipe_new(&w->recipe, w->pack->cfg, &w->first.head, true, err);
    if (status != SGFS_OK) return blame(w, status, err);
    w->most = rows_at_once(w, cols * (int64_t)sizeof *w->in);
    w->in = malloc((size_t)(w->most * cols) * sizeof *w->in);
    if (w->in == NULL) return sgfsi_fail_memory(err, "a block of rows");
    int64_t looks = sgfsi_recipe_looks(w->recipe);
    for (int64_t k = 0; k <= looks; k++) {
        char what[80] = "Reading";
        if (k < looks)
            snprintf(what, sizeof what, "Looking at the rows, pass %lld of %lld", (long long)k + 1,
                     (long long)looks + 1);
        else status = prepare(w, err);
        w->ticker = sgfsi_ticker_start(w->options.log, what);
        if (status == SGFS_OK) status = go_through(w, k, restarted, err);
        if (status != SGFS_OK || *restarted) return status;
        status = k < looks ? sgfsi_recipe_looked(w->recipe, k, err)
                           : sgfsi_recipe_finish(w->recipe, err);
        if (status != SGFS_OK) return blame(w, status, err);
    }
    w->head = *sgfsi_recipe_head(w->recipe); /* its levels may have grown */
    if (w->shuffle != NULL) {
        w->ticker = sgfsi_ticker_start(w->options.log, "Writing");
        status = sgfsi_shuffle_drain(w->shuffle, take_rows, w, err);
        if (status != SGFS_OK) return status;
        w->pack->info.spilled = sgfsi_shuffle_spilled(w->shuffle);
    }
    const sgfsi_json *before = w->first.head.recipe;
    if (before != NULL || !sgfsi_recipe_is_empty(w->recipe)) { /* which has counted by now */
        sgfsi_json *recipe = sgfsi_recipe_describe(w->recipe, before);
        sgfsi_packer_recipe(w->packer, recipe);
        if (!sgfsi_json_whole(recipe)) return sgfsi_fail_memory(err, "the transforms");
    }
    sgfsi_packer *packer = w->packer;
    w->packer = NULL;
    w->pack->info.read = w->pack->input * (double)(looks + 1);
    return sgfsi_packer_commit(packer, err);
}

/* What the file says of itself. */
static sgfs_status describe_file(const char *path, const sgfs_config *cfg, bool verify,
                                 sgfs_pack_info *info, sgfs_err *err) {
    sgfsi_read_options options = sgfsi_read_options_of(cfg);
    options.target = options.features = options.weights = options.exposure = options.groups = "";
    sgfsi_table t = {.rows = 0};
    sgfs_status status = sgfs_reader_packed.map(path, &options, &t, err);
    if (status == SGFS_OK && verify)
        status = sgfsi_packed_verify(&t, options.threads, options.log, err);
    if (status == SGFS_OK) {
        info->rows = t.rows;
        info->cols = t.cols;
        info->type = sgfsi_dtype_name(t.type);
        info->shuffled = t.shuffled;
        info->chunk_rows = t.part->chunk_rows;
        info->chunk_bytes = t.part->chunk_bytes;
        info->chunks = t.part->packed->chunks;
        info->bytes = (double)t.part->map_bytes;
    }
    sgfsi_table_free(&t);
    return status;
}

static sgfs_status pack_all(packing *w, sgfs_err *err) {
    bool restarted = true;
    sgfs_status status =
        sgfsi_flow_open(&w->first, w->pack->files.count, (const char *const *)w->pack->files.path,
                        &w->options, err);
    /* The last column was taken because nobody said anything. */
    const sgfsi_table *h = &w->first.head;
    bool silent = status != SGFS_OK || !h->named || w->options.target[0] != '\0';
    for (int64_t j = 0; !silent && j < h->cols; j++) {
        if (h->role[j] != SGFSI_ROLE_TARGET || strcmp(h->names[j], "y") == 0) continue;
        sgfsi_say(w->options.log, SGFS_NOTE,
                  "The target is \"%.60s\", the last column (--target names another).",
                  h->names[j]);
    }
    while (status == SGFS_OK && restarted) {
        restarted = false;
        status = attempt(w, &restarted, err);
        /* A --standardize that comes last could have been left to sampling. */
        if (status == SGFS_OK && !restarted) {
            sgfsi_json *steps = sgfsi_recipe_describe(w->recipe, NULL);
            const sgfsi_json *last = sgfsi_json_at(steps, sgfsi_json_length(steps) - 1);
            if (strcmp(sgfsi_json_get_text(last, "op", ""), "standardize") == 0)
                sgfsi_say(w->options.log, SGFS_NOTE,
                          "The packed columns are standardised, and draws will be on that scale; "
                          "--standardize given to sgfs sample in place of here keeps yours.");
            sgfsi_json_free(steps);
        }
        clear(w);
    }
    sgfsi_flow_close(&w->first);
    return status;
}

static double bytes_of(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (double)st.st_size : 0;
}

/* p->files as one packed file. */
static sgfs_status pack_files(pack *p, const char *out, sgfs_err *err) {
    packing w = {.pack = p, .path = out, .options = sgfsi_read_options_of(p->cfg)};
    p->input = 0;
    for (int64_t i = 0; i < p->files.count; i++) p->input += bytes_of(p->files.path[i]);
    sgfs_status status = pack_all(&w, err);
    if (status != SGFS_OK) sgfsi_files_tidy(&p->files, err);
    return status == SGFS_OK ? describe_file(out, p->job.cfg, false, &p->info, err) : status;
}

/* ---- each file by itself --------------------------------------------------------------------- */

/* FOLDER/part-1.sgd for rows/part-1.csv.gz; from the arena. */
static char *name_beside(pack *p, const char *file) {
    static const char *const squeezed[] = {".gz", ".zst", ".bz2", ".xz"};
    const char *slash = strrchr(file, '/'), *base = slash != NULL ? slash + 1 : file;
    size_t length = strlen(base), folder = strlen(p->out);
    for (size_t k = 0; k < sizeof squeezed / sizeof squeezed[0]; k++) {
        size_t end = strlen(squeezed[k]);
        if (length > end && strncmp(base + length - end, squeezed[k], end) == 0) length -= end;
    }
    size_t stem = length;
    while (stem > 1 && base[stem - 1] != '.') stem--;
    if (stem > 1) length = stem - 1;
    char *name = sgfsi_arena_alloc(&p->job.arena, (int64_t)(folder + length) + 8, 1);
    const char *between = folder > 0 && p->out[folder - 1] == '/' ? "" : "/";
    if (name != NULL)
        snprintf(name, folder + length + 8, "%s%s%.*s.sgd", p->out, between, (int)length, base);
    return name;
}

/* Names of the packed files, which are neither each other's nor those of the data. */
static sgfs_status name_each(pack *p, char **name, sgfs_err *err) {
    const sgfsi_files *f = &p->files;
    struct stat st, other;
    if (mkdir(p->out, 0777) != 0 && errno != EEXIST) /* another process may have made it */
        return sgfsi_fail_io(err, p->out, "make this folder", errno);
    if (stat(p->out, &st) != 0 || !S_ISDIR(st.st_mode))
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%.300s: is no folder, and --each puts the packed files into one.",
                          p->out);
    for (int64_t k = 0; k < f->count; k++) {
        name[k] = name_beside(p, f->name[k]);
        if (name[k] == NULL) return sgfsi_fail_memory(err, "the list of files");
        if (strcmp(f->path[k], f->name[k]) != 0)
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "--each needs files with names, and %.100s has none.", f->name[k]);
        for (int64_t i = 0; i < k; i++)
            if (strcmp(name[i], name[k]) == 0)
                return sgfsi_fail(err, SGFS_EUSAGE,
                                  "%.200s and %.200s would both become %.200s: pack them into "
                                  "different folders.",
                                  f->name[i], f->name[k], name[k]);
        bool there = stat(name[k], &st) == 0;
        for (int64_t i = 0; there && i < f->count; i++)
            if (stat(f->path[i], &other) == 0 && st.st_dev == other.st_dev &&
                st.st_ino == other.st_ino)
                return sgfsi_fail(err, SGFS_EUSAGE, "%.300s: is an input of the same command.",
                                  name[k]);
    }
    return SGFS_OK;
}

/* Which process packs which file: the largest first, each to the one that has least so far. */
static sgfs_status deal_files(const pack *p, const sgfsi_comm *comm, int64_t *owner,
                              sgfs_err *err) {
    const int64_t count = p->files.count;
    double *bytes = calloc((size_t)(count + comm->size), sizeof *bytes);
    sgfs_status status = bytes != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the list of files");
    for (int64_t k = 0; k < count && bytes != NULL; k++) bytes[k] = 1 + bytes_of(p->files.path[k]);
    for (int64_t given = 0; given < count && bytes != NULL; given++) {
        double *load = bytes + count;
        int64_t file = 0, least = 0;
        for (int64_t k = 1; k < count; k++)
            if (bytes[k] > bytes[file]) file = k;
        for (int64_t r = 1; r < comm->size; r++)
            if (load[r] < load[least]) least = r;
        load[least] += bytes[file];
        bytes[file] = 0;
        owner[file] = least;
    }
    free(bytes);
    return sgfsi_comm_broadcast(comm, status, count * (int64_t)sizeof *owner, owner, err);
}

/* What all processes have packed, each of them a row of sums. */
static sgfs_status add_up(pack *p, const sgfsi_comm *comm, const char *first, sgfs_err *err) {
    enum { SUMS = 4 };
    double(*sum)[SUMS] = calloc((size_t)comm->size, sizeof *sum);
    if (sum == NULL) return sgfsi_fail_memory(err, "the list of files");
    double *own = sum[comm->rank];
    own[0] = (double)p->info.rows;
    own[1] = p->info.bytes;
    own[2] = p->info.read;
    own[3] = p->info.spilled;
    sgfs_status status =
        sgfsi_comm_gather(comm, SGFS_OK, comm->size, sizeof *sum, sizeof *sum, sum, err);
    if (status == SGFS_OK && comm->rank == 0)
        status = describe_file(first, p->job.cfg, false, &p->info, err);
    p->info.rows = 0;
    p->info.bytes = p->info.read = p->info.spilled = 0;
    for (int64_t r = 0; r < comm->size; r++) {
        p->info.rows += (int64_t)sum[r][0];
        p->info.bytes += sum[r][1];
        p->info.read += sum[r][2];
        p->info.spilled += sum[r][3];
    }
    free(sum);
    return status;
}

static sgfs_status pack_each(pack *p, sgfs_err *err) {
    const sgfsi_comm *comm = NULL;
    const sgfsi_files all = p->files;
    char **name = sgfsi_arena_alloc(&p->job.arena, all.count, sizeof *name);
    int64_t *owner = sgfsi_arena_alloc(&p->job.arena, all.count, sizeof *owner);
    if (name == NULL || owner == NULL) return sgfsi_fail_memory(err, "the list of files");
    sgfs_status status = sgfsi_comm_open(&comm, p->job.cfg, err);
    if (status == SGFS_OK) status = name_each(p, name, err);
    if (status == SGFS_OK) status = deal_files(p, comm, owner, err);
    sgfs_pack_info sum = {.rows = 0};
    for (int64_t k = 0; k < all.count && status == SGFS_OK; k++) {
        if (owner[k] != comm->rank) continue;
        p->info = (sgfs_pack_info){.rows = 0};
        p->files = (sgfsi_files){
            .count = 1, .path = &all.path[k], .name = &all.name[k], .shown = all.name[k]};
        status = pack_files(p, name[k], err);
        p->files = all;
        sum.rows += p->info.rows;
        sum.bytes += p->info.bytes;
        sum.read += p->info.read;
        sum.spilled += p->info.spilled;
    }
    p->info = sum;
    return status == SGFS_OK ? add_up(p, comm, name[0], err) : status;
}

static sgfs_status run(sgfs_job *job, sgfs_err *err) {
    pack *p = (pack *)job;
    sgfs_status status = SGFS_OK;
    /* A formula is the options it stands for, and an operation. */
    p->cfg = sgfsi_formula_expand(job->cfg, err);
    if (p->cfg == NULL) return sgfsi_why(err);
    if (!sgfsi_config_auto(p->cfg, "data.effects"))
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "Groups have no meaning for sgfs pack: pack the columns as they are, groups "
            "as numbers, and say it to sgfs sample.");
    bool counts;
    if (sgfsi_formula_counts(job->cfg, &counts, err) != SGFS_OK) return sgfsi_why(err);
    if (counts)
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "cbind() has no meaning for sgfs pack: pack both columns as they are, and "
            "say it to sgfs sample.");
    if (p->out != NULL && sgfsi_config_flag(job->cfg, "pack.each")) {
        status = pack_each(p, err);
    } else if (p->out != NULL) {
        status = pack_files(p, p->out, err);
    } else {
        status = describe_file(p->path, job->cfg, true, &p->info, err);
    }
    p->info.seconds = sgfsi_job_seconds(job);
    if (status == SGFS_OK) job->result = &p->info;
    return status;
}

static sgfsi_json *to_json(const sgfs_job *job) {
    const sgfs_pack_info *info = &((const pack *)job)->info;
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_int(o, "rows", info->rows);
    sgfsi_json_int(o, "columns", info->cols);
    SGFSI_JSON(o, info, type, shuffled, chunk_rows, chunk_bytes, chunks, bytes);
    sgfsi_json_num(o, "bytes_read", info->read);
    sgfsi_json_num(o, "bytes_spilled", info->spilled);
    sgfsi_json_num(o, "seconds", info->seconds);
    return o;
}

const sgfsi_job_kind sgfsi_job_pack = {.stage = "pack",
                                       .options = pack_options,
                                       .doing = "packing",
                                       .run = run,
                                       .json = to_json,
                                       .close = close_pack};
