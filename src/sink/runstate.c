/* SPDX-License-Identifier: MIT
 * runstate.c: states in a run file, going on from them, and the order of a complete file.
 *
 * While a run moves, its file is a log: blocks in the order in which chains hand them over, and
 * among them two places for states, which are written over in turn:
 *
 *     head | draws | state A | state B | draws | draws | costs | draws ...
 *
 * A state says where the file ended when it was saved: all before that belongs to it, and whoever
 * goes on from it cuts off the rest. It is on the disk before the other place is touched, so that a
 * write that is torn, by a kill or by a power cut, costs one state and never both. A state that no
 * longer fits gets two new places at the end.
 *
 * When blocks are written depends on the clock, on threads and on when the run was interrupted. A
 * complete file does not: it is written once more in one order (settle), beside the log, and takes
 * its place:
 *
 *     head | draws of chain 1 | of chain 2 | ... | points | state | costs | end
 *
 * So the file of a run that was killed ten times has the bytes of one that never was, times aside.
 * The state in it is for those who want more draws later.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/io.h"
#include "sink/runwriter.h"

static sgfs_status fail_io(const sgfsi_runfile *f, const char *what, int error, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EIO, "%.300s: cannot %s: %s.", f->path, what, strerror(error));
}

static size_t whole_of(int64_t payload) {
    return SGFSI_BLOCK_HEAD + (size_t)payload + SGFSI_CRC_BYTES;
}

/* A block with a state, at out; state NULL: an empty place. */
static void put_state(unsigned char *out, int64_t room, const void *state, size_t bytes,
                      const int64_t numbers[2]) {
    const sgfsi_block block = {SGFSI_NOTE_STATE, 0, 0, 0, 0, (uint64_t)room};
    unsigned char *payload = out + SGFSI_BLOCK_HEAD;
    memset(payload, 0, (size_t)room);
    if (state != NULL) {
        sgfsi_put_u64(payload, (uint64_t)numbers[0]);
        sgfsi_put_u64(payload + 8, bytes);
        sgfsi_put_u64(payload + 16, (uint64_t)numbers[1]);
        memcpy(payload + SGFSI_SAVED_HEAD, state, bytes);
    }
    (void)sgfsi_block_seal(out, &block);
}

/* All so far belongs to a state. */
static void remember(sgfsi_runfile *f) {
    f->kept = f->size;
    memcpy(f->next + f->chains, f->next, (size_t)f->chains * sizeof *f->next);
}

/* ---- saving ---------------------------------------------------------------------------------- */

sgfs_status sgfsi_runfile_save(sgfsi_runfile *f, const void *state, size_t bytes, sgfs_err *err) {
    int64_t needed = SGFSI_SAVED_HEAD + (int64_t)bytes;
    bool fits = needed <= f->slot_bytes;
    int64_t room = fits ? f->slot_bytes : (needed + needed / 8 + 7) / 8 * 8; /* anchors may come */
    size_t whole = whole_of(room);
    unsigned char *out = malloc(whole);
    if (out == NULL) return sgfsi_fail_memory(err, "the run's state");
    pthread_mutex_lock(&f->lock);
    int64_t end = fits ? f->size : f->size + 2 * (int64_t)whole;
    put_state(out, room, state, bytes, (int64_t[]){f->states + 1, end});
    int error;
    if (fits) { /* all but the head, over the older one */
        error = sgfsi_io_write(f->fd, out + SGFSI_BLOCK_HEAD, whole - SGFSI_BLOCK_HEAD,
                               f->slot[1] + SGFSI_BLOCK_HEAD);
    } else { /* and a place for the next one, without room for both at once */
        error = sgfsi_io_write(f->fd, out, whole, f->size);
        put_state(out, room, NULL, 0, NULL);
        if (error == 0) error = sgfsi_io_write(f->fd, out, whole, f->size + (int64_t)whole);
        if (error != 0) (void)sgfsi_io_truncate(f->fd, f->size);
    }
    if (error == 0) {
        const int64_t newer = fits ? f->slot[1] : f->size;
        f->slot[1] = fits ? f->slot[0] : f->size + (int64_t)whole; /* where the next one goes */
        f->slot[0] = newer;
        f->slot_bytes = room;
        f->size = end;
        f->states++;
        remember(f);
        error = sgfsi_io_sync(f->fd);
    }
    pthread_mutex_unlock(&f->lock);
    free(out);
    return error == 0 ? SGFS_OK : fail_io(f, "save the state of the run", error, err);
}

/* ---- going on -------------------------------------------------------------------------------- */

/* A state as it stands in the file. */
typedef struct candidate {
    sgfsi_saved_place place;
    int64_t number, end; /* number 0: empty */
    bool settled;        /* of a file that is in order */
    void *state;         /* malloc'ed; NULL: torn, or empty */
    size_t bytes;
} candidate;

static sgfs_status read_state(const sgfsi_runfile *f, candidate *c, sgfs_err *err) {
    size_t whole = whole_of(c->place.bytes), covered = whole - SGFSI_CRC_BYTES;
    unsigned char *in = malloc(whole);
    c->number = -1;
    if (in == NULL) return sgfsi_fail_memory(err, "the run's state");
    int error = sgfsi_io_read(f->fd, in, whole, c->place.at);
    if (error > 0) {
        free(in);
        return fail_io(f, "read the state of the run", error, err);
    }
    const unsigned char *payload = in + SGFSI_BLOCK_HEAD;
    bool right = error == 0 && c->place.bytes >= SGFSI_SAVED_HEAD &&
                 sgfsi_crc32(0, in, covered) == sgfsi_get_u32(in + covered);
    uint64_t bytes = right ? sgfsi_get_u64(payload + 8) : 0;
    if (right && bytes <= (uint64_t)(c->place.bytes - SGFSI_SAVED_HEAD)) {
        c->number = (int64_t)sgfsi_get_u64(payload);
        c->end = (int64_t)sgfsi_get_u64(payload + 16);
        c->settled = c->end == 0;
        if (c->settled) c->end = c->place.at + (int64_t)whole;
    }
    if (c->number > 0) {
        c->bytes = (size_t)bytes;
        memmove(in, payload + SGFSI_SAVED_HEAD, c->bytes);
        c->state = in;
        return SGFS_OK;
    }
    free(in);
    return SGFS_OK;
}

/* The place beside it, which is written to next; none, where the file was put in order. */
static void find_slots(sgfsi_runfile *f, const sgfsi_scan *scan, int64_t used) {
    const sgfsi_saved_place *s = scan->state;
    int64_t whole = (int64_t)whole_of(s[used].bytes);
    for (int64_t k = used - 1; k <= used + 1; k += 2) {
        if (k < 0 || k >= scan->states || s[k].bytes != s[used].bytes) continue;
        if (s[k].at != s[used].at + (k - used) * whole || s[k].at + whole > f->size) continue;
        f->slot[0] = s[used].at;
        f->slot[1] = s[k].at;
        f->slot_bytes = s[used].bytes;
    }
}

/* The newest whole state behind which the file is whole, too. */
static sgfs_status choose_state(sgfsi_runfile *f, const sgfsi_scan *scan, candidate *all,
                                sgfsi_resumption *from, sgfs_err *err) {
    int64_t torn = 0, passed = INT64_MAX;
    for (int64_t k = 0; k < scan->states; k++) torn += all[k].number < 0;
    for (;;) {
        int64_t best = -1;
        for (int64_t k = 0; k < scan->states; k++) {
            bool older = all[k].number > 0 && all[k].number < passed;
            if (older && (best < 0 || all[k].number > all[best].number)) best = k;
        }
        if (best < 0) break;
        sgfsi_scan before;
        sgfs_err why = {SGFS_OK, ""};
        sgfs_draws *run = sgfsi_runfile_scan(f->path, all[best].end, &before, &why);
        free(before.state);
        if (run == NULL && sgfsi_fail_hard(&why, err) != SGFS_OK) return why.code;
        if (run != NULL && before.end == all[best].end) {
            f->size = all[best].end;
            f->states = all[best].number;
            find_slots(f, scan, best);
            for (int64_t c = 0; c < f->chains; c++) f->next[c] = run->chain[c].draws;
            from->state = all[best].state;
            from->bytes = all[best].bytes;
            from->fell_back = torn > 0 || passed != INT64_MAX;
            from->settled = all[best].settled;
            all[best].state = NULL;
            /* in a file in order, costs stand behind the state */
            sgfs_draws_free(all[best].settled ? run : from->run);
            if (!all[best].settled) from->run = run;
            remember(f);
            return SGFS_OK;
        }
        sgfs_draws_free(run);
        passed = all[best].number;
    }
    bool some = torn > 0 || passed != INT64_MAX;
    if (!some) f->size = f->kept = scan->begin; /* killed before the first one was saved */
    return !some ? SGFS_OK
                 : sgfsi_fail(err, SGFS_ERUNFILE,
                              "%.300s: the saved states are damaged, and the run cannot go on from "
                              "them. Its draws can still be read (`sgfs summary`).",
                              f->path);
}

sgfsi_runfile *sgfsi_runfile_resume(const char *path, sgfsi_resumption *from, sgfs_err *err) {
    sgfs_err own;
    sgfsi_scan scan = {0};
    candidate *all = NULL;
    bool cut_off = false;
    if (err == NULL) err = &own;
    *from = (sgfsi_resumption){0};
    sgfsi_runfile *f = sgfsi_runwriter_new(path, err);
    if (f == NULL) return NULL;
    f->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    sgfs_status status = f->fd >= 0 ? SGFS_OK : fail_io(f, "open it", errno, err);
    bool busy;
    if (status == SGFS_OK) status = sgfsi_runwriter_lock(f->fd, path, &busy, err);
    if (status == SGFS_OK) {
        from->run = sgfsi_runfile_scan(path, 0, &scan, err);
        /* What is damaged may lie behind the newest state, and be cut off. */
        if (from->run == NULL && err->code == SGFS_ERUNFILE && scan.states > 0) {
            free(scan.state);
            int64_t until = scan.end;
            cut_off = true;
            sgfs_err why = {SGFS_OK, ""};
            from->run = sgfsi_runfile_scan(path, until, &scan, &why);
            (void)sgfsi_fail_hard(&why, err);
        }
        if (from->run == NULL) status = err->code;
        else from->complete = strcmp(from->run->state, "complete") == 0;
    }
    if (status == SGFS_OK) {
        f->chains = from->run->chains;
        f->D = from->run->D;
        f->S = from->run->S;
        f->next = calloc(2 * (size_t)f->chains, sizeof *f->next);
        all = calloc((size_t)scan.states + 1, sizeof *all);
        if (f->next == NULL || all == NULL) status = sgfsi_fail_memory(err, "a run file");
    }
    for (int64_t k = 0; k < scan.states && status == SGFS_OK; k++) {
        all[k].place = scan.state[k];
        status = read_state(f, &all[k], err);
    }
    if (status == SGFS_OK) status = choose_state(f, &scan, all, from, err);
    from->fell_back = from->fell_back || cut_off;
    for (int64_t k = 0; all != NULL && k < scan.states; k++) free(all[k].state);
    free(all);
    free(scan.state);
    if (status == SGFS_OK) return f;
    if (f->fd >= 0) close(f->fd);
    sgfsi_runwriter_forget(f);
    sgfs_draws_free(from->run);
    *from = (sgfsi_resumption){0};
    return NULL;
}

sgfs_status sgfsi_runfile_cut(sgfsi_runfile *f, sgfs_err *err) {
    int error = sgfsi_io_truncate(f->fd, f->size);
    return error == 0 ? SGFS_OK : fail_io(f, "write", error, err);
}

sgfs_status sgfsi_runfile_back(sgfsi_runfile *f, sgfs_err *err) {
    f->size = f->kept;
    memcpy(f->next, f->next + f->chains, (size_t)f->chains * sizeof *f->next);
    return sgfsi_runfile_cut(f, err);
}

int64_t sgfsi_runfile_count(const sgfsi_runfile *f, int64_t chain) {
    return f->next[chain];
}

/* ---- a complete file ------------------------------------------------------------------------- */

/* Draws or points of one chain on their way from the log to the file in order. */
typedef struct copier {
    int64_t at, end; /* blocks of the log */
    unsigned char *bytes;
    int64_t room, have; /* bytes; draws that wait */
    int64_t most;       /* draws of a block */
    double *theta, *stats;
    double *points;
    int64_t points_room, points_have;
} copier;

static sgfs_status copy_draws(sgfsi_runfile *f, copier *k, const sgfsi_block *b, sgfs_err *err) {
    const double *theta = sgfsi_get_doubles(k->bytes + SGFSI_BLOCK_HEAD, b->count * (f->D + f->S));
    const double *stats = theta + b->count * f->D;
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; i < b->count && status == SGFS_OK;) {
        int64_t n = b->count - i < k->most - k->have ? b->count - i : k->most - k->have;
        memcpy(k->theta + k->have * f->D, theta + i * f->D, (size_t)(n * f->D) * sizeof *theta);
        if (f->S > 0)
            memcpy(k->stats + k->have * f->S, stats + i * f->S, (size_t)(n * f->S) * sizeof *stats);
        i += n;
        k->have += n;
        if (k->have < k->most) continue;
        status =
            sgfsi_runfile_draws(f, b->chain, f->next[b->chain], k->have, k->theta, k->stats, err);
        k->have = 0;
    }
    return status;
}

static sgfs_status copy_points(copier *k, const sgfsi_block *b, sgfs_err *err) {
    int64_t n = b->count * SGFSI_POINT;
    if (!sgfsi_grow(&k->points, &k->points_room, k->points_have + n, sizeof *k->points))
        return sgfsi_fail_memory(err, "the validation curve");
    memcpy(k->points + k->points_have, sgfsi_get_doubles(k->bytes + SGFSI_BLOCK_HEAD, n),
           (size_t)n * sizeof *k->points);
    k->points_have += n;
    return SGFS_OK;
}

/* One walk over the log for each chain. What is copied is checked once more: a damaged block must
 * not get a new checksum. */
static sgfs_status copy_chain(sgfsi_runfile *f, copier k, int64_t chain, bool points,
                              sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    sgfsi_block b = {0};
    unsigned char head[SGFSI_BLOCK_HEAD];
    for (; k.at < k.end && status == SGFS_OK; k.at += (int64_t)whole_of((int64_t)b.bytes)) {
        int error = sgfsi_io_read(f->log, head, sizeof head, k.at);
        bool right = error == 0 && sgfsi_block_get(head, &b);
        uint32_t kind = points ? SGFSI_BLOCK_POINTS : SGFSI_BLOCK_DRAWS;
        if (right && (b.kind != kind || b.chain != (uint32_t)chain)) continue;
        size_t whole = right ? whole_of((int64_t)b.bytes) : 0, covered = whole - SGFSI_CRC_BYTES;
        if (right && !sgfsi_grow(&k.bytes, &k.room, (int64_t)whole, 1))
            status = sgfsi_fail_memory(err, "a run file");
        if (status != SGFS_OK) break;
        if (right) error = sgfsi_io_read(f->log, k.bytes, whole, k.at);
        right = right && error == 0 &&
                sgfsi_crc32(0, k.bytes, covered) == sgfsi_get_u32(k.bytes + covered);
        if (error > 0) status = fail_io(f, "read", error, err);
        else if (!right)
            status = sgfsi_fail(err, SGFS_ERUNFILE, "%.300s: damaged at byte %lld.", f->path,
                                (long long)k.at);
        else status = points ? copy_points(&k, &b, err) : copy_draws(f, &k, &b, err);
    }
    if (status == SGFS_OK && k.have > 0)
        status = sgfsi_runfile_draws(f, chain, f->next[chain], k.have, k.theta, k.stats, err);
    if (status == SGFS_OK && k.points_have > 0)
        status = sgfsi_runfile_points(f, chain, k.points_have / SGFSI_POINT, k.points, err);
    free(k.bytes);
    free(k.points);
    return status;
}

static sgfs_status copy_all(sgfsi_runfile *f, int64_t begin, int64_t end, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    copier k = {.at = begin, .end = end, .most = 65536 / (8 * (f->D + f->S))};
    if (k.most < 1) k.most = 1;
    k.theta = calloc((size_t)(k.most * f->D) + 1, sizeof *k.theta);
    k.stats = calloc((size_t)(k.most * f->S) + 1, sizeof *k.stats);
    if (k.theta == NULL || k.stats == NULL) status = sgfsi_fail_memory(err, "a run file");
    for (int points = 0; points < 2; points++)
        for (int64_t c = 0; c < f->chains && status == SGFS_OK; c++)
            status = copy_chain(f, k, c, points == 1, err);
    free(k.theta);
    free(k.stats);
    return status;
}

/* The text of the log's header, malloc'ed; where its blocks begin. */
static sgfs_status read_header(const sgfsi_runfile *f, char **text, int64_t *begin, sgfs_err *err) {
    unsigned char prefix[SGFSI_RUN_PREFIX];
    int error = sgfsi_io_read(f->fd, prefix, sizeof prefix, 0);
    size_t length = error == 0 ? sgfsi_get_u32(prefix + 12) : 0;
    *text = calloc(length + 1, 1);
    *begin = SGFSI_RUN_PREFIX + (int64_t)length + SGFSI_CRC_BYTES;
    if (*text == NULL) return sgfsi_fail_memory(err, "a run file");
    if (error == 0) error = sgfsi_io_read(f->fd, *text, length, SGFSI_RUN_PREFIX);
    return error == 0 ? SGFS_OK : fail_io(f, "read", error > 0 ? error : EIO, err);
}

/* The file under this name is still the one that is written. */
static bool has_its_name(const sgfsi_runfile *f) {
    struct stat ours, named;
    return fstat(f->fd, &ours) == 0 && lstat(f->path, &named) == 0 && ours.st_ino == named.st_ino &&
           ours.st_dev == named.st_dev;
}

sgfs_status sgfsi_runfile_settle(sgfsi_runfile *f, const sgfsi_json *header, const void *state,
                                 size_t bytes, bool now, sgfs_err *err) {
    if (!has_its_name(f))
        return sgfsi_fail(err, SGFS_EIO, "%.300s: was moved or replaced meanwhile.", f->path);
    const struct {
        int fd;
        int64_t size, *next;
    } log = {f->fd, f->size, f->next};
    int64_t begin = 0, room = SGFSI_SAVED_HEAD + (int64_t)bytes;
    char *text, *json = header != NULL ? sgfsi_json_dump(header, false) : NULL;
    size_t whole = whole_of(room);
    unsigned char *out = malloc(whole);
    sgfs_status status = read_header(f, &text, &begin, err);
    if (out == NULL || (header != NULL && json == NULL))
        status = sgfsi_fail_memory(err, "a run file");
    const char *head = json != NULL ? json : text;
    bool opened = false;
    f->next = calloc(2 * (size_t)f->chains, sizeof *f->next);
    if (f->next == NULL) status = sgfsi_fail_memory(err, "a run file");
    if (status == SGFS_OK) status = sgfsi_runwriter_temp(f, err);
    if (status == SGFS_OK) {
        opened = true;
        f->log = log.fd;
        status = sgfsi_runwriter_head(f, head, strlen(head), err);
    }
    if (status == SGFS_OK) status = copy_all(f, begin, log.size, err);
    if (status == SGFS_OK) {
        put_state(out, room, state, bytes, (int64_t[]){1, 0});
        int error = sgfsi_io_write(f->fd, out, whole, f->size);
        if (error != 0) status = fail_io(f, "write", error, err);
    }
    free(text);
    free(json);
    free(out);
    if (status == SGFS_OK) {
        free(log.next);
        f->size += (int64_t)whole;
        f->states = 1;
        f->slot_bytes = 0;
        remember(f);
        return now ? sgfsi_runwriter_commit(f, err) : SGFS_OK;
    }
    /* As if nothing had been tried. */
    if (opened) {
        unlink(f->temp);
        close(f->fd);
    }
    free(f->next);
    f->fd = log.fd;
    f->log = -1;
    f->size = log.size;
    f->next = log.next;
    f->failed = false;
    return status;
}

sgfs_status sgfsi_runwriter_commit(sgfsi_runfile *f, sgfs_err *err) {
    int error = f->failed ? EIO : sgfsi_io_sync(f->fd);
    if (error == 0) error = sgfsi_io_rename(f->temp, f->path);
    if (error == 0) sgfsi_sync_folder(f->path);
    else unlink(f->temp);
    close(f->log);
    f->log = -1;
    return error == 0 ? SGFS_OK : fail_io(f, "write", error, err);
}
