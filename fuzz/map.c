/* SPDX-License-Identifier: MIT
 * map.c: mapped files as blocks of memory that AddressSanitizer watches.
 *
 * A map reaches to the end of its last page, so reading a little beyond a file goes unnoticed where
 * it is mapped. The fuzz targets and tests/unit/test_hostile.c are linked with --wrap=mmap and so
 * on: a map to read is a block of exactly the file's length, filled by pread, and one byte more is
 * a report. Advice is ignored: some of it would empty the block.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAPS = 64 };

static void *maps[MAPS]; /* blocks that stand for maps */

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from);
int __real_munmap(void *at, size_t bytes);
int __real_madvise(void *at, size_t bytes, int advice);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from);
int __wrap_munmap(void *at, size_t bytes);
int __wrap_madvise(void *at, size_t bytes, int advice);
int __wrap_posix_madvise(void *at, size_t bytes, int advice);

static int find(const void *at) {
    for (int i = 0; i < MAPS; i++)
        if (maps[i] == at) return i;
    return -1;
}

/* As the file is now; less than asked for is what the kernel would answer with a signal. */
static void fill(char *block, size_t bytes, int fd, off_t from) {
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(fd, block + done, bytes - done, from + (off_t)done);
        if (n <= 0) abort();
        done += (size_t)n;
    }
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t from) {
    int free_place = find(NULL);
    void *block = NULL;
    if (fd < 0 || protection != PROT_READ || bytes == 0 || free_place < 0)
        return __real_mmap(at, bytes, protection, flags, fd, from);
    if (posix_memalign(&block, 4096, bytes) != 0) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    fill(block, bytes, fd, from);
    maps[free_place] = block;
    return block;
}

int __wrap_munmap(void *at, size_t bytes) {
    int place = at != NULL ? find(at) : -1;
    if (place < 0) return __real_munmap(at, bytes);
    maps[place] = NULL;
    free(at);
    return 0;
}

int __wrap_madvise(void *at, size_t bytes, int advice) {
    (void)at, (void)bytes, (void)advice;
    return 0;
}

int __wrap_posix_madvise(void *at, size_t bytes, int advice) {
    (void)at, (void)bytes, (void)advice;
    return 0;
}
