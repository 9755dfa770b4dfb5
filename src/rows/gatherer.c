/* SPDX-License-Identifier: MIT
 * gatherer.c: rows for a device that keeps a copy of all of them (context/device/device.h), or has
 * them anyway (far.c), and gathers batches from it. Devices on the host have no such copy: gather.c
 * reads the table.
 */
#include "base/memory.h"
#include "base/scratch.h"
#include "rows/carrier.h"

#include <string.h>

static void drop_kept(const void *user, void *kept) {
    const sgfs_device *dev = user;
    dev->ops->drop_rows(dev, kept);
}

/* The parts of rows in memory; a device that wants them copied asks the carrier. false: there are
 * packed files. */
static bool list_parts(const sgfsi_table *t, sgfsi_stored_part *part) {
    if (t->cells != NULL) part[0] = (sgfsi_stored_part){.rows = t->rows, .cells = t->cells};
    for (int64_t k = 0; k < t->parts; k++) {
        if (t->part[k].packed != NULL) return false;
        part[k] = (sgfsi_stored_part){t->part[k].first, t->part[k].rows, t->part[k].cells};
    }
    return true;
}

/* Sparse rows stay with the host; so do packed files of which rows were chosen, as a device would
 * have pages of others, too, and those of several processes, who deal them. */
sgfs_status sgfsi_gatherer_open(sgfsi_gatherer *g, const sgfs_data *d, const sgfsi_context *ctx,
                                bool passes, sgfsi_arena *arena, sgfs_err *err) {
    const sgfsi_table *t = &d->table;
    const sgfs_device *device = ctx->device;
    int64_t parts = t->cells != NULL ? 1 : t->parts;
    bool plain = d->subset == NULL && ctx->comm->size == 1;
    *g = (sgfsi_gatherer){.device = device};
    if (device->ops->gather == NULL || t->type == SGFSI_CSR || parts == 0) return SGFS_OK;
    sgfsi_stored_part *part = sgfsi_arena_alloc(arena, parts, sizeof *part);
    if (part == NULL) return sgfsi_fail_memory(err, "rows for a device");
    bool packed = !list_parts(t, part);
    if (packed && !plain) return SGFS_OK;
    sgfsi_carrier *carrier = sgfsi_carrier_open(d, ctx, arena);
    if (carrier == NULL) return sgfsi_fail_memory(err, "rows for a device");
    int64_t beside = 1 + (d->weight != NULL) + (d->offset != NULL);
    const sgfsi_stored stored = {.type = t->type,
                                 .row_bytes = d->row_bytes,
                                 .rows = t->rows,
                                 .parts = packed ? 0 : parts,
                                 .spans = d->spans,
                                 .part = part,
                                 .span = d->span,
                                 .features = d->features,
                                 .shift = d->scale != NULL ? d->shift : NULL,
                                 .scale = d->scale,
                                 .intercept = d->intercept,
                                 .there = sgfsi_data_is_far(d),
                                 .read = sgfsi_data_is_far(d) ? NULL : sgfsi_carrier_read,
                                 .user = carrier,
                                 .beside = passes && plain ? beside : 0};
    void *kept = device->ops->keep_rows(device, &stored);
    if (kept != NULL && !sgfsi_arena_keep(arena, drop_kept, device, kept)) {
        device->ops->drop_rows(device, kept);
        return sgfsi_fail_memory(err, "rows for a device");
    }
    bool all = device->ops->rows_there == NULL || kept == NULL ||
               device->ops->rows_there(device, kept) == t->rows;
    g->carrier = carrier;
    g->kept = all ? kept : NULL;
    g->some = all ? NULL : kept;
    g->whole = g->kept != NULL && d->subset == NULL;
    return sgfsi_carrier_state(carrier, err);
}

void sgfsi_gatherer_say(const sgfsi_gatherer *g, const sgfs_data *d, const sgfsi_log *log) {
    char there[24], all[24];
    const double bytes = (double)d->row_bytes;
    sgfsi_format_bytes(bytes * (double)g->device->ops->rows_there(g->device, g->some), there);
    sgfsi_say(log, SGFS_NOTE,
              "%s of the rows' %s lie on the device %s; each pass over all rows copies the others "
              "there (docs/gpu.md).",
              there, sgfsi_format_bytes(bytes * (double)d->table.rows, all), g->device->name);
}

void sgfsi_gatherer_range(const sgfsi_gatherer *g, const sgfs_data *d, int64_t first, int64_t n,
                          double *X) {
    const int64_t *row = d->subset != NULL ? d->subset + first : NULL;
    g->device->ops->gather(g->device, g->kept, row, first, n, X);
}

/* Rows of packed files lie on a disk that all processes reach, and are mapped; other rows are in
 * the memory of each. A file of a single chunk is one array, from which rows are taken as they
 * lie. */
static bool can_be_dealt(const sgfs_data *d) {
    const sgfsi_table *t = &d->table;
    bool packed = t->parts > 0 && d->subset == NULL;
    for (int64_t k = 0; packed && k < t->parts; k++) packed = t->part[k].packed != NULL;
    return packed && (t->parts > 1 || t->part[0].packed->chunks > 1);
}

sgfs_status sgfsi_gatherer_deal(sgfsi_gatherer *g, const sgfs_data *d, const char *how,
                                const sgfsi_comm *comm, sgfs_err *err) {
    bool on = strcmp(how, "on") == 0, off = strcmp(how, "off") == 0, can = can_be_dealt(d);
    if (comm->size == 1 || off || (!on && !can)) return SGFS_OK;
    if (!can && d->subset == NULL)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--deal on: %s: rows are dealt to processes from packed files, which "
                          "`sgfs pack` makes, of more than a chunk.",
                          d->path);
    bool deal = can && (on || sgfsi_data_mapped_bytes(d) > sgfsi_memory());
    sgfs_status status = sgfsi_comm_broadcast(comm, SGFS_OK, (int64_t)sizeof deal, &deal, err);
    if (status == SGFS_OK && deal) g->dealt = comm;
    return status;
}
