/* SPDX-License-Identifier: MIT
 * comm.c: how processes meet (comm.h).
 */
#include "context/comm/comm.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* What a process says when it comes. */
typedef struct note {
    int64_t errand, code;
    uint64_t number; /* that has to be the same in all of them, or 0 */
} note;

struct sgfsi_comm_room {
    note *note;     /* size */
    sgfs_err *said; /* size */
    sgfs_err over;  /* nobody meets any more, and why; its code is SGFS_OK until then */
    sgfsi_traffic sent;
};

sgfs_status sgfsi_comm_make_room(sgfsi_comm *c, sgfs_err *err) {
    struct sgfsi_comm_room *room = calloc(1, sizeof *room);
    c->room = room;
    if (room != NULL) {
        room->note = calloc((size_t)c->size, sizeof *room->note);
        room->said = calloc((size_t)c->size, sizeof *room->said);
        if (room->note != NULL && room->said != NULL) return SGFS_OK;
    }
    sgfsi_comm_free_room(c);
    return sgfsi_fail_memory(err, "the communicator");
}

void sgfsi_comm_free_room(sgfsi_comm *c) {
    if (c->room == NULL) return;
    free(c->room->note);
    free(c->room->said);
    free(c->room);
    c->room = NULL;
}

sgfsi_share sgfsi_comm_share(const sgfsi_comm *c, int64_t parts) {
    return (sgfsi_share){parts * c->rank / c->size, parts * (c->rank + 1) / c->size};
}

sgfsi_traffic sgfsi_comm_traffic(const sgfsi_comm *c) {
    return c->room != NULL ? c->room->sent : (sgfsi_traffic){0, 0};
}

/* ---- meeting --------------------------------------------------------------------------------- */

static sgfs_status gather(const sgfsi_comm *c, int64_t parts, int64_t bytes, int64_t stride,
                          void *data, sgfs_err *err) {
    sgfsi_share mine = sgfsi_comm_share(c, parts);
    c->room->sent.bytes += (mine.end - mine.first) * bytes;
    return c->ops->gather(c, parts, bytes, stride, data, err);
}

/* Everybody's sentence, and the one that counts. apart: not all came for the same. */
static sgfs_status hear(const sgfsi_comm *c, bool apart, sgfs_err *err) {
    const note *notes = c->room->note;
    sgfs_err *said = c->room->said;
    int64_t first = -1, same = 0;
    if (notes[c->rank].code == SGFS_OK) memset(&said[c->rank], 0, sizeof *said);
    else said[c->rank] = *err;
    sgfs_status status = gather(c, c->size, sizeof *said, sizeof *said, said, err);
    if (status != SGFS_OK) return status;
    for (int64_t k = 0; k < c->size; k++) {
        if (notes[k].code == SGFS_OK) continue;
        bool stopped = first >= 0 && notes[first].code == SGFS_ESTOPPED;
        if (first < 0 || (stopped && notes[k].code != SGFS_ESTOPPED)) first = k;
    }
    sgfs_status code = (sgfs_status)notes[first].code;
    for (int64_t k = 0; k < c->size; k++)
        same += notes[k].code == code && strcmp(said[k].text, said[first].text) == 0;
    bool named = first > 0 && same < c->size && code != SGFS_ESTOPPED &&
                 (apart || code == SGFS_EIO || code == SGFS_ENOMEM);
    if (!named) *err = said[first], err->code = code;
    else
        sgfsi_fail(err, code, "On rank %lld of %lld: %s", (long long)first, (long long)c->size,
                   said[first].text);
    return code;
}

/* Come for an errand, which is a number of it, and hear who else did. */
static sgfs_status meet(const sgfsi_comm *c, int64_t errand, uint64_t number, sgfs_status status,
                        sgfs_err *err) {
    struct sgfsi_comm_room *room = c->room;
    if (room->over.code != SGFS_OK) return *err = room->over, room->over.code;
    room->note[c->rank] = (note){errand, status, number};
    room->sent.meetings++;
    sgfs_err lost;
    sgfs_status met = gather(c, c->size, sizeof *room->note, sizeof *room->note, room->note, &lost);
    bool apart = false, fine = true;
    int64_t other = 0;
    for (int64_t k = 0; k < c->size && met == SGFS_OK; k++) {
        if (other == 0 && room->note[k].number != room->note[0].number) other = k;
        apart = apart || room->note[k].errand != room->note[0].errand;
        fine = fine && room->note[k].code == SGFS_OK;
    }
    if (met != SGFS_OK) *err = lost, status = met;
    else if (!fine) status = hear(c, apart, err);
    else if (apart)
        status = sgfsi_fail(err, SGFS_ENOMEM,
                            "The processes of this run went different ways, which is a mistake of "
                            "ours: please tell us the command.");
    else if (other > 0)
        status =
            sgfsi_fail(err, SGFS_ENUMERIC,
                       "Rank %lld of %lld has come to other numbers than rank 0: processes that "
                       "work on one run need the same processor and the same libraries "
                       "(OPENBLAS_CORETYPE names kernels that all machines have).",
                       (long long)other, (long long)c->size);
    if (apart || other > 0 || met != SGFS_OK) room->over = *err, room->over.code = status;
    return status;
}

enum { AGREE, GATHER, BROADCAST, PART };

static int64_t errand_of(int64_t kind, int64_t parts, int64_t bytes) {
    return kind + 4 * (parts + 65536 * bytes);
}

sgfs_status sgfsi_comm_agree(const sgfsi_comm *c, sgfs_status status, sgfs_err *err) {
    sgfs_err own = {SGFS_OK, ""};
    if (c->size == 1) return status;
    return meet(c, AGREE, 0, status, err != NULL ? err : &own);
}

sgfs_status sgfsi_comm_agree_on(const sgfsi_comm *c, sgfs_status status, uint64_t number,
                                sgfs_err *err) {
    sgfs_err own = {SGFS_OK, ""};
    if (c->size == 1) return status;
    return meet(c, AGREE, number, status, err != NULL ? err : &own);
}

sgfs_status sgfsi_comm_part(const sgfsi_comm *c, sgfs_status status, sgfs_err *err) {
    sgfs_err own = {SGFS_OK, ""};
    if (c->size == 1) return status;
    return meet(c, PART, 0, status, err != NULL ? err : &own);
}

sgfs_status sgfsi_comm_gather(const sgfsi_comm *c, sgfs_status status, int64_t parts, int64_t bytes,
                              int64_t stride, void *data, sgfs_err *err) {
    sgfs_err own = {SGFS_OK, ""};
    if (c->size == 1) return status;
    if (err == NULL) err = &own;
    status = meet(c, errand_of(GATHER, parts, bytes), 0, status, err);
    if (status == SGFS_OK && parts * bytes > 0) status = gather(c, parts, bytes, stride, data, err);
    return status;
}

sgfs_status sgfsi_comm_broadcast(const sgfsi_comm *c, sgfs_status status, int64_t bytes, void *data,
                                 sgfs_err *err) {
    sgfs_err own = {SGFS_OK, ""};
    if (c->size == 1) return status;
    if (err == NULL) err = &own;
    status = meet(c, errand_of(BROADCAST, 0, bytes), 0, status, err);
    if (status != SGFS_OK || bytes == 0) return status;
    if (c->rank == 0) c->room->sent.bytes += bytes;
    return c->ops->broadcast(c, bytes, data, err);
}
