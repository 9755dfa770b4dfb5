/* SPDX-License-Identifier: MIT
 * cuda_stream.cu: rows on their way to a GPU: all of them when they are first kept, and in each
 * pass those that have no room there.
 *
 *     host            reads stretch k + 2 to pinned memory     (several threads: rows/carrier.c)
 *     copies          stretch k + 1                            a stream of its own
 *     the lane's      gathers stretch k, and works on it
 *
 * A pass takes as long as the slowest of the three. Stretches of a pass take turns with three
 * slots; before one is filled, all is done that was begun with what it had. So the host is never
 * far ahead, and a pass that is given up ends soon. Where stretches begin, and with it the order of
 * sums, depends on neither what lies there nor who brings the rest.
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
    for (int64_t first = 0; fine && first < k->there; first += w->rows) {
        int64_t n = k->there - first < w->rows ? k->there - first : w->rows;
        slot *at = next_slot(w, &code);
        fine = code == cudaSuccess && make_pinned(at, w->bytes) &&
               w->read(w->user, first, n, at->pinned) &&
               send(w, at, n * k->row_bytes, k->cells + first * k->row_bytes) == cudaSuccess &&
               cudaEventRecord(at->done, w->copies) == cudaSuccess;
    }
    fine = cudaStreamSynchronize(w->copies) == cudaSuccess && fine;
    if (k->there == k->rows) drop_slots(w);
    return fine;
}

bool next_stretch(lane *l, const kept_rows *k, int64_t first, int64_t n, int64_t pitch, double *X) {
    stretches *w = k->way;
    kept_rows part = *k;
    cudaError_t code;
    slot *at = next_slot(w, &code);
    if (!fine(l, code, "the work")) return false;
    if (first + n > k->there) {
        if (!w->read(w->user, first, n, at->pinned)) return false;
        (void)(fine(l, send(w, at, n * k->row_bytes, at->far), "a copy") &&
               fine(l, cudaEventRecord(at->copied, w->copies), "a copy") &&
               fine(l, cudaStreamWaitEvent(l->stream, at->copied, 0), "a copy"));
        part.cells = at->far;
        first = 0;
    }
    if (works(l)) gather_rows(l, &part, nullptr, first, n, pitch, X);
    return works(l);
}

void end_stretch(lane *l, const kept_rows *k) {
    stretches *w = k->way;
    (void)fine(l, cudaEventRecord(w->slots[(w->turn + SLOTS - 1) % SLOTS].done, l->stream),
               "the work");
}
