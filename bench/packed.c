/* SPDX-License-Identifier: MIT
 * packed.c: MB/s into and out of a packed file in the page cache, beside what no writer can do
 * without: the checksums, and handing the bytes to the kernel. By CPU time (the kernel's included),
 * so that a busy machine counts less; one thread but for the last column, which goes by the clock.
 * Best of several rounds. usage: packed [folder]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/ticker.h"
#include "files/collect.h"
#include "files/packed/packed.h"
#include "report.h"

enum { ROUNDS = 5, BYTES = 128 << 20, PIECE = 4096 };

static void time_floor(const char *path, double *crc, double *kernel) {
    char *bytes = need(1 << 20, 1);
    uint32_t sum = 0;
    memset(bytes, 17, 1 << 20);
    for (int r = 0; r < ROUNDS; r++) {
        double before = cpu_now();
        for (int k = 0; k < BYTES; k += 4096) sum += sgfsi_crc32(0, bytes + k % (1 << 20), 4096);
        keep_least(crc, cpu_now() - before);
        unlink(path);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
        before = cpu_now();
        for (int k = 0; k < BYTES; k += 1 << 20) {
            if (write(fd, bytes, 1 << 20) != 1 << 20) give_up("cannot write");
        }
        keep_least(kernel, cpu_now() - before);
        close(fd);
    }
    unlink(path);
    if (sum == 17) printf(" "); /* it was needed */
    free(bytes);
}

/* PIECE rows again and again. The time of commit (fsync: the disk's) is not counted. */
static double time_writer(const char *path, const sgfsi_table *head, sgfsi_dtype type,
                          const double *rows, const void *raw) {
    sgfs_err err;
    double best = 1e30;
    int64_t row_bytes = head->cols * (int64_t)sgfsi_dtype_size(type);
    for (int r = 0; r < ROUNDS; r++) {
        sgfsi_packer *p;
        const sgfsi_packer_plan plan = {
            .path = path, .overwrite = true, .head = head, .type = type, .shuffled = true};
        if (sgfsi_packer_open(&p, &plan, &err) != SGFS_OK) give_up(err.text);
        double before = cpu_now();
        for (int64_t done = 0; done < BYTES; done += PIECE * row_bytes) {
            sgfs_status status = raw != NULL ? sgfsi_packer_add_raw(p, PIECE, raw, &err)
                                             : sgfsi_packer_add(p, PIECE, rows, &err);
            if (status != SGFS_OK) give_up(err.text);
        }
        keep_least(&best, cpu_now() - before);
        if (r == ROUNDS - 1 && sgfsi_packer_commit(p, &err) != SGFS_OK) give_up(err.text);
        else if (r < ROUNDS - 1) sgfsi_packer_abandon(p);
    }
    return best;
}

static double time_check(const char *path) {
    const sgfsi_read_options silent = {.target = "", .features = "", .weights = "", .exposure = ""};
    sgfs_err err;
    double best = 1e30;
    for (int r = 0; r < ROUNDS; r++) {
        sgfsi_table t;
        double before = sgfsi_now();
        if (sgfsi_table_read(path, &silent, &t, &err) != SGFS_OK) give_up(err.text);
        if (sgfsi_packed_verify(&t, sgfsi_threads(0, 1), NULL, &err) != SGFS_OK) give_up(err.text);
        keep_least(&best, sgfsi_now() - before);
        sgfsi_table_free(&t);
    }
    return best;
}

/* bare: seconds for checksums and writing alone. */
static void bench(const char *path, double bare, int64_t cols, sgfsi_dtype type) {
    double *rows = need(PIECE * cols, sizeof *rows);
    float *raw = need(PIECE * cols, sizeof *raw);
    char **names = need(cols, sizeof *names), x[] = "x", workload[64];
    unsigned char *role = need(cols, 1);
    sgfsi_stream s = sgfsi_stream_at(1, 0, 0, SGFSI_FEATURES);
    sgfsi_normals(&s, PIECE * cols, rows);
    for (int64_t i = 0; i < PIECE * cols; i++) {
        if (i % cols == cols - 1) rows[i] = rows[i] > 0;
        raw[i] = (float)rows[i];
        names[i % cols] = x;
        role[i % cols] = i % cols == cols - 1 ? SGFSI_ROLE_TARGET : SGFSI_ROLE_FEATURE;
    }
    const sgfsi_table head = {.cols = cols, .names = names, .role = role, .text_col = -1};
    const double mb = BYTES * 1e-6;
    double add = time_writer(path, &head, type, rows, NULL);
    double given = time_writer(path, &head, type, rows, type == SGFSI_F32 ? (void *)raw : rows);
    snprintf(workload, sizeof workload, "packed %s, %lld columns",
             type == SGFSI_F32 ? "f32" : "f64", (long long)cols);
    printf("%s\n", workload);
    report(workload, "CRC-32 and write", mb / bare, "MB/s", mb / bare);
    report(workload, "from doubles", mb / add, "MB/s", mb / bare);
    report(workload, "as it is", mb / given, "MB/s", mb / bare);
    report(workload, "checked, all cores", mb / time_check(path), "MB/s", mb / bare);
    unlink(path);
    free(rows), free(raw), free(names), free(role);
}

int main(int argc, char **argv) {
    char path[512];
    double crc = 1e30, kernel = 1e30;
    snprintf(path, sizeof path, "%.480s/bench-packed.sgd", argc > 1 ? argv[1] : ".");
    time_floor(path, &crc, &kernel);
    printf("MB of the file a second: CRC-32 %.0f, write to the page cache %.0f\n",
           BYTES * 1e-6 / crc, BYTES * 1e-6 / kernel);
    bench(path, crc + kernel, 9, SGFSI_F32);
    bench(path, crc + kernel, 100, SGFSI_F32);
    bench(path, crc + kernel, 785, SGFSI_F32);
    bench(path, crc + kernel, 9, SGFSI_F64);
    return 0;
}
