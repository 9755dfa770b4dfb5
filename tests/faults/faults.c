/* SPDX-License-Identifier: MIT
 * faults.c: makes one call of the program fail. It is loaded in front of the C library
 * (LD_PRELOAD), so that the program that is tested is the one that is installed.
 *
 * Allocations are replaced by name. System calls are not: half of them are made inside of the C
 * library, by streams, where no name can be replaced. A seccomp filter turns them into a signal
 * instead, and the handler counts the call, and makes it or makes it fail. Both begin with main:
 * what libraries do while they are loaded is not the program's.
 *
 * A call counts if the first caller outside of the C library is the program, or one of the
 * libraries whose failures it can handle (see `judged`). OpenBLAS and libgomp end the process by
 * themselves; libraries that a library loads are not ours either.
 *
 * FAULT is "KIND N ERRNO once|on": the n-th call of a kind fails, alone or with all that follow;
 * N = 0 counts only. FAULT_REPORT is a file of sizeof(struct report) bytes that is mapped by this
 * process and its children; faults.py reads it. Linux on x86-64 alone has the system calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* In the order of KINDS in faults.py. */
enum { ALLOC, OPEN, READ, WRITE, MAP, SYNC, RENAME, TRUNCATE, LOCK, CLOSE, STAT, KINDS };
static const char *const kinds[KINDS] = {"alloc",  "open",     "read", "write", "map", "sync",
                                         "rename", "truncate", "lock", "close", "stat"};
enum { FRAMES = 40, SITE = 5, MOST_CALLS = 1 << 16, SLOTS = 1 << 18 };

typedef struct report {
    _Atomic int64_t count[KINDS];
    _Atomic int64_t failed;            /* calls made to fail */
    int64_t leaked;                    /* blocks of ours that are left when main returns */
    uint64_t frames[FRAMES];           /* of the first call that failed; places in the program */
    uint64_t leak[FRAMES];             /* of a block that is left */
    uint32_t where[KINDS][MOST_CALLS]; /* who made the n-th call: a hash of SITE frames */
} report;

static report *told;
static int kind, wanted_errno;
static int64_t nth;
static bool going_on;
static atomic_bool started;
static __thread bool busy __attribute__((tls_model("initial-exec")));

/* ---- whose call it is ------------------------------------------------------------------------ */

enum { OURS, BETWEEN, ELSE }; /* ELSE: the library answers for its own calls */
typedef struct range {
    uintptr_t from, to, base;
    int whose;
    const char *name;
} range;
static range ranges[256];
static int n_ranges;

static int judged(const char *path) {
    static const char *const between[] = {"/libc.so", "/ld-linux", "linux-vdso", "/libgcc_s",
                                          "/libm.so"};
    static const char *const ours[] = {"/libjansson", "/libz.so", "/libsgfs", "/libnetcdf",
                                       "/libhdf5"};
    if (path[0] == '\0') return OURS;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (strstr(path, ours[i]) != NULL) return OURS;
    for (size_t i = 0; i < sizeof between / sizeof between[0]; i++)
        if (strstr(path, between[i]) != NULL) return BETWEEN;
    return ELSE;
}

static int add_range(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size, (void)user;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || n_ranges == 256) continue;
        uintptr_t from = info->dlpi_addr + p->p_vaddr;
        uintptr_t to = from + p->p_memsz, here = (uintptr_t)judged;
        bool itself = here >= from && here < to;
        ranges[n_ranges++] = (range){from, to, info->dlpi_addr,
                                     itself ? BETWEEN : judged(info->dlpi_name), info->dlpi_name};
    }
    return 0;
}

/* The frames of the caller as places in the program (0: elsewhere); how many, or 0 for a call that
 * is not ours. */
static int who(uint64_t place[FRAMES]) {
    void *at[FRAMES];
    int n = backtrace(at, FRAMES), whose = BETWEEN, found = 0;
    for (int i = 0; i < n; i++) {
        const range *r = NULL;
        for (int j = 0; j < n_ranges && r == NULL; j++)
            if ((uintptr_t)at[i] >= ranges[j].from && (uintptr_t)at[i] < ranges[j].to)
                r = &ranges[j];
        int of = r != NULL ? r->whose : ELSE;
        if (whose == BETWEEN) whose = of;
        if (whose == ELSE) return 0;
        if (r == &ranges[0]) place[found++] = (uintptr_t)at[i] - r->base;
        else if (of == OURS) place[found++] = 0;
    }
    return found;
}

static void keep(uint64_t to[FRAMES], const uint64_t *place, int n) {
    for (int i = 0; i < n; i++) to[i] = place[i];
}

/* Count the call, and say whether it is to fail. */
static bool fails(int of, uint64_t place[FRAMES], int *depth) {
    *depth = 0;
    if (!atomic_load(&started) || busy) return false;
    busy = true;
    *depth = who(place);
    bool failing = false;
    if (*depth > 0) {
        int64_t i = atomic_fetch_add(&told->count[of], 1);
        uint32_t hash = 2166136261u;
        for (int f = 0; f < *depth && f < SITE; f++) hash = (hash ^ (uint32_t)place[f]) * 16777619u;
        if (i < MOST_CALLS) told->where[of][i] = hash;
        failing = of == kind && nth > 0 && (i + 1 == nth || (going_on && i + 1 > nth));
        if (failing && atomic_fetch_add(&told->failed, 1) == 0) keep(told->frames, place, *depth);
    }
    busy = false;
    return failing;
}

/* ---- allocations ----------------------------------------------------------------------------- */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t), __libc_free(void *);

/* Blocks of ours that are in use, to see what is never given back: a hash table without a lock for
 * each thread, which the program's tiny data do not need. */
static struct live {
    void *block;
    int depth;
    uint64_t place[12];
} live[SLOTS];
static atomic_flag live_lock = ATOMIC_FLAG_INIT;

static size_t slot_of(const void *block) {
    return ((uintptr_t)block >> 4) * 2654435761u % SLOTS;
}

static void note(void *block, const uint64_t *place, int depth) {
    if (block == NULL || depth == 0) return;
    while (atomic_flag_test_and_set(&live_lock)) {
    }
    size_t i = slot_of(block), tried = 0;
    while (live[i].block != NULL && tried++ < SLOTS) i = (i + 1) % SLOTS;
    live[i].block = block;
    live[i].depth = depth < 12 ? depth : 12;
    memcpy(live[i].place, place, (size_t)live[i].depth * sizeof *place);
    atomic_flag_clear(&live_lock);
}

/* Taken out, and those that follow are moved up. */
static void forget(void *block) {
    if (block == NULL || !atomic_load(&started)) return;
    while (atomic_flag_test_and_set(&live_lock)) {
    }
    size_t i = slot_of(block);
    while (live[i].block != NULL && live[i].block != block) i = (i + 1) % SLOTS;
    if (live[i].block == block) {
        live[i].block = NULL;
        for (size_t j = (i + 1) % SLOTS; live[j].block != NULL; j = (j + 1) % SLOTS) {
            size_t home = slot_of(live[j].block);
            if ((j > i && (home <= i || home > j)) || (j < i && home <= i && home > j)) {
                live[i] = live[j];
                live[j].block = NULL;
                i = j;
            }
        }
    }
    atomic_flag_clear(&live_lock);
}

/* One allocation; `make` runs if it is not to fail. */
#define ALLOCATE(old, make)                                                                        \
    uint64_t place[FRAMES];                                                                        \
    int depth;                                                                                     \
    if (fails(ALLOC, place, &depth)) {                                                             \
        errno = wanted_errno;                                                                      \
        return NULL;                                                                               \
    }                                                                                              \
    bool before = busy;                                                                            \
    busy = true;                                                                                   \
    void *block = make;                                                                            \
    busy = before;                                                                                 \
    if (block != NULL) forget(old);                                                                \
    note(block, place, depth);                                                                     \
    return block

void *malloc(size_t size) {
    ALLOCATE(NULL, __libc_malloc(size));
}

void *calloc(size_t count, size_t size) {
    ALLOCATE(NULL, __libc_calloc(count, size));
}

void *realloc(void *old, size_t size) {
    ALLOCATE(old, __libc_realloc(old, size));
}

void *aligned_alloc(size_t alignment, size_t size) {
    ALLOCATE(NULL, __libc_memalign(alignment, size));
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    void *block = aligned_alloc(alignment, size);
    if (block != NULL) *out = block;
    return block != NULL ? 0 : errno;
}

void free(void *block) {
    bool before = busy;
    forget(block);
    busy = true;
    __libc_free(block);
    busy = before;
}

/* ---- system calls ---------------------------------------------------------------------------- */

#if defined(__x86_64__)
static const struct {
    int number, kind;
} calls[] = {
    {SYS_open, OPEN},          {SYS_openat, OPEN},        {SYS_read, READ},
    {SYS_pread64, READ},       {SYS_write, WRITE},        {SYS_pwrite64, WRITE},
    {SYS_writev, WRITE},       {SYS_mmap, MAP},           {SYS_fsync, SYNC},
    {SYS_fdatasync, SYNC},     {SYS_rename, RENAME},      {SYS_renameat, RENAME},
    {SYS_renameat2, RENAME},   {SYS_link, RENAME},        {SYS_linkat, RENAME},
    {SYS_ftruncate, TRUNCATE}, {SYS_fallocate, TRUNCATE}, {SYS_flock, LOCK},
    {SYS_close, CLOSE},        {SYS_fstat, STAT},         {SYS_newfstatat, STAT},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* A call that the filter lets through, because it is made here. */
static long raw_call(long number, long a, long b, long c, long d, long e, long f) {
    long made;
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(made)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return made;
}

/* What is written to the standard error is left alone: it is where a failure is told. */
static void on_call(int number, siginfo_t *info, void *context) {
    (void)number;
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    int saved = errno, of = -1, depth;
    uint64_t place[FRAMES];
    for (int i = 0; i < CALLS; i++)
        if (calls[i].number == info->si_syscall) of = calls[i].kind;
    bool failing = of >= 0 && !(of == WRITE && r[REG_RDI] == 2) && fails(of, place, &depth);
    /* A close that fails has closed the descriptor all the same, as on Linux. */
    if (!failing || of == CLOSE)
        r[REG_RAX] = raw_call(info->si_syscall, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10],
                              r[REG_R8], r[REG_R9]);
    if (failing) r[REG_RAX] = -wanted_errno;
    errno = saved;
}

/* Those that make system calls for others: the C library and the loader. The filter looks at them
 * alone, so that a program that is started from here is left in peace: its own lie elsewhere. */
static const range *maker(const char *name) {
    for (int j = 0; j < n_ranges; j++)
        if (ranges[j].name != NULL && strstr(ranges[j].name, name) != NULL) return &ranges[j];
    return NULL;
}

static void watch_calls(void) {
    struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
    enum { MAKERS = 2, EACH = 5 };
    const range *makers[MAKERS] = {maker("/libc.so"), maker("/ld-linux")};
    struct sock_filter code[MAKERS * EACH + 4 + CALLS];
    int n = 0;
    const uint32_t low = offsetof(struct seccomp_data, instruction_pointer), high = low + 4;
    for (int k = 0; k < MAKERS && makers[k] != NULL; k++) { /* next, or to where it is found */
        const uint32_t from = (uint32_t)makers[k]->from, to = (uint32_t)makers[k]->to;
        const uint8_t found = (uint8_t)((MAKERS - 1 - k) * EACH + 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, high);
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                 (uint32_t)(makers[k]->from >> 32), 0, 3);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low);
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, from, 0, 1);
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, to, 0, found);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < CALLS; i++)
        code[n++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i].number, (uint8_t)(CALLS - i), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    struct sock_fprog program = {(unsigned short)n, code};
    if (makers[0] == NULL || makers[1] == NULL) {
        atomic_store(&told->count[OPEN], -1); /* as below */
        return;
    }
    if (sigaction(SIGSYS, &action, NULL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        atomic_store(&told->count[OPEN], -1); /* read as: not allowed here */
}
#else
static void watch_calls(void) {
    atomic_store(&told->count[OPEN], -1);
}
#endif

/* ---- main ------------------------------------------------------------------------------------ */

static int (*real_main)(int, char **, char **);

static void begin(void) {
    const char *wish = getenv("FAULT"), *path = getenv("FAULT_REPORT");
    char word[16] = "", how[8] = "";
    long long n = 0;
    if (wish == NULL || path == NULL) return;
    sscanf(wish, "%15s %lld %d %7s", word, &n, &wanted_errno, how);
    for (kind = 0; kind < KINDS && strcmp(word, kinds[kind]) != 0;) kind++;
    nth = n;
    going_on = strcmp(how, "on") == 0;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *map =
        fd >= 0 ? mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (map == MAP_FAILED) return;
    close(fd);
    told = map;
    void *once[4];
    (void)backtrace(once, 4); /* loads what it needs */
    dl_iterate_phdr(add_range, NULL);
    unsetenv("LD_PRELOAD"); /* programs that this one starts are not the ones that are tested */
    if (kind != ALLOC) watch_calls();
    atomic_store(&started, true);
}

static void end(void) {
    if (told == NULL) return;
    atomic_store(&started, false);
    for (size_t i = 0; i < SLOTS; i++) {
        if (live[i].block == NULL) continue;
        if (told->leaked++ == 0) keep(told->leak, live[i].place, live[i].depth);
    }
}

static int watched_main(int argc, char **argv, char **environment) {
    begin();
    int code = real_main(argc, argv, environment);
    end();
    return code;
}

typedef int start_fn(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                     void (*)(void), void *);
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
    start_fn *start;
    void *found = dlsym(RTLD_NEXT, "__libc_start_main");
    memcpy(&start, &found, sizeof start);
    real_main = main;
    return start(watched_main, argc, argv, init, fini, rtld_fini, stack_end);
}
