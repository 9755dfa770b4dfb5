/* SPDX-License-Identifier: MIT
 * cuda_stream.cu: rows on their way to a GPU: all of them when they are first kept, and in each
 * pass those that have no room there.
 *
 *     host            reads stretch k + 2 to pinned memory     (several threads: rows/carrier.c)
 *     copies          stretch k + 1                            a stream of its own
 *     the lane's      gathers stretch k, and works on it
 *
 * A pass takes as long as the slowest of the three. Stretches that lie there are spread evenly
 * among the others, so that there is work while these come. The others take turns with three slots;
 * before one is filled, all is done that was begun with what it had: the host is never far ahead.
 * Where stretches begin, and with it the order of sums, depends on nothing of all this.
 */
#include "context/device/cuda_rows.cuh"

#include <new>

int64_t stretch_rows(const sgfsi_stored *s, double all) {
    constexpr double MOST = 1 << 23, SHARE = 2048; /* numbers; of the memory, in bytes */
    constexpr int64_t LEAST = 32;
    double numbers = all / SHARE < MOST ? all / SHARE : MOST;
    int64_t stored = s->row_bytes / static_cast<int64_t>(sizeof(double)), design = s->features + 8;
    int64_t rows =
        static_cast<int64_t>(numbers / static_cast<double>(stored > design ? stored : design));
    return rows > LEAST ? rows : LEAST;
}

/* Of all stretches of k, is number `at` there? And how many of those before it. */
static bool lies_there(const kept_rows *k, int64_t at, int64_t *before) {
    int64_t all = pieces(k->rows, k->way->rows), some = pieces(k->there, k->way->rows);
    *before = at * some / all;
    return (at + 1) * some / all > *before;
}

/* The last one is there if any is, and may be shorter. */
int64_t rows_of_stretches(int64_t rows, int64_t stretch, int64_t fit) {
    int64_t some = fit / stretch;
    if (fit >= rows || some == 0) return fit >= rows ? rows : 0;
    return rows - (pieces(rows, stretch) - some) * stretch;
}

stretches *open_stretches(const sgfsi_stored *s, int64_t rows) {
    stretches *w = new (std::nothrow) stretches();
    if (w == nullptr) return nullptr;
    w->rows = rows < s->rows ? rows : s->rows;
    w->bytes = w->rows * s->row_bytes;
    w->read = s->read;
    w->user = s->user;
    bool made = cudaStreamCreateWithFlags(&w->copies, cudaStreamNonBlocking) == cudaSuccess;
    for (slot &at : w->slots)
        made = made &&
               cudaEventCreateWithFlags(&at.copied, cudaEventDisableTiming) == cudaSuccess &&
               cudaEventCreateWithFlags(&at.done, cudaEventDisableTiming) == cudaSuccess;
    if (made) return w;
    close_stretches(w);
    return nullptr;
}

static void drop_slots(stretches *w) {
    for (slot &at : w->slots) {
        (void)cudaFreeHost(at.pinned);
        (void)cudaFree(at.far);
        at.pinned = at.far = nullptr;
    }
}

void close_stretches(stretches *w) {
    if (w == nullptr) return;
    if (w->copies != nullptr) (void)cudaStreamSynchronize(w->copies);
    drop_slots(w);
    for (slot &at : w->slots) {
        if (at.copied != nullptr) (void)cudaEventDestroy(at.copied);
        if (at.done != nullptr) (void)cudaEventDestroy(at.done);
    }
    if (w->copies != nullptr) (void)cudaStreamDestroy(w->copies);
    delete w;
}

static bool make_pinned(slot *at, int64_t bytes) {
    return at->pinned != nullptr || cudaMallocHost(reinterpret_cast<void **>(&at->pinned),
                                                   static_cast<size_t>(bytes)) == cudaSuccess;
}

bool make_slots(stretches *w) {
    for (slot &at : w->slots)
        if (!make_pinned(&at, w->bytes) || cudaMalloc(reinterpret_cast<void **>(&at.far),
                                                      static_cast<size_t>(w->bytes)) != cudaSuccess)
            return false;
    return true;
}

/* The one that has waited longest, when nobody needs what it had. */
static slot *next_slot(stretches *w, cudaError_t *code) {
    slot *at = &w->slots[w->turn++ % SLOTS];
    *code = cudaEventSynchronize(at->done);
    return at;
}

static cudaError_t send(stretches *w, const slot *at, int64_t bytes, char *to) {
    return cudaMemcpyAsync(to, at->pinned, static_cast<size_t>(bytes), cudaMemcpyHostToDevice,
                           w->copies);
}

bool copy_there(const kept_rows *k) {
    stretches *w = k->way;
    bool fine = true;
    cudaError_t code;
    for (int64_t at = 0, before; fine && at * w->rows < k->rows; at++) {
        int64_t first = at * w->rows, n = k->rows - first < w->rows ? k->rows - first : w->rows;
        if (!lies_there(k, at, &before)) continue;
        slot *with = next_slot(w, &code);
        fine = code == cudaSuccess && make_pinned(with, w->bytes) &&
               w->read(w->user, first, n, with->pinned) &&
               send(w, with, n * k->row_bytes, k->cells + before * w->bytes) == cudaSuccess &&
               cudaEventRecord(with->done, w->copies) == cudaSuccess;
    }
    fine = cudaStreamSynchronize(w->copies) == cudaSuccess && fine;
    if (k->there == k->rows) drop_slots(w);
    return fine;
}

bool next_stretch(lane *l, const kept_rows *k, int64_t first, int64_t n, int64_t pitch, double *X) {
    stretches *w = k->way;
    kept_rows part = *k;
    cudaError_t code;
    int64_t before;
    w->used = nullptr;
    if (lies_there(k, first / w->rows, &before)) {
        part.cells = k->cells + before * w->bytes;
    } else {
        slot *with = next_slot(w, &code);
        if (!fine(l, code, "the work") || !w->read(w->user, first, n, with->pinned)) return false;
        (void)(fine(l, send(w, with, n * k->row_bytes, with->far), "a copy") &&
               fine(l, cudaEventRecord(with->copied, w->copies), "a copy") &&
               fine(l, cudaStreamWaitEvent(l->stream, with->copied, 0), "a copy"));
        part.cells = with->far;
        w->used = with;
    }
    if (works(l)) gather_rows(l, &part, nullptr, 0, n, pitch, X);
    return works(l);
}

void end_stretch(lane *l, const kept_rows *k) {
    slot *with = k->way->used;
    if (with != nullptr) (void)fine(l, cudaEventRecord(with->done, l->stream), "the work");
}
