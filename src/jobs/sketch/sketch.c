/* SPDX-License-Identifier: MIT
 * sketch.c: a sketch of data, in one command, or in steps that any scheduler can run
 * (docs/cluster.md).
 *
 *     on a part of the rows                         on the results
 *     columns and labels              ->            place 1
 *     a pass at the place             ->            place 2, 3, ..., the anchor
 *     marks at the anchor             ->            the sketch (or as they are)
 *
 * What a part has to do next is in the place that it is given: a place that is not the anchor yet
 * wants a pass, the anchor marks. Each step is a function of its files: done again, it gives the
 * same file, and a file that is there already stays.
 *
 * The search for the anchor is the one of a run (posterior/anchor.c), made from its beginning each
 * time. Its passes are looked up among those that the parts have made; the first one that is not
 * there is the next place.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "chain/plan.h"
#include "files/files.h"
#include "files/sketch/sketch.h"
#include "jobs/job.h"
#include "model/user.h"
#include "posterior/marks.h"
#include "rows/fingerprint.h"

static const sgfs_option options[] = {
    {"sketch.at", "at", SGFS_FILE, "", 1, 0, NULL,
     "the place of all parts' results, at which this part of the rows is asked"},
    {"sketch.columns", "columns-only", SGFS_FLAG, "false", 1, 0, NULL,
     "the first step for a part of the rows: what its columns and labels are like"},
    SGFSI_OPTIONS_END};

typedef struct sketch {
    sgfs_job job;
    char *model, *data, *parts, *out; /* data or parts is NULL */
    sgfsi_sketch made, place;         /* place: that of --at */
    sgfsi_files files;
    int64_t count; /* of input */
    sgfsi_sketch *input;
    sgfs_data *rows, *none; /* none: the data without rows that the place stands for */
    sgfs_model *asked, *whole;
    sgfs_config *then; /* the options of the first step */
    sgfsi_log silent;
    sgfs_sketch_info info;
} sketch;

static char *copy_text(sketch *s, const char *text) {
    return text != NULL ? sgfsi_arena_text(&s->job.arena, text) : NULL;
}

sgfs_job *sgfs_sketch_open(const char *model, const char *data, const char *parts, const char *out,
                           const sgfs_config *cfg, sgfs_err *err) {
    bool one = (data != NULL) != (parts != NULL);
    sketch *s =
        sgfsi_job_new(&sgfsi_job_sketch, sizeof *s, one && out != NULL ? cfg : NULL,
                      "sgfs_sketch_open: data or parts, an output and a config are needed.", err);
    if (s == NULL) return NULL;
    s->made.part = s->place.part = -1;
    s->model = copy_text(s, model);
    s->data = copy_text(s, data);
    s->parts = copy_text(s, parts);
    s->out = copy_text(s, out);
    sgfs_status status =
        sgfsi_arena_failed(&s->job.arena) ? sgfsi_fail_memory(err, "the sketch") : SGFS_OK;
    const char *at = sgfsi_config_text(s->job.cfg, "sketch.at");
    if (status == SGFS_OK && data != NULL && at[0] == '\0' && model == NULL)
        status = sgfsi_fail(err, SGFS_EUSAGE, "A sketch is made for a model: which one?");
    if (status == SGFS_OK && data != NULL && at[0] != '\0' && model != NULL)
        status = sgfsi_fail(err, SGFS_EUSAGE, "--at says which model it is: leave it out.");
    return sgfsi_job_opened(&s->job, status);
}

/* ---- what a file is made of ------------------------------------------------------------------ */

/* Options of the first step that later ones have to follow. */
static sgfsi_json *given_options(const sketch *s) {
    static const char *const stages[] = {"data.", "prior.", "model."};
    sgfsi_json *given = sgfsi_json_object();
    const sgfs_option *row;
    int64_t last = 0;
    while ((row = sgfsi_config_next_given(s->job.cfg, &last)) != NULL) {
        for (size_t k = 0; k < sizeof stages / sizeof stages[0]; k++)
            if (row->type != SGFS_FILE && strncmp(row->key, stages[k], strlen(stages[k])) == 0)
                sgfsi_json_text(given, row->key, sgfs_config_get(s->job.cfg, row->key));
    }
    return given;
}

/* A sketch names no other file: it is drawn from where there is none. */
static sgfs_status check_files(const sketch *s, sgfs_err *err) {
    const sgfs_config *cfg = s->job.cfg;
    if (!sgfsi_config_auto(cfg, "prior.file"))
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "A sketch is drawn from where the file of --prior-file is not: say it "
                          "with --prior-precision age=4,log_sigma=0.1.");
    if (sgfsi_config_flag(cfg, "sketch.columns") && !sgfsi_config_auto(cfg, "data.labels"))
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "Labels beside the rows (--labels) cannot be said of all parts at once: "
                          "pack each part with its labels first (sgfs pack).");
    return SGFS_OK;
}

static int64_t length_of(const sgfs_config *cfg, const char *key, int64_t otherwise) {
    return sgfsi_config_auto(cfg, key) ? otherwise : sgfsi_config_int(cfg, key);
}

/* The moves that there will be, as options say it. */
static sgfsi_json *moves(const sgfs_config *cfg) {
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_int(o, "chains", sgfsi_config_int(cfg, "run.chains"));
    sgfsi_json_int(o, "warmup", length_of(cfg, "run.warmup", 1000));
    sgfsi_json_int(o, "draws", length_of(cfg, "run.draws", 1000));
    sgfsi_json_int(o, "seed", sgfsi_config_int(cfg, "run.seed"));
    sgfsi_json_num(o, "within", sgfsi_config_num(cfg, "sampler.within"));
    return o;
}

/* What tells one part of the rows from another: lengths and checksums of its files. */
static sgfsi_json *prints_of(const sgfs_data *d) {
    sgfsi_json *list = sgfsi_json_array();
    for (int64_t i = 0; i < d->files; i++) {
        sgfsi_json *one = sgfsi_json_object_in(list, NULL);
        sgfsi_json_int(one, "bytes", d->print[i].stamp.bytes);
        sgfsi_json_int(one, "crc32", d->print[i].crc);
    }
    return list;
}

static void put_part(sgfsi_json *parts, const char *name, int64_t rows, const sgfsi_json *prints) {
    sgfsi_json *one = sgfsi_json_object_in(parts, NULL);
    sgfsi_json_text(one, "name", name);
    sgfsi_json_int(one, "rows", rows);
    sgfsi_json_put(one, "prints", sgfsi_json_copy(prints));
}

static sgfs_status add_crc(uint32_t *crc, const sgfsi_json *v, sgfs_err *err) {
    char *text = sgfsi_json_dump(v, false);
    if (text == NULL) return sgfsi_fail_memory(err, "the sketch");
    *crc = sgfsi_crc32(*crc, text, strlen(text));
    free(text);
    return SGFS_OK;
}

/* Is the output there already, made from the same? Then it stays. from: what it is made from. */
static sgfs_status look_for(sketch *s, uint32_t from, bool *there, sgfs_err *err) {
    sgfsi_json_int(s->made.head, "from", from);
    *there = false;
    if (access(s->out, F_OK) != 0) return SGFS_OK;
    sgfsi_sketch old;
    sgfs_err why;
    bool overwrite = sgfsi_config_flag(s->job.cfg, "output.overwrite");
    sgfs_status status = sgfsi_sketch_read(&old, s->out, &why);
    if (status == SGFS_OK && sgfsi_json_get_int(old.head, "from", -1) == (int64_t)from) {
        sgfsi_sketch_close(&s->made);
        s->made = old;
        *there = true;
        return SGFS_OK;
    }
    sgfsi_sketch_close(&old);
    bool other = status == SGFS_OK || status == SGFS_ERUNFILE; /* else nobody knows what it is */
    if (!other && !overwrite) return sgfsi_fail(err, status, "%s", why.text);
    return sgfsi_outfile_check(s->out, overwrite, err);
}

/* Somebody else may have made it meanwhile: the same stays, and another one is not replaced. */
static sgfs_status save(sketch *s, sgfs_err *err) {
    bool there, overwrite = sgfsi_config_flag(s->job.cfg, "output.overwrite");
    if (!sgfsi_json_whole(s->made.head)) return sgfsi_fail_memory(err, "the sketch");
    uint32_t from = (uint32_t)sgfsi_json_get_int(s->made.head, "from", 0);
    sgfs_status status = look_for(s, from, &there, err);
    if (status != SGFS_OK || there) return status;
    return sgfsi_sketch_write(&s->made, s->out, overwrite, err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static sgfs_status open_rows(sketch *s, const sgfs_config *cfg, sgfs_err *err) {
    s->rows = sgfs_data_open(s->data, cfg, err);
    return s->rows != NULL ? SGFS_OK : sgfsi_why(err);
}

static sgfs_status open_model(sgfs_model **m, const char *name, const sgfs_data *d,
                              const sgfs_config *cfg, sgfs_err *err) {
    const sgfs_model_kind *kind = sgfsi_find_model(name, err);
    if (kind == NULL) return sgfsi_why(err);
    *m = sgfsi_model_create(kind, d, cfg, NULL, err);
    if (*m == NULL) return sgfsi_why(err);
    const char *why = sgfsi_anchor_refuses(*m);
    if (why == NULL) why = sgfsi_row_bounds_refuses(*m);
    if (why == NULL && kind->whole != NULL) why = "exact draws need no row once they are open";
    if (why == NULL) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE, "There is no sketch for model %.100s: %s.", name, why);
}

/* The head of a file that begins with rows. */
static sgfs_status describe_rows(sketch *s, bool part, sgfs_err *err) {
    sgfsi_json *o = s->made.head = sgfsi_json_object();
    sgfsi_json *columns = sgfsi_columns_of(s->rows, part, err);
    if (columns == NULL) return sgfsi_why(err);
    sgfsi_json *data = sgfsi_data_describe(s->rows);
    sgfsi_json_flag(data, "scales_binary", s->rows->scales_binary);
    sgfsi_json_text(o, "model", s->model);
    sgfsi_json_object_in(o, "config"); /* as a run file has it: what follows is what was given */
    sgfsi_json_put(o, "given", given_options(s));
    sgfsi_json_put(o, "moves", moves(s->job.cfg));
    sgfsi_json_put(o, "prints", prints_of(s->rows));
    sgfsi_json_put(o, "data", data);
    sgfsi_json_put(o, "columns", columns);
    return sgfsi_json_whole(o) ? SGFS_OK : sgfsi_fail_memory(err, "the sketch");
}

/* Looks for a file that was made from these rows and options. */
static sgfs_status look_for_rows(sketch *s, bool *there, sgfs_err *err) {
    const sgfsi_json *o = s->made.head;
    uint32_t crc = sgfsi_crc32(0, s->model, strlen(s->model));
    sgfs_status status = add_crc(&crc, sgfsi_json_get(o, "given"), err);
    if (status == SGFS_OK) status = add_crc(&crc, sgfsi_json_get(o, "moves"), err);
    if (status == SGFS_OK) status = add_crc(&crc, sgfsi_json_get(o, "prints"), err);
    return status == SGFS_OK ? look_for(s, crc, there, err) : status;
}

/* ---- step by step: columns ------------------------------------------------------------------- */

static sgfs_status make_columns(sketch *s, sgfs_err *err) {
    bool there;
    sgfs_status status = open_rows(s, s->job.cfg, err);
    if (status == SGFS_OK) status = describe_rows(s, true, err);
    s->made.step = SGFSI_SKETCH_COLUMNS;
    sgfsi_json_array_in(s->made.head, "parts");
    if (status == SGFS_OK) status = look_for_rows(s, &there, err);
    return status == SGFS_OK && !there ? save(s, err) : status;
}

/* ---- a place --------------------------------------------------------------------------------- */

/* The options of the first step, without a word: they were said then. */
static sgfs_status take_options(sketch *s, const sgfsi_json *head, sgfs_err *err) {
    s->then = sgfs_config_new();
    if (s->then == NULL) return sgfsi_fail_memory(err, "the options");
    sgfs_status status = sgfsi_config_take(s->then, head, "the sketch", err);
    char threads[32];
    snprintf(threads, sizeof threads, "%lld", (long long)s->job.threads);
    if (status == SGFS_OK) status = sgfs_config_set(s->then, "run.threads", threads, err);
    return status;
}

/* A model without rows, for what p knows of them. */
static sgfs_status open_whole(sketch *s, const sgfsi_sketch *p, const sgfs_config *cfg,
                              sgfs_err *err) {
    s->none = sgfsi_sketch_data(p, cfg, err);
    if (s->none == NULL) return sgfsi_why(err);
    return open_model(&s->whole, p->elsewhere.model, s->none, cfg, err);
}

/* The rows of a part, told what all of them are like, and which part they are. */
static sgfs_status open_part(sketch *s, int64_t *part, sgfs_err *err) {
    const sgfsi_sketch *p = &s->place;
    const sgfsi_json *parts = sgfsi_json_get(p->head, "parts");
    sgfs_status status = take_options(s, p->head, err);
    if (status == SGFS_OK) status = open_rows(s, s->then, err);
    if (status != SGFS_OK) return status;
    sgfsi_json *prints = prints_of(s->rows);
    if (!sgfsi_json_whole(prints))
        return sgfsi_json_free(prints), sgfsi_fail_memory(err, "the parts");
    *part = 0;
    while (*part < p->parts &&
           !sgfsi_json_equal(sgfsi_json_get(sgfsi_json_at(parts, *part), "prints"), prints))
        ++*part;
    sgfsi_json_free(prints);
    if (*part == p->parts)
        return sgfsi_fail(err, SGFS_EDATA,
                          "%.200s: these are not the rows of any part of %.200s: they were changed "
                          "since, or do not belong to it.",
                          s->data, p->path);
    status = sgfsi_columns_take(s->rows, sgfsi_json_get(p->head, "columns"), err);
    return status == SGFS_OK ? open_model(&s->asked, p->elsewhere.model, s->rows, s->then, err)
                             : status;
}

static sgfs_status read_place(sketch *s, sgfs_err *err) {
    const char *at = sgfsi_config_text(s->job.cfg, "sketch.at");
    sgfs_status status = sgfsi_sketch_read(&s->place, at, err);
    if (status == SGFS_OK && s->place.step != SGFSI_SKETCH_PLACE)
        status = sgfsi_fail(err, SGFS_EUSAGE,
                            "%.300s: --at takes a place, which the results of all parts give "
                            "(sgfs sketch --merge), and this holds %s.",
                            at, sgfsi_sketch_steps[s->place.step]);
    return status;
}

/* The head of a place, for a file made at it. */
static sgfs_status begin_at(sketch *s, sgfs_err *err) {
    s->made.head = sgfsi_json_copy(s->place.head);
    sgfsi_json_int(s->made.head, "of", s->place.id);
    return sgfsi_json_whole(s->made.head) ? SGFS_OK : sgfsi_fail_memory(err, "the sketch");
}

/* ---- step by step: a pass, or marks ---------------------------------------------------------- */

static sgfs_status make_pass(sketch *s, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfsi_full full;
    int64_t D = s->asked->D;
    sgfs_status status = sgfsi_sketch_room(&s->made, D, 1, err);
    s->made.step = SGFSI_SKETCH_PASS;
    if (status == SGFS_OK && D != s->place.elsewhere.D)
        status = sgfsi_fail(err, SGFS_EDATA, "%.300s: has other parameters than %.200s.", s->data,
                            s->place.path);
    if (status == SGFS_OK)
        status = sgfsi_full_open(&full, s->asked, s->job.threads, true, &arena, err);
    if (status == SGFS_OK) {
        double *sums = s->made.sums;
        full.log = sgfsi_config_log(s->job.cfg);
        full.stop = sgfsi_job_stop(&s->job);
        memcpy(s->made.theta, s->place.next, (size_t)D * sizeof *s->made.theta);
        status = sgfsi_full_likelihood(&full, s->made.theta, sums, sums + 1, sums + 1 + D, err);
    }
    sgfsi_arena_free(&arena);
    return status;
}

/* At the anchor, by its last pass alone. */
static sgfs_status keep_anchor(sgfsi_sketch *to, const double *theta, const double *sums, int64_t D,
                               sgfs_err *err) {
    sgfs_status status = sgfsi_sketch_room(to, D, 1, err);
    if (status != SGFS_OK) return status;
    memcpy(to->theta, theta, (size_t)D * sizeof *theta);
    memcpy(to->sums, sums, (size_t)(1 + D + D * D) * sizeof *sums);
    to->done = true;
    return SGFS_OK;
}

/* m has the rows, all of them or the part of that number. */
static sgfs_status mark_rows(sketch *s, const sgfs_model *m, const sgfsi_anchor *a, int64_t part,
                             sgfs_err *err) {
    const sgfsi_json *said = sgfsi_json_get(s->made.head, "moves");
    sgfsi_marks *marks = &s->made.marks;
    const sgfsi_marks_plan plan = {.seed = (uint64_t)sgfsi_json_get_int(said, "seed", 1),
                                   .part = (uint32_t)part,
                                   .threads = s->job.threads};
    marks->chains = sgfsi_json_get_int(said, "chains", 0);
    marks->warmup = sgfsi_json_get_int(said, "warmup", 0);
    marks->iterations = marks->warmup + sgfsi_json_get_int(said, "draws", 0);
    s->made.step = SGFSI_SKETCH_MARKS;
    double within = sgfsi_json_get_num(said, "within", 0.999);
    sgfs_status status = sgfsi_marks_bound(m->D, within, &marks->most, err);
    return status == SGFS_OK ? sgfsi_marks_make(marks, m, a, &plan, &s->made.arena, err) : status;
}

static sgfs_status make_marks(sketch *s, int64_t part, sgfs_err *err) {
    const sgfsi_elsewhere *e = &s->place.elsewhere;
    const sgfsi_anchor_search how = {.tolerance = 1};
    int64_t D = e->D, last = e->places - 1;
    sgfsi_anchor a;
    sgfs_status status = open_whole(s, &s->place, s->then, err);
    if (status == SGFS_OK) status = sgfsi_anchor_find(&a, s->whole, &how, &s->job.arena, err);
    if (status == SGFS_OK)
        status =
            keep_anchor(&s->made, e->theta + last * D, e->sums + last * (1 + D + D * D), D, err);
    return status == SGFS_OK ? mark_rows(s, s->asked, &a, part, err) : status;
}

static sgfs_status work_on_part(sketch *s, sgfs_err *err) {
    int64_t part;
    bool there;
    sgfs_status status = read_place(s, err);
    if (status == SGFS_OK) status = open_part(s, &part, err);
    if (status == SGFS_OK) status = begin_at(s, err);
    if (status != SGFS_OK) return status;
    s->made.part = part;
    s->made.step = s->place.done ? SGFSI_SKETCH_MARKS : SGFSI_SKETCH_PASS;
    uint32_t from = sgfsi_crc32(s->place.id, &part, sizeof part);
    status = look_for(s, from, &there, err);
    if (status != SGFS_OK || there) return status;
    sgfsi_scope scope = sgfsi_context_enter(&s->asked->ctx);
    status = s->place.done ? make_marks(s, part, err) : make_pass(s, err);
    sgfsi_context_leave(scope);
    return status == SGFS_OK ? save(s, err) : status;
}

/* ---- the results of all parts ---------------------------------------------------------------- */

static sgfs_status read_parts(sketch *s, sgfs_err *err) {
    sgfs_status status = sgfsi_files_open(&s->files, s->parts, sgfsi_config_log(s->job.cfg), err);
    if (status != SGFS_OK) return status;
    s->input = calloc((size_t)s->files.count, sizeof *s->input);
    if (s->input == NULL) return sgfsi_fail_memory(err, "the parts");
    for (; s->count < s->files.count && status == SGFS_OK; s->count++)
        status = sgfsi_sketch_read(&s->input[s->count], s->files.path[s->count], err);
    return status == SGFS_OK ? sgfsi_sketch_check(s->count, s->input, err) : status;
}

/* The search for the anchor, as far as the passes go that there are. */
static sgfs_status search(sketch *s, const sgfs_config *cfg, sgfs_err *err) {
    sgfsi_sketch *p = &s->made;
    sgfsi_anchor a;
    sgfs_err why;
    p->step = SGFSI_SKETCH_PLACE;
    p->elsewhere.model = sgfsi_json_get_text(p->head, "model", "");
    p->elsewhere.wanted = p->next;
    sgfs_status status = open_whole(s, p, cfg, err);
    if (status != SGFS_OK) return status;
    const sgfsi_anchor_search how = {.tolerance = 0.01, .threads = 1};
    sgfsi_scope scope = sgfsi_context_enter(&s->whole->ctx);
    status = sgfsi_anchor_find(&a, s->whole, &how, &s->job.arena, &why);
    sgfsi_context_leave(scope);
    if (status == SGFS_ESTOPPED) return SGFS_OK; /* p->next is the place */
    if (status != SGFS_OK) return sgfsi_fail(err, status, "%s", why.text);
    /* The anchor is one of the places, and becomes the last. */
    int64_t D = p->elsewhere.D, stride = 1 + D + D * D, best = 0;
    double least = INFINITY;
    for (int64_t k = 0; k < p->elsewhere.places; k++) {
        double far = 0;
        for (int64_t j = 0; j < D; j++) far = fmax(far, fabs(a.theta[j] - p->theta[k * D + j]));
        if (far < least) best = k;
        least = fmin(least, far);
    }
    s->info.distance = a.distance;
    memmove(p->theta, p->theta + best * D, (size_t)D * sizeof *p->theta);
    memmove(p->sums, p->sums + best * stride, (size_t)stride * sizeof *p->sums);
    p->elsewhere.places = 1;
    p->done = true;
    return SGFS_OK;
}

static uint32_t from_files(const sketch *s) {
    uint32_t crc = s->place.id;
    for (int64_t k = 0; k < s->count; k++) crc = sgfsi_crc32(crc, &s->input[k].id, sizeof crc);
    return crc;
}

static const char *name_of_rows(const sgfsi_sketch *s) {
    return sgfsi_json_get_text(sgfsi_json_get(s->head, "data"), "path", s->path);
}

/* The dimension is the model's, which is opened on columns alone. */
static sgfs_status find_dimension(sketch *s, const sgfs_config *cfg, sgfs_err *err) {
    static const double nowhere;
    sgfsi_sketch *p = &s->made;
    p->elsewhere.theta = &nowhere;
    p->elsewhere.model = sgfsi_json_get_text(p->head, "model", "");
    sgfs_data *none = sgfsi_sketch_data(p, cfg, err);
    sgfs_model *m = NULL;
    sgfs_status status =
        none != NULL ? open_model(&m, p->elsewhere.model, none, cfg, err) : sgfsi_why(err);
    if (status == SGFS_OK) status = sgfsi_sketch_room(p, m->D, 0, err);
    sgfs_model_free(m);
    sgfs_data_free(none);
    return status;
}

static sgfs_status merge_columns(sketch *s, sgfs_err *err) {
    const sgfsi_json **part = sgfsi_arena_alloc(&s->job.arena, s->count, sizeof *part);
    const char **name = sgfsi_arena_alloc(&s->job.arena, s->count, sizeof *name);
    if (part == NULL || name == NULL) return sgfsi_fail_memory(err, "the parts");
    sgfsi_json *o = s->made.head, *parts = sgfsi_json_array();
    const sgfsi_json *data = sgfsi_json_get(s->input->head, "data"),
                     *recipe = sgfsi_json_get(data, "recipe");
    for (int64_t k = 0; k < s->count; k++) {
        const sgfsi_json *head = s->input[k].head;
        part[k] = sgfsi_json_get(head, "columns");
        name[k] = s->input[k].path;
        put_part(parts, name_of_rows(&s->input[k]), sgfsi_json_get_int(part[k], "rows", 0),
                 sgfsi_json_get(head, "prints"));
        if (!sgfsi_json_equal(sgfsi_json_get(head, "moves"), sgfsi_json_get(o, "moves")))
            return sgfsi_json_free(parts),
                   sgfsi_fail(err, SGFS_EUSAGE,
                              "%.200s and %.200s are for other numbers of moves: the same --draws, "
                              "--warmup, --chains, --seed and --within belong to all parts.",
                              name[0], name[k]);
        if (!sgfsi_json_equal(sgfsi_json_get(sgfsi_json_get(head, "data"), "recipe"), recipe))
            return sgfsi_json_free(parts),
                   sgfsi_fail(err, SGFS_EDATA,
                              "%.200s and %.200s made other columns of their rows: what is learnt "
                              "from rows (--categorical, --na mean) is not the same in each part. "
                              "Pack all rows with it first (sgfs pack), into one file.",
                              name[0], name[k]);
    }
    sgfsi_json_put(o, "parts", parts);
    sgfsi_json *columns = sgfsi_columns_merge(s->count, part, name, err);
    if (columns == NULL) return sgfsi_why(err);
    sgfsi_json_put(o, "columns", columns);
    if (!sgfsi_json_whole(o)) return sgfsi_fail_memory(err, "the parts");
    return find_dimension(s, s->then, err);
}

/* What all parts say, in order, behind the places that were asked before. */
static sgfs_status merge_passes(sketch *s, sgfs_err *err) {
    const sgfsi_elsewhere *e = &s->place.elsewhere;
    int64_t D = e->D, stride = 1 + D + D * D, places = e->places;
    sgfs_status status = sgfsi_sketch_room(&s->made, D, places + 1, err);
    if (status != SGFS_OK) return status;
    double *sums = s->made.sums + places * stride;
    memcpy(s->made.theta, e->theta, (size_t)(places * D) * sizeof *s->made.theta);
    memcpy(s->made.theta + places * D, s->place.next, (size_t)D * sizeof *s->made.theta);
    memcpy(s->made.sums, e->sums, (size_t)(places * stride) * sizeof *sums);
    for (int64_t part = 0; part < s->count; part++) {
        for (int64_t k = 0; k < s->count; k++)
            for (int64_t j = 0; s->input[k].part == part && j < stride; j++)
                sums[j] += s->input[k].sums[j];
    }
    return SGFS_OK;
}

static sgfs_status merge_marks(sketch *s, sgfs_err *err) {
    const sgfsi_sketch *first = s->input;
    sgfs_status status = keep_anchor(&s->made, first->theta, first->sums, first->elsewhere.D, err);
    s->made.step = SGFSI_SKETCH_MARKS;
    return status == SGFS_OK ? sgfsi_sketch_join(&s->made, s->count, s->input, err) : status;
}

static sgfs_status check_place(sketch *s, sgfs_err *err) {
    bool passes = s->input->step == SGFSI_SKETCH_PASS,
         given = sgfsi_config_text(s->job.cfg, "sketch.at")[0] != '\0';
    if (!passes && !given) return SGFS_OK;
    if (!passes || !given)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          passes ? "Passes go with the place at which they were made: --at."
                                 : "--at goes with passes: leave it out.");
    sgfs_status status = read_place(s, err);
    if (status == SGFS_OK && sgfsi_json_get_int(s->input->head, "of", -1) != (int64_t)s->place.id)
        return sgfsi_fail(err, SGFS_EUSAGE, "%.200s: was not made at %.200s, but at another place.",
                          s->input->path, s->place.path);
    return status;
}

static sgfs_status merge(sketch *s, sgfs_err *err) {
    bool there;
    sgfs_status status = read_parts(s, err);
    if (status == SGFS_OK) status = check_place(s, err);
    if (status != SGFS_OK) return status;
    sgfsi_sketch_step step = s->input->step;
    if (step == SGFSI_SKETCH_PLACE)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%.300s: is the result of all parts already: hand it to them with --at.",
                          s->input->path);
    s->made.head = sgfsi_json_copy(s->input->head);
    if (!sgfsi_json_whole(s->made.head)) return sgfsi_fail_memory(err, "the sketch");
    status = look_for(s, from_files(s), &there, err);
    if (status != SGFS_OK || there) return status;
    if (step == SGFSI_SKETCH_MARKS) status = merge_marks(s, err);
    else {
        status = take_options(s, s->made.head, err);
        sgfs_config *cfg = s->then;
        const sgfsi_log *log = sgfsi_config_log(s->job.cfg);
        if (status == SGFS_OK)
            status = step == SGFSI_SKETCH_COLUMNS ? merge_columns(s, err) : merge_passes(s, err);
        if (step == SGFSI_SKETCH_COLUMNS) sgfs_config_on_message(cfg, log->fn, log->user);
        if (status == SGFS_OK) status = search(s, cfg, err);
    }
    return status == SGFS_OK ? save(s, err) : status;
}

/* ---- all at once ----------------------------------------------------------------------------- */

static sgfs_status make_whole(sketch *s, sgfs_err *err) {
    bool there;
    const sgfsi_anchor_search how = {.tolerance = 0.01, .threads = s->job.threads};
    sgfsi_anchor a;
    sgfs_status status = open_rows(s, s->job.cfg, err);
    if (status == SGFS_OK) status = open_model(&s->asked, s->model, s->rows, s->job.cfg, err);
    if (status == SGFS_OK) status = describe_rows(s, false, err);
    if (status != SGFS_OK) return status;
    put_part(sgfsi_json_array_in(s->made.head, "parts"), s->rows->path, s->rows->N,
             sgfsi_json_get(s->made.head, "prints"));
    status = look_for_rows(s, &there, err);
    if (status != SGFS_OK || there) return status;
    sgfsi_scope scope = sgfsi_context_enter(&s->asked->ctx);
    status = sgfsi_anchor_find(&a, s->asked, &how, &s->job.arena, err);
    int64_t D = s->asked->D;
    double *sums = SGFSI_DOUBLES(&s->job.arena, 1 + D + D * D);
    if (status == SGFS_OK && sums == NULL) status = sgfsi_fail_memory(err, "the sketch");
    if (status == SGFS_OK) {
        sums[0] = a.loglik;
        memcpy(sums + 1, a.G, (size_t)D * sizeof *sums);
        memcpy(sums + 1 + D, a.info, (size_t)(D * D) * sizeof *sums);
        s->info.distance = a.distance;
        status = keep_anchor(&s->made, a.theta, sums, D, err);
    }
    if (status == SGFS_OK) status = mark_rows(s, s->asked, &a, 0, err);
    sgfsi_context_leave(scope);
    return status == SGFS_OK ? save(s, err) : status;
}

/* ---- the job --------------------------------------------------------------------------------- */

static const char *advise(const sgfsi_sketch *p) {
    if (p->step == SGFSI_SKETCH_COLUMNS)
        return "When all parts have their columns, merge them: sgfs sketch --merge.";
    if (p->step == SGFSI_SKETCH_PASS)
        return "When all parts have made this pass, merge them: sgfs sketch --merge, with --at.";
    if (p->step == SGFSI_SKETCH_PLACE)
        return p->done ? "Done: the anchor is found. Each part makes its marks here: --at."
                       : "Not done yet: each part makes a pass here: --at.";
    return p->part >= 0 ? "With the marks of all parts: sgfs sample --sketch 'MARKS*'."
                        : "sgfs sample --sketch draws from it.";
}

static sgfs_status run(sgfs_job *job, sgfs_err *err) {
    sketch *s = (sketch *)job;
    bool at = sgfsi_config_text(job->cfg, "sketch.at")[0] != '\0';
    bool columns = sgfsi_config_flag(job->cfg, "sketch.columns");
    s->info.distance = NAN;
    if (check_files(s, err) != SGFS_OK) return sgfsi_why(err);
    sgfs_status status = s->parts != NULL ? merge(s, err)
                         : at             ? work_on_part(s, err)
                         : columns        ? make_columns(s, err)
                                          : make_whole(s, err);
    if (status == SGFS_ESTOPPED)
        return sgfsi_fail(err, SGFS_ESTOPPED,
                          "Stopped early: nothing was written. The same command starts over.");
    if (status != SGFS_OK) return status;
    const sgfsi_sketch *p = &s->made;
    s->info.step = sgfsi_sketch_steps[p->step];
    s->info.advice = advise(p);
    s->info.done = p->done;
    s->info.rows = sgfsi_json_get_int(sgfsi_json_get(p->head, "columns"), "rows", 0);
    s->info.parts = sgfsi_json_length(sgfsi_json_get(p->head, "parts"));
    s->info.marks = p->marks.count;
    s->info.bytes = (double)p->bytes;
    s->info.seconds = sgfsi_job_seconds(job);
    job->result = &s->info;
    return SGFS_OK;
}

static sgfsi_json *to_json(const sgfs_job *job) {
    const sgfs_sketch_info *info = &((const sketch *)job)->info;
    sgfsi_json *o = sgfsi_json_object();
    SGFSI_JSON(o, info, step, advice, done, rows, parts, marks, distance, bytes, seconds);
    return o;
}

static void close_sketch(sgfs_job *job) {
    sketch *s = (sketch *)job;
    sgfs_model_free(s->asked);
    sgfs_model_free(s->whole);
    sgfs_data_free(s->rows);
    sgfs_data_free(s->none);
    sgfs_config_free(s->then);
    for (int64_t k = 0; s->input != NULL && k < s->files.count; k++)
        sgfsi_sketch_close(&s->input[k]);
    free(s->input);
    sgfsi_files_close(&s->files);
    sgfsi_sketch_close(&s->made);
    sgfsi_sketch_close(&s->place);
}

const sgfsi_job_kind sgfsi_job_sketch = {.stage = "sketch",
                                         .options = options,
                                         .doing = "sketching",
                                         .run = run,
                                         .json = to_json,
                                         .close = close_sketch};
