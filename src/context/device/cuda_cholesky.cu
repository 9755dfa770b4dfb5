/* SPDX-License-Identifier: MIT
 * cuda_cholesky.cu: Cholesky factors on a GPU, and solutions with them, in one kernel each, whose
 * blocks all run at the same time and wait for each other's tiles of 64 x 64 numbers.
 *
 * The time of a factor is that of the chain along its diagonal: factor a tile, multiply the one
 * below it, subtract the square of that from the next one on the diagonal. A single block walks
 * along this chain and does nothing else. The others subtract from each tile the products of what
 * is to its left, as soon as that is there, column after column; a tile of the chain they leave to
 * it when all products but the last one are subtracted. Instead of the tiles on the diagonal it is
 * their inverses that are handed around, so that all that is done with tiles is products.
 *
 * A solution has the same chain: a block that walks along the diagonal looks itself at the tiles
 * nearest to it, and the others bring the sums of what is further away. Numbers of a solution are
 * published by themselves: their place holds a NaN of its own until they are there.
 *
 * All sums are made in an order that D alone decides.
 */
#include "context/device/cuda_cholesky.cuh"

#include <cmath>
#include <cstring>

static constexpr int EIGHT = 8;
enum : unsigned { NOTHING, PREPARED, FINISHED }; /* what a tile's flag says */

static constexpr int64_t POOL_TILES = 4, POOL_BYTES = POOL_TILES * TILE_ROOM * sizeof(double);

int64_t factor_numbers(int64_t D) {
    int64_t T = tiles_along(D), tiles = T * (T + 1) / 2;
    return (T + tiles) * AREA + pieces(tiles + T, 2) + 4 * T * SIDE;
}

factor_room factor_room_at(int64_t D, double *numbers) {
    int64_t T = tiles_along(D), tiles = T * (T + 1) / 2;
    factor_room room = {};
    room.inverse = numbers;
    room.tile = room.inverse + T * AREA;
    room.solution = room.tile + tiles * AREA;
    room.flag = reinterpret_cast<unsigned *>(room.solution + 4 * T * SIDE);
    return room;
}

/* ---- a tile on the diagonal ------------------------------------------------------------------ */

static constexpr int ROWS = 2 * SIDE;            /* threads that have a row of C or X each */
static constexpr int ALL_ROWS = ALL_OF_TEAM + 1; /* their barrier */
static constexpr int TALL = 5;                   /* pieces of 16 rows, at most */

/* Products of columns first .. first + 7 are subtracted from eight columns of C and X, from `left`
 * on, by a warp: in COUNT pieces of 16 rows from number `from` on, of C those below, of X those
 * that are not 0. */
template <bool GIVEN, int COUNT>
__device__ static inline void subtract_columns(double *C, double *X, int first, int left,
                                               int from) {
    const int r = static_cast<int>(threadIdx.x) % WARP / 4, c = static_cast<int>(threadIdx.x) % 4;
    const int high = GIVEN ? 0 : (SIDE - left + 15) / 16, all = high + (first + 23) / 16;
    double *to[COUNT], sum[COUNT][4], y[2];
    if (from >= all) return;
#pragma unroll
    for (int k = 0; k < 2; k++) y[k] = C[(left + r) * PITCH + first + 4 * k + c];
#pragma unroll
    for (int t = 0; t < COUNT; t++) { /* the last ones more than once, if need be */
        const int u = from + t < all ? from + t : all - 1;
        double *A = u < high ? C + (SIDE - 16 * (u + 1)) * PITCH : X + 16 * (u - high) * PITCH;
        to[t] = A + r * PITCH;
#pragma unroll
        for (int h = 0; h < 4; h++) sum[t][h] = to[t][left + 2 * c + h / 2 * 8 * PITCH + h % 2];
    }
#pragma unroll
    for (int k = 0; k < 2; k++) {
#pragma unroll
        for (int t = 0; t < COUNT; t++) {
            const double *column = to[t] + first + 4 * k + c;
            const double less[2] = {-column[0], -column[8 * PITCH]};
            add_product_16(sum[t], less, y[k]);
        }
    }
    __syncwarp();
#pragma unroll
    for (int t = 0; t < COUNT; t++) {
#pragma unroll
        for (int h = 0; h < 4; h++) to[t][left + 2 * c + h / 2 * 8 * PITCH + h % 2] = sum[t][h];
    }
}

/* C = L L', or L itself where it is GIVEN: C -> L, and X -> L^-T, which is 0 below its diagonal.
 * Eight columns at a time: each row has a thread, which factors the 8 x 8 numbers on the diagonal
 * for itself and solves its own eight with them. Their products are first subtracted from the next
 * eight columns, and while these are solved, other warps subtract them from the rest. Above the
 * diagonal C holds anything. Returns in thread 64, which has the first row of X, the order of the
 * first minor that is not positive, or 0. */
template <bool GIVEN> __device__ static int factor_tile(double *C, double *X) {
    const int me = static_cast<int>(threadIdx.x), warp = me / WARP;
    constexpr int OTHERS = TEAM / WARP - ROWS / WARP;
    int order = 0;
    double *row = me < SIDE ? C + me * PITCH : X + (me - SIDE) * PITCH, x[EIGHT];
    for (int i = me; i < AREA; i += TEAM) X[i / SIDE * PITCH + i % SIDE] = i / SIDE == i % SIDE;
    meet_team();
#pragma unroll
    for (int i = 0; i < EIGHT && me < ROWS; i++) x[i] = row[i];
#pragma unroll 1
    for (int first = 0; first < SIDE; first += EIGHT) {
        if (me < ROWS) {
            const bool below = me < SIDE && me >= first;
            double d[EIGHT][EIGHT];
#pragma unroll
            for (int i = 0; i < EIGHT; i++) {
#pragma unroll
                for (int j = 0; j <= i; j += 2) {
                    double2 two = two_at(C + (first + i) * PITCH + first + j);
                    d[i][j] = two.x;
                    d[i][j + 1] = two.y;
                }
            }
#pragma unroll
            for (int j = 0; j < EIGHT; j++) {
                double scale = GIVEN ? 1 / d[j][j] : rsqrt(d[j][j]);
                if (!GIVEN && !(d[j][j] > 0) && order == 0) order = first + j + 1;
                x[j] *= scale;
#pragma unroll
                for (int i = j + 1; i < EIGHT; i++) {
                    if (!GIVEN) d[i][j] *= scale;
                    x[i] -= x[j] * d[i][j];
                }
#pragma unroll
                for (int i = j + 1; i < EIGHT && !GIVEN; i++) {
#pragma unroll
                    for (int k = j + 1; k <= i; k++) d[i][k] -= d[i][j] * d[k][j];
                }
            }
            meet(ALL_ROWS, ROWS);
            if ((below && !GIVEN) || me >= SIDE) {
#pragma unroll
                for (int i = 0; i < EIGHT; i += 2) put_two(row + first + i, x[i], x[i + 1]);
            }
        }
        meet_team();
        const int next = first + EIGHT;
        if (next == SIDE) break;
        if (me < ROWS) {
            subtract_columns<GIVEN, 1>(C, X, first, next, warp);
            if (warp == 0) subtract_columns<GIVEN, 1>(C, X, first, next, ROWS / WARP);
            meet(ALL_ROWS, ROWS);
#pragma unroll
            for (int i = 0; i < EIGHT; i += 2) {
                double2 two = two_at(row + next + i);
                x[i] = two.x;
                x[i + 1] = two.y;
            }
        } else {
            for (int left = next + EIGHT * (1 + warp - ROWS / WARP); left < SIDE;
                 left += EIGHT * OTHERS)
                subtract_columns<GIVEN, TALL>(C, X, first, left, 0);
        }
    }
    meet_team();
    return order;
}

/* ---- factoring ------------------------------------------------------------------------------- */

struct factoring {
    int64_t D;
    int T;
    double *A, *tile, *inverse, *failed;
    unsigned *flag;
    const double *stopped;
};

__device__ static inline int64_t number_of(int i, int j) {
    return static_cast<int64_t>(i) * (i + 1) / 2 + j;
}
__device__ static inline unsigned *flag_of(const factoring &f, int i, int j) {
    return f.flag + number_of(i, j);
}
__device__ static inline unsigned *flag_of(const factoring &f, int j) {
    return f.flag + number_of(f.T, 0) + j;
}

/* All threads of the team wait until a flag says so much. */
__device__ static void await(const unsigned *flag, unsigned value) {
    if (threadIdx.x == 0)
        while (look(flag) < value) let_others_go_on();
    meet_team();
}

/* What all of the team have written so far, for who sees the flag. */
__device__ static void announce(unsigned *flag, unsigned value) {
    meet_team();
    if (threadIdx.x == 0) publish(flag, value);
}

/* Number (r, c) of tile (i, j) of A, which goes on as the identity. It is looked for without a
 * branch, so that several are on their way at the same time. */
__device__ static inline double number_at(const factoring &f, int i, int j, int r, int c) {
    int64_t row = static_cast<int64_t>(i) * SIDE + r, col = static_cast<int64_t>(j) * SIDE + c;
    const bool there = row < f.D && col <= row;
    const double x = __ldcg(f.A + (there ? row * f.D + col : 0));
    return there ? x : row == col;
}
__device__ static inline void put_number(const factoring &f, int i, int j, int r, int c, double x) {
    int64_t row = static_cast<int64_t>(i) * SIDE + r, col = static_cast<int64_t>(j) * SIDE + c;
    if (row < f.D && col <= row) f.A[row * f.D + col] = x;
}

/* A tile as the matrix has it. */
__device__ static void take_tile(const factoring &f, int i, int j, double *to, int me,
                                 int threads) {
    for (int at = me; at < AREA; at += threads)
        to[at / SIDE * PITCH + at % SIDE] = number_at(f, i, j, at / SIDE, at % SIDE);
}

/* The block that walks along the diagonal has a team that factors and multiplies and sees nothing
 * but shared memory, two warps that fetch the tiles prepared by others, and two that hand around
 * what is finished. Of tile j on the diagonal:
 *
 *     team     C -> L, X        P X -> P             C = N - P P'       (the next one)
 *     fetchers     P and N of the next step are on their way, where the team is done with them
 *     givers                    L                    P
 */
static constexpr int FETCHERS = 2 * WARP, GIVERS = 2 * WARP, CREW = TEAM + FETCHERS + GIVERS;
enum {                         /* barriers */
       FETCHED = ALL_ROWS + 1, /* P and N are there */
       FACTORED,               /* L and X are */
       MULTIPLIED,             /* P is L_(j+1)j */
       HANDED,                 /* L has been handed on: C is free */
       SQUARED,                /* P and N are free */
       OF_FETCHERS,
       OF_GIVERS
};

__device__ static void walk_diagonal(const factoring &f, double *C, double *X, double *P,
                                     const double *N) {
    const int me = static_cast<int>(threadIdx.x), warp = me / WARP;
    const int r = me % WARP / 4, c = me % 4;
    take_tile(f, 0, 0, C, me, TEAM);
    for (int j = 0;; j++) {
        meet_team();
        int order = factor_tile<false>(C, X);
        if (me == SIDE && order > 0 && *f.failed == 0)
            *f.failed = static_cast<double>(j) * SIDE + order;
        put_tile(f.inverse + static_cast<int64_t>(j) * AREA, X, me, TEAM); /* others wait for it */
        arrive(FACTORED, TEAM + GIVERS);
        if (j + 1 == f.T) return;
        meet(FETCHED, TEAM + FETCHERS);
        fragment below = {};
        add_tile<true>(&below, P, X);
        meet_team();
#pragma unroll
        for (int a = 0; a < ACROSS; a++) {
#pragma unroll
            for (int h = 0; h < 4; h++) P[row_of(h) * PITCH + column_of(a, h)] = below.piece[a][h];
        }
        meet_team();
        arrive(MULTIPLIED, TEAM + GIVERS);
        /* Lower tiles of 16 x 8 alone: levels of warps are such that units have as much to do. */
        const int top = 16 * (warp < 4 ? warp : 7 - warp), left = HALF * (warp / 4);
        double square[2][ACROSS][4] = {};
#pragma unroll 2
        for (int first = 0; first < SIDE; first += 8) {
#pragma unroll
            for (int turn = 0; turn < 2; turn++) {
                const int k = first + 4 * turn + c;
                const double x[2] = {P[(top + r) * PITCH + k], P[(top + 8 + r) * PITCH + k]};
#pragma unroll
                for (int a = 0; a < ACROSS; a++)
                    if (left + 8 * a < top + 16)
                        add_product_16(square[turn][a], x, P[(left + 8 * a + r) * PITCH + k]);
            }
        }
        meet(HANDED, TEAM + GIVERS);
#pragma unroll
        for (int a = 0; a < ACROSS; a++) {
#pragma unroll
            for (int h = 0; h < 4; h++) {
                int at = (top + r + h / 2 * 8) * PITCH + left + 8 * a + 2 * c + h % 2;
                if (left + 8 * a < top + 16) C[at] = N[at] - (square[0][a][h] + square[1][a][h]);
            }
        }
        meet_team();
        if (j + 2 < f.T) arrive(SQUARED, CREW);
    }
}

/* Tile (i, j) as others have prepared it, or the matrix's own where there is nothing to
 * subtract. */
__device__ static void fetch_prepared(const factoring &f, int i, int j, int depth, double *to) {
    const int me = static_cast<int>(threadIdx.x) - TEAM;
    if (depth == 0) return take_tile(f, i, j, to, me, FETCHERS);
    if (me == 0)
        while (look(flag_of(f, i, j)) < PREPARED) let_others_go_on();
    meet(OF_FETCHERS, FETCHERS);
    fetch_tile(to, f.tile + number_of(i, j) * AREA, me, FETCHERS);
}

__device__ static void fetch_along(const factoring &f, double *P, double *N) {
    for (int j = 0; j + 1 < f.T; j++) {
        if (j > 0) meet(SQUARED, CREW);
        fetch_prepared(f, j + 1, j, j, P);
        fetch_prepared(f, j + 1, j + 1, j, N);
        end_lot();
        await_lots<0>();
        arrive(FETCHED, TEAM + FETCHERS);
    }
}

__device__ static void hand_around(const factoring &f, const double *C, const double *P) {
    const int me = static_cast<int>(threadIdx.x) - TEAM - FETCHERS;
    for (int j = 0;; j++) {
        meet(FACTORED, TEAM + GIVERS);
        if (me == 0) publish(flag_of(f, j), FINISHED);
        put_tile(f.tile + number_of(j, j) * AREA, C, me, GIVERS);
        meet(OF_GIVERS, GIVERS);
        if (me == 0) publish(flag_of(f, j, j), FINISHED);
        if (j + 1 == f.T) return;
        arrive(HANDED, TEAM + GIVERS);
        meet(MULTIPLIED, TEAM + GIVERS);
        put_tile(f.tile + number_of(j + 1, j) * AREA, P, me, GIVERS);
        meet(OF_GIVERS, GIVERS);
        if (me == 0) publish(flag_of(f, j + 1, j), FINISHED);
        if (j + 2 < f.T) arrive(SQUARED, CREW);
    }
}

/* sum = the products of the first `depth` tiles of rows i and j. The next two are on their way
 * while two are multiplied; where they are not there yet, what is there is multiplied first. */
__device__ static void add_products(const factoring &f, int i, int j, int depth, double *pool,
                                    fragment *sum) {
    const int me = static_cast<int>(threadIdx.x);
    int multiplied = 0;
    for (int k = 0; k < depth; k++) {
        double *X = pool + k % 2 * 2 * TILE_ROOM, *Y = X + TILE_ROOM;
        const unsigned *one = flag_of(f, i, k), *other = flag_of(f, j, k);
        if (me == 0) {
            bool there = look(one) == FINISHED && look(other) == FINISHED;
            pool[POOL_TILES * TILE_ROOM] = there;
        }
        meet_team();
        bool there = pool[POOL_TILES * TILE_ROOM] != 0;
        if (!there && multiplied < k) {
            double *before = pool + multiplied % 2 * 2 * TILE_ROOM;
            await_lots<0>();
            meet_team();
            add_tile<false>(sum, before, i == j ? before : before + TILE_ROOM);
            multiplied++;
        }
        await(one, FINISHED);
        await(other, FINISHED);
        fetch_tile(X, f.tile + number_of(i, k) * AREA, me, TEAM);
        if (i != j) fetch_tile(Y, f.tile + number_of(j, k) * AREA, me, TEAM);
        end_lot();
        if (multiplied < k) {
            double *before = pool + multiplied % 2 * 2 * TILE_ROOM;
            await_lots<1>();
            meet_team();
            add_tile<false>(sum, before, i == j ? before : before + TILE_ROOM);
            multiplied++;
        }
    }
    await_lots<0>();
    meet_team();
    if (multiplied < depth) {
        double *before = pool + multiplied % 2 * 2 * TILE_ROOM;
        add_tile<false>(sum, before, i == j ? before : before + TILE_ROOM);
    }
    meet_team();
}

/* Tile (i, j), of all blocks but the one on the diagonal. */
__device__ static void make_tile(const factoring &f, int i, int j, double *pool) {
    const bool for_chain = i <= j + 1;
    const int depth = i == j ? j - 1 : j;
    double *to = f.tile + number_of(i, j) * AREA, *C = pool, *X = pool + TILE_ROOM;
    fragment sum = {}, own;
    if (for_chain && depth <= 0) return; /* there is nothing to subtract */
#pragma unroll
    for (int a = 0; a < ACROSS; a++) {
#pragma unroll
        for (int h = 0; h < 4; h++)
            own.piece[a][h] = number_at(f, i, j, row_of(h), column_of(a, h));
    }
    add_products(f, i, j, depth, pool, &sum);
#pragma unroll
    for (int a = 0; a < ACROSS; a++) {
#pragma unroll
        for (int h = 0; h < 4; h++) {
            int r = row_of(h), c = column_of(a, h);
            double x = own.piece[a][h] - sum.piece[a][h];
            if (for_chain) __stcg(to + r * SIDE + c, x);
            else C[r * PITCH + c] = x;
        }
    }
    if (for_chain) return announce(flag_of(f, i, j), PREPARED);
    await(flag_of(f, j), FINISHED);
    fetch_tile(X, f.inverse + static_cast<int64_t>(j) * AREA, static_cast<int>(threadIdx.x), TEAM);
    end_lot();
    await_lots<0>();
    meet_team();
    fragment made = {};
    add_tile<true>(&made, C, X);
#pragma unroll
    for (int a = 0; a < ACROSS; a++) {
#pragma unroll
        for (int h = 0; h < 4; h++)
            __stcg(to + row_of(h) * SIDE + column_of(a, h), made.piece[a][h]);
    }
    announce(flag_of(f, i, j), FINISHED);
#pragma unroll
    for (int a = 0; a < ACROSS; a++) {
#pragma unroll
        for (int h = 0; h < 4; h++)
            put_number(f, i, j, row_of(h), column_of(a, h), made.piece[a][h]);
    }
}

/* A finished tile of the chain to where it belongs. */
__device__ static void unpack_tile(const factoring &f, int i, int j) {
    if (i >= f.T) return;
    await(flag_of(f, i, j), FINISHED);
    const double *from = f.tile + number_of(i, j) * AREA;
#pragma unroll 8
    for (int at = static_cast<int>(threadIdx.x); at < AREA; at += TEAM)
        put_number(f, i, j, at / SIDE, at % SIDE, __ldcg(from + at));
}

/* Tiles are dealt out column by column, so that each waits for earlier ones alone. */
__global__ static void __launch_bounds__(CREW) factor_tiles(factoring f) {
    POOL(pool);
    const int others = static_cast<int>(gridDim.x) - 1, me = static_cast<int>(threadIdx.x);
    if (f.stopped != nullptr && *f.stopped != 0) return;
    if (blockIdx.x == 0) {
        double *C = pool, *X = C + TILE_ROOM, *P = X + TILE_ROOM, *N = P + TILE_ROOM;
        if (me < TEAM) walk_diagonal(f, C, X, P, N);
        else if (me < TEAM + FETCHERS) fetch_along(f, P, N);
        else hand_around(f, C, P);
        return;
    }
    if (me >= TEAM) return;
    int j = 0, i = static_cast<int>(blockIdx.x) - 1;
    for (; j < f.T; i += others) {
        while (j < f.T && i >= f.T) { /* on in the next column, which begins at its diagonal */
            i += j + 1 - f.T;
            j++;
        }
        if (j < f.T) make_tile(f, i, j, pool);
    }
    for (j = static_cast<int>(blockIdx.x) - 1; j < f.T; j += others) {
        unpack_tile(f, j, j);
        unpack_tile(f, j + 1, j);
    }
}

static int device_is(lane *l, cudaDeviceAttr what) {
    int number = 0, value = 1;
    (void)fine(l, cudaGetDevice(&number), "the device");
    (void)fine(l, cudaDeviceGetAttribute(&value, what, number), "the device");
    return value;
}

/* How many blocks: three for each tile of a column are as fast as more, as long as they all run at
 * the same time, and leave room for other chains. */
static int64_t blocks_for(lane *l, int64_t most) {
    const int64_t there = device_is(l, cudaDevAttrMultiProcessorCount);
    return most < there ? most : there;
}

void begin_factor(lane *l, int64_t D, double *A, const factor_room &room, double *failed,
                  const double *stopped) {
    int64_t T = tiles_along(D), flags = T * (T + 1) / 2 + T;
    factoring f = {};
    f.D = D;
    f.T = static_cast<int>(T);
    f.A = A;
    f.tile = room.tile;
    f.inverse = room.inverse;
    f.flag = room.flag;
    f.failed = failed;
    f.stopped = stopped;
    (void)fine(
        l, cudaMemsetAsync(room.flag, 0, static_cast<size_t>(flags) * sizeof *room.flag, l->stream),
        "zeros");
    int64_t bytes = POOL_BYTES + 16; /* and a word */
    AT_ONCE(l, factor_tiles, blocks_for(l, 3 * T), CREW, bytes, f);
}

/* ---- inverses of tiles ----------------------------------------------------------------------- */

/* Of the tiles on the diagonal alone, or of all tiles (i, j): the others are copied. */
__global__ static void __launch_bounds__(TEAM) invert_tiles(factoring f, bool all) {
    POOL(pool);
    double *C = pool, *X = C + TILE_ROOM;
    const int me = static_cast<int>(threadIdx.x);
    int i = 0, j = static_cast<int>(blockIdx.x);
    if (f.stopped != nullptr && (*f.stopped != 0 || *f.failed != 0)) return;
    if (all)
        for (; j > i; i++) j -= i + 1;
    else i = j;
    take_tile(f, i, j, C, me, TEAM);
    __syncthreads();
    if (i != j) return put_tile(f.tile + number_of(i, j) * AREA, C, me, TEAM);
    (void)factor_tile<true>(C, X);
    put_tile(f.inverse + static_cast<int64_t>(j) * AREA, X, me, TEAM);
}

void begin_inverses(lane *l, int64_t D, const double *L, const factor_room &room, bool all,
                    const double *failed, const double *stopped) {
    const int64_t T = tiles_along(D), blocks = all ? T * (T + 1) / 2 : T;
    const int64_t bytes = 2 * TILE_ROOM * static_cast<int64_t>(sizeof(double));
    factoring f = {};
    f.D = D;
    f.T = static_cast<int>(T);
    f.A = const_cast<double *>(L);
    f.inverse = room.inverse;
    f.tile = room.tile;
    f.failed = const_cast<double *>(failed);
    f.stopped = stopped;
    if (fine(l,
             cudaFuncSetAttribute(invert_tiles, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)),
             "memory of a block"))
        TOGETHER_IN(l, invert_tiles, blocks, TEAM, bytes, f, all);
}

/* ---- solutions ------------------------------------------------------------------------------- */

static constexpr int NEAR = 2;              /* tiles beside the diagonal that its block looks at */
static constexpr int EACH_OF = AREA / TEAM; /* numbers of a tile that a thread has */
static constexpr int GROUPS = TEAM / SIDE;  /* threads of a column */

struct solving {
    solution s;
    int T, sets; /* sets of tiles that lie in shared memory */
    const double *tile, *inverse;
    double *y, *v, *sum_y, *sum_v; /* T x 64 each: published number by number */
};

/* What nobody has published: all bits are set. A result that is no number is the usual NaN. */
__device__ static inline bool is_there(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits != ~uint64_t{0};
}
__device__ static inline void publish_number(double *to, double x) {
    publish(to, x == x ? x : nan(""));
}
__device__ static inline double await_number(const double *from) {
    double x = look(from);
    while (!is_there(x)) {
        let_others_go_on();
        x = look(from);
    }
    return x;
}

/* A thread's part of a tile in shared memory times x: for sums along rows every fourth number of
 * row me / 4, and for sums along columns sixteen rows of column me % 64. */
template <bool ALONG_ROWS>
__device__ static inline double times_part(const double *tile, const double *x) {
    const int me = static_cast<int>(threadIdx.x);
    double sum[2] = {0, 0};
#pragma unroll
    for (int m = 0; m < EACH_OF; m++) {
        const int r = ALONG_ROWS ? me / 4 : me / SIDE * EACH_OF + m;
        const int c = ALONG_ROWS ? me % 4 + 4 * m : me % SIDE;
        sum[m % 2] += tile[r * PITCH + c] * x[ALONG_ROWS ? c : r];
    }
    return sum[0] + sum[1];
}

/* Sums of all threads of a row or a column, for thread r < 64 number r; room: 4 x 64. */
template <bool ALONG_ROWS> __device__ static inline double collect(double own, double *room) {
    const int me = static_cast<int>(threadIdx.x);
    if (ALONG_ROWS) {
        own += __shfl_sync(~0u, own, me % WARP ^ 1);
        own += __shfl_sync(~0u, own, me % WARP ^ 2);
        if (me % 4 == 0) room[me / 4] = own;
        __syncthreads();
        return me < SIDE ? room[me] : 0;
    }
    room[me / SIDE * SIDE + me % SIDE] = own;
    __syncthreads();
    if (me >= SIDE) return 0;
    double sum = room[me];
#pragma unroll
    for (int g = 1; g < GROUPS; g++) sum += room[g * SIDE + me];
    return sum;
}

/* Tiles begin their way to shared memory: those nearby of a step, and the inverse of its own. */
template <bool FORWARD>
__device__ static inline void fetch_near(const solving &f, int step, double *near) {
    const int j = FORWARD ? step : f.T - 1 - step, me = static_cast<int>(threadIdx.x);
    for (int d = 1; d <= NEAR && d <= step && step < f.T; d++) {
        const int64_t number = FORWARD ? number_of(j, j - d) : number_of(j + d, j);
        fetch_tile(near + (d - 1) * TILE_ROOM, f.tile + number * AREA, me, TEAM);
    }
}
template <bool FORWARD>
__device__ static inline void fetch_inverse(const solving &f, int step, double *corner) {
    const int64_t j = FORWARD ? step : f.T - 1 - step;
    if (step < f.T) fetch_tile(corner, f.inverse + j * AREA, static_cast<int>(threadIdx.x), TEAM);
}

/* FORWARD: y = L^-1 x, row by row from the first one; else v = L^-T (y + a z), from the last. */
template <bool FORWARD> __device__ static void solve_along(const solving &f, double *pool) {
    const int me = static_cast<int>(threadIdx.x), T = f.T;
    double *tiles = pool, *recent = tiles + f.sets * (NEAR + 1) * TILE_ROOM,
           *right = recent + NEAR * SIDE, *room = right + SIDE;
    for (int step = 0; step < f.sets; step++) { /* nothing is nearby of the first one */
        double *near = tiles + step * (NEAR + 1) * TILE_ROOM;
        fetch_near<FORWARD>(f, step, near);
        end_lot();
        fetch_inverse<FORWARD>(f, step, near + NEAR * TILE_ROOM);
        end_lot();
    }
    for (int step = 0; step < T; step++) {
        const int j = FORWARD ? step : T - 1 - step;
        const int64_t at = static_cast<int64_t>(j) * SIDE + me;
        double *near = tiles + step % f.sets * (NEAR + 1) * TILE_ROOM;
        double *corner = near + NEAR * TILE_ROOM, own = 0, b = 0, further = 0;
        const double *brought = (FORWARD ? f.sum_y : f.sum_v) + at;
        if (me < SIDE && step > NEAR) further = look(brought); /* most often it is there */
        if (me < SIDE && at < f.s.D) {
            if (FORWARD || (f.s.halves & 1) == 0) b = f.s.x[at];
            else b = look(f.y + at);
            if (!FORWARD && f.s.z != nullptr) b += f.s.a * f.s.z[at];
        }
        if (f.sets > 1) await_lots<3>(); /* of each step two lots */
        else await_lots<1>();
        __syncthreads();
#pragma unroll
        for (int d = NEAR; d > 0; d--)
            if (step >= d)
                own += times_part<FORWARD>(near + (d - 1) * TILE_ROOM,
                                           recent + (step - d) % NEAR * SIDE);
        double sum = collect<FORWARD>(own, room);
        fetch_near<FORWARD>(f, step + f.sets, near);
        end_lot();
        if (f.sets > 1) await_lots<3>();
        else await_lots<1>();
        if (me < SIDE) {
            if (step > NEAR) sum += is_there(further) ? further : await_number(brought);
            right[me] = b - sum;
        }
        __syncthreads();
        double x = collect<!FORWARD>(times_part<!FORWARD>(corner, right), room);
        fetch_inverse<FORWARD>(f, step + f.sets, corner);
        end_lot();
        if (me >= SIDE) continue;
        recent[step % NEAR * SIDE + me] = x;
        publish_number((FORWARD ? f.y : f.v) + at, x);
        if (at >= f.s.D) continue;
        if (!FORWARD || f.s.halves == 1) f.s.x[at] = x;
        if (FORWARD || f.s.theta == nullptr) continue;
        f.s.theta[at] += f.s.size * x;
        f.s.path[at] = f.s.theta[at];
    }
    await_lots<0>();
    __syncthreads();
    if (!FORWARD && me == 0 && f.s.done != nullptr) *f.s.done = f.s.count;
}

/* The others: for each step the sum of what is further away than the tiles nearby. */
template <bool FORWARD> __device__ static void bring_sums(const solving &f, double *pool) {
    const int me = static_cast<int>(threadIdx.x), T = f.T;
    double *tile = pool, *there = tile + 2 * TILE_ROOM, *room = there + 2 * SIDE;
    for (int step = NEAR + static_cast<int>(blockIdx.x); step < T;
         step += static_cast<int>(gridDim.x) - 1) {
        const int j = FORWARD ? step : T - 1 - step, count = step - NEAR;
        double own = 0;
        for (int before = -1; before < count; before++) {
            const int next = FORWARD ? before + 1 : T - 2 - before;
            if (before + 1 < count)
                fetch_tile(tile + (before + 1) % 2 * TILE_ROOM,
                           f.tile + (FORWARD ? number_of(j, next) : number_of(next, j)) * AREA, me,
                           TEAM);
            end_lot();
            if (before < 0) continue;
            const int k = FORWARD ? before : T - 1 - before;
            double *x = there + before % 2 * SIDE;
            if (me < SIDE)
                x[me] = await_number((FORWARD ? f.y : f.v) + static_cast<int64_t>(k) * SIDE + me);
            await_lots<1>();
            __syncthreads();
            own += times_part<FORWARD>(tile + before % 2 * TILE_ROOM, x);
            __syncthreads(); /* its tile is free for the one after the next */
        }
        double sum = collect<FORWARD>(own, room);
        if (me < SIDE)
            publish_number((FORWARD ? f.sum_y : f.sum_v) + static_cast<int64_t>(j) * SIDE + me,
                           sum);
        await_lots<0>();
        __syncthreads();
    }
}

__global__ static void __launch_bounds__(TEAM) solve_tiles(solving f) {
    POOL(pool);
    if (f.s.stopped != nullptr && (*f.s.stopped != 0 || *f.s.failed != 0)) return;
    if (blockIdx.x == 0) {
        if (f.s.halves & 1) solve_along<true>(f, pool);
        if (f.s.halves & 2) solve_along<false>(f, pool);
        return;
    }
    if (f.s.halves & 1) bring_sums<true>(f, pool);
    if (f.s.halves & 2) bring_sums<false>(f, pool);
}

void begin_solution(lane *l, const solution &s, const factor_room &room) {
    const int64_t T = tiles_along(s.D);
    const int64_t set = (NEAR + 1) * TILE_ROOM * static_cast<int64_t>(sizeof(double)), more = 4096;
    const size_t numbers = static_cast<size_t>(4 * T * SIDE) * sizeof(double);
    solving f = {};
    f.s = s;
    f.T = static_cast<int>(T);
    f.sets = device_is(l, cudaDevAttrMaxSharedMemoryPerBlockOptin) >= 2 * set + more ? 2 : 1;
    f.tile = room.tile;
    f.inverse = room.inverse;
    f.y = room.solution;
    f.v = f.y + T * SIDE;
    f.sum_y = f.v + T * SIDE;
    f.sum_v = f.sum_y + T * SIDE;
    (void)fine(l, cudaMemsetAsync(room.solution, 0xff, numbers, l->stream), "a solution");
    AT_ONCE(l, solve_tiles, blocks_for(l, T > NEAR ? T - NEAR : 1), TEAM, f.sets * set + more, f);
}
