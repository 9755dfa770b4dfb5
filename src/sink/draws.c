/* SPDX-License-Identifier: MIT
 * draws.c: a run's draws in memory, and the public functions that hand them out.
 *
 * A run file's header, or the header a run keeps to itself, fixes the shape: chains, D parameters
 * with names, S statistics with names, blocks of parameters. Draws are then appended chain by
 * chain. The header may come from a hostile file, so everything read from it is checked here once,
 * and nothing below (exports, diagnostics) has to check again:
 *
 *   - 1 <= chains <= 2^16 and 1 <= D <= 2^24, D names;
 *   - at most 2^12 statistics, the first being "lp";
 *   - the blocks (at most 2^12) tile the D parameters; a header without blocks has one, "theta";
 *   - thin >= 1.
 *
 * Memory asked for is in proportion to the header's own length, never to a number found in it.
 * Public indices of chains count the chains that have draws: after a run was cut short in its first
 * seconds a chain may have none, and a caller who loops over sgfs_draws_size must not fall over it.
 */
#include "sink/draws.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "sink/runfile.h"

enum { CHAINS_MAX = 1 << 16, DIM_MAX = 1 << 24, STATS_MAX = 1 << 12, BLOCKS_MAX = 1 << 12 };

static sgfs_status bad_header(sgfs_err *err, const char *what) {
    return sgfsi_fail(err, SGFS_ERUNFILE, "The run's header cannot be used: %s.", what);
}

/* ---- shape and names from the header --------------------------------------------------------- */

/* Copy an array of strings; *out is malloc'ed, as are its strings. Names are never empty. */
static sgfs_status copy_names(const sgfsi_json *array, int64_t count, char **out, const char *what,
                              sgfs_err *err) {
    for (int64_t i = 0; i < count; i++) {
        const char *name = sgfsi_json_as_text(sgfsi_json_at(array, i));
        if (name == NULL || name[0] == '\0') return bad_header(err, what);
        out[i] = strdup(name);
        if (out[i] == NULL) return sgfsi_fail_memory(err, "the names of a run");
    }
    return SGFS_OK;
}

static sgfs_status take_shape(sgfs_draws *d, sgfs_err *err) {
    const sgfsi_json *h = d->header;
    if (sgfsi_json_get_int(h, "format", 1) != 1)
        return bad_header(err, "its format is not 1; it was made by a newer sgfs");
    d->chains = sgfsi_json_get_int(h, "chains", -1);
    d->thin = sgfsi_json_get_int(h, "thin", 1);
    int64_t D = sgfsi_json_length(sgfsi_json_get(h, "params"));
    int64_t S = sgfsi_json_length(sgfsi_json_get(h, "stats"));
    if (d->chains < 1 || d->chains > CHAINS_MAX) return bad_header(err, "\"chains\" out of range");
    if (D < 1 || D > DIM_MAX) return bad_header(err, "\"params\" is not a list of names");
    if (sgfsi_json_get_int(h, "dim", D) != D)
        return bad_header(err, "\"dim\" and \"params\" differ");
    if (S < 0 || S > STATS_MAX) return bad_header(err, "\"stats\" is not a list of names");
    if (d->thin < 1) return bad_header(err, "\"thin\" is below 1");
    d->D = D;
    d->S = S;
    d->param = calloc((size_t)d->D, sizeof *d->param);
    d->stat = calloc((size_t)d->S + 1, sizeof *d->stat);
    d->chain = calloc((size_t)d->chains, sizeof *d->chain);
    d->state = strdup("unfinished");
    if (d->param == NULL || d->stat == NULL || d->chain == NULL || d->state == NULL)
        return sgfsi_fail_memory(err, "the draws of a run");
    sgfs_status status = copy_names(sgfsi_json_get(h, "params"), D, d->param,
                                    "\"params\" has an entry that is not a name", err);
    if (status == SGFS_OK)
        status = copy_names(sgfsi_json_get(h, "stats"), S, d->stat,
                            "\"stats\" has an entry that is not a name", err);
    if (status != SGFS_OK || S == 0 || strcmp(d->stat[0], SGFSI_STAT_LP) == 0) return status;
    return bad_header(err, "the first of \"stats\" is not \"lp\"");
}

static sgfs_status check_blocks(const sgfs_draws *d, sgfs_err *err) {
    const sgfsi_json *blocks = sgfsi_json_get(d->header, "blocks");
    int64_t count = sgfsi_json_length(blocks), sum = 0;
    if (blocks == NULL) return SGFS_OK;
    if (count < 1 || count > BLOCKS_MAX)
        return bad_header(err, "\"blocks\" is not a list of blocks");
    for (int64_t b = 0; b < count; b++) {
        const sgfsi_json *block = sgfsi_json_at(blocks, b);
        const char *name = sgfsi_json_get_text(block, "name", "");
        int64_t rows = sgfsi_json_get_int(block, "rows", 0);
        int64_t cols = sgfsi_json_get_int(block, "cols", 0);
        if (name[0] == '\0') return bad_header(err, "\"blocks\" has one without a name");
        if (rows < 1 || rows > d->D || cols < 1 || cols > d->D / rows || sum > d->D - rows * cols)
            return bad_header(err, "\"blocks\" do not fit the parameters");
        sum += rows * cols;
    }
    return sum == d->D ? SGFS_OK : bad_header(err, "\"blocks\" do not cover the parameters");
}

sgfs_draws *sgfsi_draws_new(sgfsi_json *header, sgfs_err *err) {
    sgfs_draws *d = calloc(1, sizeof *d);
    if (d == NULL || !sgfsi_json_whole(header)) {
        sgfsi_json_free(header);
        free(d);
        sgfsi_fail_memory(err, "the draws of a run");
        return NULL;
    }
    d->header = header;
    if (take_shape(d, err) != SGFS_OK || check_blocks(d, err) != SGFS_OK) {
        sgfs_draws_free(d);
        return NULL;
    }
    return d;
}

bool sgfsi_draws_block(const sgfs_draws *d, int64_t b, const char **name, int64_t *rows,
                       int64_t *cols, int64_t *offset) {
    const sgfsi_json *blocks = sgfsi_json_get(d->header, "blocks");
    *name = "theta";
    *rows = 1;
    *cols = d->D;
    *offset = 0;
    if (blocks == NULL) return b == 0;
    if (b < 0 || b >= sgfsi_json_length(blocks)) return false;
    for (int64_t i = 0; i <= b; i++) {
        const sgfsi_json *block = sgfsi_json_at(blocks, i);
        if (i > 0) *offset += *rows * *cols;
        *name = sgfsi_json_get_text(block, "name", "");
        *rows = sgfsi_json_get_int(block, "rows", 0);
        *cols = sgfsi_json_get_int(block, "cols", 0);
    }
    return true;
}

/* ---- filling --------------------------------------------------------------------------------- */

sgfs_status sgfsi_draws_append(sgfs_draws *d, int64_t chain, int64_t count, const double *theta,
                               const double *stats, sgfs_err *err) {
    if (chain < 0 || chain >= d->chains || count < 0)
        return sgfsi_fail(err, SGFS_EINTERNAL, "Draws for chain %lld of %lld.", (long long)chain,
                          (long long)d->chains);
    if (count == 0) return SGFS_OK;
    sgfsi_chain_draws *c = &d->chain[chain];
    /* room for them, and for half as many again as there are */
    int64_t wanted, half_more = c->capacity + c->capacity / 2;
    if (__builtin_add_overflow(c->draws, count, &wanted)) return sgfsi_fail_memory(err, "draws");
    if (wanted > c->capacity) {
        if (wanted < half_more) wanted = half_more;
        if (!sgfsi_resize(&c->theta, wanted, (size_t)d->D * sizeof *c->theta) ||
            (d->S > 0 && !sgfsi_resize(&c->stats, wanted, (size_t)d->S * sizeof *c->stats)))
            return sgfsi_fail_memory(err, "the draws of a chain");
        c->capacity = wanted;
    }
    memcpy(c->theta + c->draws * d->D, theta, (size_t)(count * d->D) * sizeof(double));
    if (d->S > 0)
        memcpy(c->stats + c->draws * d->S, stats, (size_t)(count * d->S) * sizeof(double));
    c->draws += count;
    return SGFS_OK;
}

double **sgfsi_info_array(sgfsi_chain_info *info, int k, int64_t D, int64_t *count) {
    double **const all[] = {&info->mean, &info->var, &info->cov, &info->curvature_sd, &info->tau};
    *count = all[k] == &info->cov ? D * D : D;
    return all[k];
}

static void free_arrays(sgfsi_chain_info *info) {
    int64_t n;
    for (int k = 0; k < SGFSI_INFO_ARRAYS; k++) free(*sgfsi_info_array(info, k, 0, &n));
}

sgfs_status sgfsi_draws_set_info(sgfs_draws *d, int64_t chain, const sgfsi_chain_info *info,
                                 sgfs_err *err) {
    if (chain < 0 || chain >= d->chains)
        return sgfsi_fail(err, SGFS_EINTERNAL, "Moments for chain %lld of %lld.", (long long)chain,
                          (long long)d->chains);
    sgfsi_chain_info copy = *info, *to = &d->chain[chain].info;
    bool made = true;
    for (int k = 0; k < SGFSI_INFO_ARRAYS; k++) {
        int64_t n;
        double **array = sgfsi_info_array(&copy, k, d->D, &n);
        const double *from = *array;
        *array = from != NULL && made ? malloc((size_t)n * sizeof **array) : NULL;
        made = made && (from == NULL || *array != NULL);
        if (*array != NULL) memcpy(*array, from, (size_t)n * sizeof **array);
    }
    free_arrays(made ? to : &copy);
    if (!made) return sgfsi_fail_memory(err, "the moments of a chain");
    *to = copy;
    return SGFS_OK;
}

const char *const sgfsi_point_names[SGFSI_POINT] = {
    "iteration", "seconds", "draws", "error", "log_loss", "error_now", "log_loss_now"};

sgfs_status sgfsi_draws_add_points(sgfs_draws *d, int64_t chain, int64_t count, const double *curve,
                                   sgfs_err *err) {
    sgfsi_chain_draws *c = &d->chain[chain];
    if (count < 1) return SGFS_OK;
    if (!sgfsi_resize(&c->curve, c->points + count, SGFSI_POINT * sizeof *curve))
        return sgfsi_fail_memory(err, "the validation curve");
    memcpy(c->curve + c->points * SGFSI_POINT, curve,
           (size_t)(count * SGFSI_POINT) * sizeof *curve);
    c->points += count;
    return SGFS_OK;
}

sgfsi_used sgfsi_draws_used(const sgfs_draws *d, int64_t *chain) {
    sgfsi_used used = {.chain = chain};
    for (int64_t c = 0; c < d->chains; c++) {
        int64_t draws = d->chain[c].draws;
        if (draws == 0) continue;
        if (used.chains == 0 || draws < used.draws) used.draws = draws;
        if (chain != NULL) chain[used.chains] = c;
        used.chains++;
    }
    return used;
}

int64_t sgfsi_draws_stat(const sgfs_draws *d, const char *name) {
    for (int64_t s = 0; s < d->S; s++)
        if (strcmp(d->stat[s], name) == 0) return s;
    return -1;
}

/* ---- the public view ------------------------------------------------------------------------- */

sgfs_draws *sgfs_draws_open(const char *path, sgfs_err *err) {
    if (path == NULL)
        return sgfsi_fail(err, SGFS_EUSAGE, "sgfs_draws_open: a path is needed."), NULL;
    sgfs_draws *draws = sgfsi_runfile_read(path, err);
    if (draws == NULL || (draws->path = strdup(path)) != NULL) return draws;
    sgfs_draws_free(draws);
    return sgfsi_fail_memory(err, path), NULL;
}

sgfs_draws_shape sgfs_draws_size(const sgfs_draws *draws) {
    if (draws == NULL) return (sgfs_draws_shape){0, 0, 0};
    sgfsi_used used = sgfsi_draws_used(draws, NULL);
    return (sgfs_draws_shape){used.chains, used.draws, draws->D};
}

const char *sgfs_draws_param(const sgfs_draws *draws, int64_t index) {
    return draws != NULL && index >= 0 && index < draws->D ? draws->param[index] : NULL;
}

const double *sgfs_draws_chain(const sgfs_draws *draws, int64_t chain) {
    for (int64_t c = 0; draws != NULL && c < draws->chains; c++)
        if (draws->chain[c].draws > 0 && chain-- == 0) return draws->chain[c].theta;
    return NULL;
}

void sgfs_draws_free(sgfs_draws *draws) {
    if (draws == NULL) return;
    for (int64_t c = 0; draws->chain != NULL && c < draws->chains; c++) {
        sgfsi_chain_draws *chain = &draws->chain[c];
        free(chain->theta);
        free(chain->stats);
        free_arrays(&chain->info);
        free(chain->curve);
    }
    for (int64_t i = 0; draws->param != NULL && i < draws->D; i++) free(draws->param[i]);
    for (int64_t i = 0; draws->stat != NULL && i < draws->S; i++) free(draws->stat[i]);
    free(draws->param);
    free(draws->stat);
    free(draws->chain);
    free(draws->state);
    free(draws->path);
    sgfsi_json_free(draws->header);
    sgfsi_json_free(draws->audit);
    free(draws->effects);
    sgfsi_kept_effects_free(&draws->effect_draws);
    free(draws);
}

void sgfsi_kept_effects_free(sgfs_kept_effects *kept) {
    free(kept->chain);
    free(kept->draw);
    free(kept->u);
    *kept = (sgfs_kept_effects){0};
}

/* ---- copying --------------------------------------------------------------------------------- */

static void *copy_of(const void *from, int64_t count, size_t size) {
    void *to = malloc((size_t)count * size + 1);
    return to != NULL ? memcpy(to, from, (size_t)count * size) : NULL;
}

static bool copy_kept(const sgfs_kept_effects *from, sgfs_kept_effects *to) {
    if (from->count == 0) return true;
    to->count = from->count;
    to->numbers = from->numbers;
    to->chain = copy_of(from->chain, from->count, sizeof *from->chain);
    to->draw = copy_of(from->draw, from->count, sizeof *from->draw);
    to->u = copy_of(from->u, from->count * from->numbers, sizeof *from->u);
    return to->chain != NULL && to->draw != NULL && to->u != NULL;
}

sgfs_draws *sgfsi_draws_copy(const sgfs_draws *d, sgfs_err *err) {
    sgfs_draws *copy = sgfsi_draws_new(sgfsi_json_copy(d->header), err);
    if (copy == NULL) return NULL;
    sgfs_status status = SGFS_OK;
    for (int64_t c = 0; c < d->chains && status == SGFS_OK; c++) {
        const sgfsi_chain_draws *from = &d->chain[c];
        status = sgfsi_draws_append(copy, c, from->draws, from->theta, from->stats, err);
        if (status == SGFS_OK) status = sgfsi_draws_set_info(copy, c, &from->info, err);
        if (status == SGFS_OK)
            status = sgfsi_draws_add_points(copy, c, from->points, from->curve, err);
    }
    /* The state replaces the one that new draws begin with. */
    char *state = strdup(d->state);
    copy->audit = sgfsi_json_copy(d->audit);
    copy->effects = d->effects != NULL ? strdup(d->effects) : NULL;
    if (status == SGFS_OK && (state == NULL || (copy->audit == NULL) != (d->audit == NULL) ||
                              (copy->effects == NULL) != (d->effects == NULL) ||
                              !copy_kept(&d->effect_draws, &copy->effect_draws)))
        status = sgfsi_fail_memory(err, "the draws");
    if (status != SGFS_OK) {
        free(state);
        sgfs_draws_free(copy);
        return NULL;
    }
    free(copy->state);
    copy->state = state;
    return copy;
}

double sgfsi_draws_option(const sgfs_draws *d, const char *key, double otherwise) {
    double value;
    const char *text = sgfsi_json_get_text(sgfsi_json_get(d->header, "config"), key, NULL);
    return text != NULL && sgfsi_text_num(text, &value) ? value : otherwise;
}
