/* SPDX-License-Identifier: MIT
 * sketchfile.c: see sketch.h. A file may be hostile: no count is believed before the length of
 * the file has room for it.
 */
#include "files/sketch/sketch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/little.h"

static const unsigned char magic[8] = {0x89, 'S', 'G', 'F', 'K', '\r', '\n', 0x1a};
enum { VERSION = 1, PREFIX = 16, LENGTH = 8, CRC = 4 };

const char *const sgfsi_sketch_steps[] = {"columns", "place", "pass", "marks"};
enum { STEPS = 4 };

sgfs_status sgfsi_sketch_is(const char *path, bool *is, sgfs_err *err) {
    unsigned char head[sizeof magic];
    size_t got = 0;
    sgfsi_bytes *in;
    sgfs_status status = sgfsi_bytes_open(&in, path, err);
    *is = false;
    if (status != SGFS_OK) return status;
    sgfs_err why;
    status = sgfsi_bytes_read(in, head, sizeof head, &got, &why);
    sgfsi_bytes_close(in);
    if (status == SGFS_EIO || status == SGFS_ENOMEM) return sgfsi_fail(err, status, "%s", why.text);
    *is = status == SGFS_OK && got == sizeof head && memcmp(head, magic, sizeof magic) == 0;
    return SGFS_OK; /* what is wrong with other files, their readers say */
}

void sgfsi_sketch_close(sgfsi_sketch *s) {
    sgfsi_json_free(s->head);
    sgfsi_arena_free(&s->arena);
    *s = (sgfsi_sketch){.part = -1};
}

/* ---- numbers --------------------------------------------------------------------------------- */

sgfs_status sgfsi_sketch_room(sgfsi_sketch *s, int64_t D, int64_t places, sgfs_err *err) {
    int64_t stride = 1 + D + D * D;
    bool made = SGFSI_ROOM(&s->arena, places * D + 1, &s->theta) &&
                SGFSI_ROOM(&s->arena, places * stride + 1, &s->sums) &&
                SGFSI_ROOM(&s->arena, D + 1, &s->next);
    if (!made) return sgfsi_fail_memory(err, "the sketch");
    s->elsewhere.D = D;
    s->elsewhere.places = places;
    s->elsewhere.theta = s->theta;
    s->elsewhere.sums = s->sums;
    return SGFS_OK;
}

static void list_numbers(sgfsi_sketch *s, sgfsi_fields *list) {
    const sgfsi_elsewhere *e = &s->elsewhere;
    SGFSI_FIELD(list, "theta", s->theta, e->places * e->D);
    SGFSI_FIELD(list, "sums", s->sums, e->places * (1 + e->D + e->D * e->D));
    SGFSI_FIELD(list, "next", s->next, e->D);
    SGFSI_FIELD(list, "marks", s->marks.number, s->marks.numbers);
    SGFSI_FIELD(list, "most", &s->marks.most, 1); /* which JSON might round */
    SGFSI_FIELD(list, "radius", &s->marks.radius, 1);
    SGFSI_FIELD(list, "growth", &s->marks.growth, 1);
}

/* ---- writing --------------------------------------------------------------------------------- */

static char *describe(sgfsi_sketch *s) {
    sgfsi_json *o = s->head;
    sgfsi_json_int(o, "format", VERSION);
    sgfsi_json_text(o, "step", sgfsi_sketch_steps[s->step]);
    sgfsi_json_int(o, "part", s->part);
    sgfsi_json_int(o, "D", s->elsewhere.D);
    sgfsi_json_int(o, "places", s->elsewhere.places);
    sgfsi_json_flag(o, "done", s->done);
    const sgfsi_marks *m = &s->marks;
    sgfsi_json *marks = sgfsi_json_object_in(o, "marks");
    SGFSI_JSON(marks, m, chains, warmup, iterations, p, count, numbers);
    return sgfsi_json_dump(o, false);
}

static sgfs_status put(sgfsi_sketch *s, const char *text, const sgfsi_fields *list,
                       sgfsi_outfile *out, sgfs_err *err) {
    unsigned char prefix[PREFIX], length[LENGTH], crc[CRC];
    size_t n = strlen(text), bytes = sgfsi_fields_bytes(list);
    void *numbers = malloc(bytes);
    if (numbers == NULL) return sgfsi_fail_memory(err, "the sketch");
    sgfsi_fields_save(list, numbers);
    memcpy(prefix, magic, sizeof magic);
    sgfsi_put_u32(prefix + 8, VERSION);
    sgfsi_put_u32(prefix + 12, (uint32_t)n);
    sgfsi_put_u64(length, bytes);
    s->id = sgfsi_crc32(0, prefix, sizeof prefix);
    s->id = sgfsi_crc32(s->id, text, n);
    s->id = sgfsi_crc32(s->id, length, sizeof length);
    s->id = sgfsi_crc32(s->id, numbers, bytes);
    sgfsi_put_u32(crc, s->id);
    s->bytes = sizeof prefix + n + sizeof length + bytes + sizeof crc;
    fwrite(prefix, 1, sizeof prefix, out->f); /* what fails is seen when it is committed */
    fwrite(text, 1, n, out->f);
    fwrite(length, 1, sizeof length, out->f);
    fwrite(numbers, 1, bytes, out->f);
    fwrite(crc, 1, sizeof crc, out->f);
    free(numbers);
    return SGFS_OK;
}

sgfs_status sgfsi_sketch_write(sgfsi_sketch *s, const char *path, bool overwrite, sgfs_err *err) {
    sgfsi_outfile out;
    sgfsi_fields list = {0};
    if (s->theta == NULL && sgfsi_sketch_room(s, 0, 0, err) != SGFS_OK) return sgfsi_why(err);
    if (s->marks.number == NULL) s->marks.number = s->next; /* none of them */
    char *text = describe(s);
    list_numbers(s, &list);
    if (text == NULL || list.failed) {
        free(text);
        sgfsi_fields_free(&list);
        return sgfsi_fail_memory(err, "the sketch");
    }
    sgfs_status status = sgfsi_outfile_open(&out, path, overwrite, true, err);
    if (status == SGFS_OK) {
        status = put(s, text, &list, &out, err);
        if (status == SGFS_OK) status = sgfsi_outfile_commit(&out, err);
        else sgfsi_outfile_abandon(&out);
    }
    sgfsi_fields_free(&list);
    free(text);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

static sgfs_status fail_damage(const char *path, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_ERUNFILE,
                      "%.300s: the sketch is cut off or damaged: make this file again.", path);
}

/* Options of the data, the prior and the model alone, none of which names a file. */
static bool knows_its_place(const sgfsi_json *given) {
    const char *key;
    void *at = NULL;
    while (sgfsi_json_next(given, &at, &key) != NULL) {
        bool stage = strncmp(key, "data.", 5) == 0 || strncmp(key, "prior.", 6) == 0 ||
                     strncmp(key, "model.", 6) == 0;
        if (!stage || strcmp(key, "prior.file") == 0 || strcmp(key, "data.labels") == 0)
            return false;
    }
    return sgfsi_json_is_object(given);
}

/* What the head says, within what a file of so many bytes can hold. */
static bool take_head(sgfsi_sketch *s, size_t bytes) {
    const sgfsi_json *o = s->head, *marks = sgfsi_json_get(o, "marks");
    const char *step = sgfsi_json_get_text(o, "step", "");
    int64_t k = 0, most = (int64_t)(bytes / sizeof(double));
    while (k < STEPS && strcmp(step, sgfsi_sketch_steps[k]) != 0) k++;
    static const char *const said[] = {"config", "moves", "data", "columns"};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (!sgfsi_json_is_object(sgfsi_json_get(o, said[i]))) return false;
    if (k == STEPS || sgfsi_json_length(sgfsi_json_get(o, "prints")) < 0 ||
        !knows_its_place(sgfsi_json_get(o, "given")))
        return false;
    sgfsi_elsewhere *e = &s->elsewhere;
    sgfsi_marks *m = &s->marks;
    s->step = (sgfsi_sketch_step)k;
    s->part = sgfsi_json_get_int(o, "part", -1);
    s->parts = sgfsi_json_length(sgfsi_json_get(o, "parts"));
    s->done = sgfsi_json_get_flag(o, "done");
    e->D = sgfsi_json_get_int(o, "D", 0);
    e->places = sgfsi_json_get_int(o, "places", 0);
    e->model = sgfsi_json_get_text(o, "model", "");
    const sgfsi_json *data = sgfsi_json_get(o, "data");
    e->weighted = sgfsi_json_get(data, "weights") != NULL;
    e->exposed = sgfsi_json_get(data, "exposure") != NULL;
    m->chains = sgfsi_json_get_int(marks, "chains", 0);
    m->warmup = sgfsi_json_get_int(marks, "warmup", 0);
    m->iterations = sgfsi_json_get_int(marks, "iterations", 0);
    m->p = sgfsi_json_get_int(marks, "p", 0);
    m->count = sgfsi_json_get_int(marks, "count", 0);
    m->numbers = sgfsi_json_get_int(marks, "numbers", 0);
    const int64_t moves = (int64_t)1 << 40; /* of all chains, and of one */
    bool run = m->chains >= 0 && m->chains <= 65536 && m->warmup >= 0 &&
               m->warmup <= m->iterations && m->iterations <= moves;
    bool numbers = m->numbers >= 0 && m->numbers <= most && m->count >= 0 && m->count <= m->numbers;
    bool places =
        e->D >= 0 && e->D <= most && e->places >= 0 &&
        (e->places == 0 || (double)e->places * (1 + (double)e->D * (double)e->D) <= (double)most);
    bool asked = s->step == SGFSI_SKETCH_COLUMNS || e->places == 1 || /* once, where it counts */
                 (s->step == SGFSI_SKETCH_PLACE && !s->done);
    return run && numbers && places && asked && s->parts >= 0 && s->part >= -1 &&
           s->part < s->parts + 1;
}

static sgfs_status take_all(sgfsi_sketch *s, const unsigned char *bytes, size_t length,
                            sgfs_err *err) {
    sgfs_err why;
    const size_t least = PREFIX + LENGTH + CRC;
    if (length < least || memcmp(bytes, magic, sizeof magic) != 0)
        return sgfsi_fail(err, SGFS_ERUNFILE, "%.300s: is no file of a sketch.", s->path);
    if (sgfsi_get_u32(bytes + 8) != VERSION)
        return sgfsi_fail(err, SGFS_ERUNFILE,
                          "%.300s: a sketch of version %u; this sgfs reads version %d only.",
                          s->path, sgfsi_get_u32(bytes + 8), VERSION);
    size_t text = sgfsi_get_u32(bytes + 12), rest = length - least;
    s->id = sgfsi_get_u32(bytes + length - CRC);
    s->bytes = length;
    if (text > rest || sgfsi_get_u64(bytes + PREFIX + text) != rest - text ||
        sgfsi_crc32(0, bytes, length - CRC) != s->id)
        return fail_damage(s->path, err);
    s->head = sgfsi_json_parse((const char *)bytes + PREFIX, text, s->path, &why);
    if (s->head == NULL && why.code == SGFS_ENOMEM) return sgfsi_fail_memory(err, s->path);
    if (s->head == NULL || !take_head(s, rest)) return fail_damage(s->path, err);
    sgfs_status status = sgfsi_sketch_room(s, s->elsewhere.D, s->elsewhere.places, err);
    s->marks.number = SGFSI_DOUBLES(&s->arena, s->marks.numbers + 1);
    if (status != SGFS_OK || s->marks.number == NULL) return sgfsi_fail_memory(err, s->path);
    sgfsi_fields list = {0};
    list_numbers(s, &list);
    status = sgfsi_fields_load(&list, bytes + PREFIX + text + LENGTH, rest - text, &why);
    sgfsi_fields_free(&list);
    if (status == SGFS_ENOMEM) return sgfsi_fail_memory(err, s->path);
    return status == SGFS_OK ? SGFS_OK : fail_damage(s->path, err);
}

sgfs_status sgfsi_sketch_read(sgfsi_sketch *s, const char *path, sgfs_err *err) {
    size_t length;
    *s = (sgfsi_sketch){.part = -1};
    s->path = sgfsi_arena_text(&s->arena, path);
    if (s->path == NULL) return sgfsi_fail_memory(err, path);
    char *bytes = sgfsi_file_read(path, (size_t)1 << 46, &length, err);
    if (bytes == NULL) return sgfsi_why(err);
    sgfs_status status = take_all(s, (const unsigned char *)bytes, length, err);
    free(bytes);
    return status;
}

/* ---- several --------------------------------------------------------------------------------- */

static const char *name_of(const sgfsi_sketch *s, int64_t part) {
    return sgfsi_json_get_text(sgfsi_json_at(sgfsi_json_get(s->head, "parts"), part), "name", "?");
}

static sgfs_status check_one(const sgfsi_sketch *first, const sgfsi_sketch *s, sgfs_err *err) {
    if (s->step != first->step)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%.200s holds %s of a sketch, and %.200s its %s: give files of one step.",
                          s->path, sgfsi_sketch_steps[s->step], first->path,
                          sgfsi_sketch_steps[first->step]);
    if (!sgfsi_json_equal(sgfsi_json_get(s->head, "of"), sgfsi_json_get(first->head, "of")) ||
        s->elsewhere.D != first->elsewhere.D ||
        !sgfsi_json_equal(sgfsi_json_get(s->head, "given"), sgfsi_json_get(first->head, "given")) ||
        strcmp(s->elsewhere.model, first->elsewhere.model) != 0)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%.200s is of another sketch than %.200s, or of another place: model, "
                          "options and place must be the same.",
                          s->path, first->path);
    return SGFS_OK;
}

sgfs_status sgfsi_sketch_check(int64_t n, const sgfsi_sketch *s, sgfs_err *err) {
    if (n == 1 && s->part < 0) return SGFS_OK;
    int64_t parts = s->parts;
    for (int64_t k = 0; k < n; k++) {
        if (check_one(s, &s[k], err) != SGFS_OK) return sgfsi_why(err);
        for (int64_t i = 0; i < k; i++) {
            bool same = s->step == SGFSI_SKETCH_COLUMNS
                            ? sgfsi_json_equal(
                                  sgfsi_json_get(sgfsi_json_get(s[i].head, "data"), "fingerprint"),
                                  sgfsi_json_get(sgfsi_json_get(s[k].head, "data"), "fingerprint"))
                            : s[i].part == s[k].part;
            if (same)
                return sgfsi_fail(
                    err, SGFS_EUSAGE,
                    "%.200s and %.200s are of the same rows, which would count twice: "
                    "leave one out.",
                    s[i].path, s[k].path);
        }
    }
    for (int64_t part = 0; s->step != SGFSI_SKETCH_COLUMNS && part < parts; part++) {
        int64_t k = 0;
        while (k < n && s[k].part != part) k++;
        if (k == n)
            return sgfsi_fail(
                err, SGFS_EUSAGE,
                "The %s of %.200s are missing: a sketch needs those of all %lld parts "
                "of the rows, and there are %lld.",
                sgfsi_sketch_steps[s->step], name_of(s, part), (long long)parts, (long long)n);
    }
    return SGFS_OK;
}

sgfs_status sgfsi_sketch_join(sgfsi_sketch *out, int64_t n, const sgfsi_sketch *s, sgfs_err *err) {
    sgfsi_marks *m = &out->marks;
    *m = s->marks;
    m->count = m->numbers = 0;
    for (int64_t k = 0; k < n; k++) {
        m->count += s[k].marks.count;
        m->numbers += s[k].marks.numbers;
        m->growth = fmax(m->growth, s[k].marks.growth);
    }
    m->number = SGFSI_DOUBLES(&out->arena, m->numbers + 1);
    if (m->number == NULL) return sgfsi_fail_memory(err, "the marks");
    double *to = m->number;
    for (int64_t part = 0; part < n; part++) { /* by part, in whatever order the files came */
        for (int64_t k = 0; k < n; k++) {
            if (s[k].part != part && n > 1) continue;
            memcpy(to, s[k].marks.number, (size_t)s[k].marks.numbers * sizeof *to);
            to += s[k].marks.numbers;
        }
    }
    return SGFS_OK;
}

sgfs_data *sgfsi_sketch_data(const sgfsi_sketch *s, const sgfs_config *cfg, sgfs_err *err) {
    return sgfsi_data_elsewhere(sgfsi_json_get(s->head, "data"), sgfsi_json_get(s->head, "columns"),
                                &s->elsewhere, cfg, err);
}
