/* SPDX-License-Identifier: MIT
 * test_context.c: how many threads (base/threads.h) and how much memory there are (base/memory.h),
 * for machines made of a few files,
 * and scopes in which the device has none of its own (context.h).
 */
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/threads.h"
#include "context/context.h"
#include "context/device/kernel.h"
#include "tools/check.h"

static char root[] = "/tmp/sgfs_threads_XXXXXX";

static int set_up(void **state) {
    (void)state;
    strcpy(root, "/tmp/sgfs_threads_XXXXXX");
    return mkdtemp(root) == NULL;
}

static int tear_down(void **state) {
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

/* A file of the machine, with its folders. */
static void put(const char *name, const char *text) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *p = strchr(path + strlen(root) + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void what_is_asked_for_comes_first(void **state) {
    (void)state;
    assert_int_equal(sgfsi_threads(7, 1), 7);
    assert_true(sgfsi_threads(0, 1) >= 1);
    assert_true(sgfsi_threads(-1, 1) >= 1);
}

static void then_the_environment(void **state) {
    (void)state;
    assert_int_equal(sgfsi_threads_rule("3", 16, 1, root), 3);
    assert_int_equal(sgfsi_threads_rule("32", 16, 1, root), 32);
    assert_int_equal(sgfsi_threads_rule("4,2", 16, 1, root), 4);
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/cpu.max", "200000 100000\n");
    assert_int_equal(sgfsi_threads_rule("5", 16, 1, root), 5);
    assert_int_equal(sgfsi_threads_rule("5", 16, 0.25, root), 5); /* whoever else is there */
    const char *nothing[] = {"", "0", "-2", "many"};
    for (int i = 0; i < 4; i++) assert_int_equal(sgfsi_threads_rule(nothing[i], 16, 1, root), 2);
}

static void then_the_cores_of_the_affinity(void **state) {
    (void)state;
    assert_int_equal(sgfsi_threads_rule(NULL, 13, 1, root), 13);
    assert_int_equal(sgfsi_threads_rule(NULL, 0, 1, root), 1);
}

static void a_quota_is_rounded_up(void **state) {
    const struct {
        const char *max;
        int64_t threads;
    } row[] = {{"max 100000\n", 16}, {"150000 100000\n", 2},   {"400000 100000\n", 4},
               {"1000 100000\n", 1}, {"9900000 100000\n", 16}, {"nonsense\n", 16}};
    (void)state;
    put("proc/self/cgroup", "0::/\n");
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        put("sys/fs/cgroup/cpu.max", row[i].max);
        assert_int_equal(sgfsi_threads_rule(NULL, 16, 1, root), row[i].threads);
    }
}

static void the_least_quota_of_all_groups_above_counts(void **state) {
    (void)state;
    put("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
    put("sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/slurm/job_7/cpu.max", "300000 100000\n");
    put("sys/fs/cgroup/slurm/cpu.max", "800000 100000\n");
    assert_int_equal(sgfsi_threads_rule(NULL, 16, 1, root), 3);
    put("proc/self/cgroup", "0::/not/to/be/seen/here\n"); /* a container's view */
    put("sys/fs/cgroup/cpu.max", "500000 100000\n");
    assert_int_equal(sgfsi_threads_rule(NULL, 16, 1, root), 5);
}

static void groups_of_version_1_are_known(void **state) {
    (void)state;
    put("proc/self/cgroup", "12:cpuset:/docker/a\n4:cpu,cpuacct:/docker/a\n1:name=systemd:/x\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(sgfsi_threads_rule(NULL, 16, 1, root), 16);
    put("sys/fs/cgroup/cpu/docker/a/cpu.cfs_quota_us", "250000\n");
    put("sys/fs/cgroup/cpu/docker/a/cpu.cfs_period_us", "100000\n");
    assert_int_equal(sgfsi_threads_rule(NULL, 16, 1, root), 3);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void a_container_limits_the_memory_of_its_machine(void **state) {
    (void)state;
    assert_true(sgfsi_memory_rule(7e9, root) == 7e9);
    assert_true(isinf(sgfsi_memory_rule(-4096, root)));
    put("proc/self/cgroup", "0::/slurm/job_7\n");
    put("sys/fs/cgroup/slurm/job_7/memory.max", "max\n");
    assert_true(sgfsi_memory_rule(7e9, root) == 7e9);
    put("sys/fs/cgroup/slurm/memory.max", "2147483648\n");
    assert_true(sgfsi_memory_rule(7e9, root) == 2147483648.0);
    assert_true(sgfsi_memory_rule(1e9, root) == 1e9);
    put("proc/self/cgroup", "4:cpu,cpuacct:/docker/a\n9:memory:/docker/a\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    assert_true(sgfsi_memory_rule(7e9, root) == 7e9);
    put("sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes", "1073741824\n");
    assert_true(sgfsi_memory_rule(7e9, root) == 1073741824.0);
    assert_true(sgfsi_memory() > 0 && sgfsi_memory() < INFINITY);
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static void blas_has_one_thread_inside_and_its_own_number_outside(void **state) {
    const sgfsi_context ctx = {.device = &sgfs_device_blas, .near = &sgfs_device_blas};
    (void)state;
    openblas_set_num_threads(2);
    int before = openblas_get_num_threads();
    sgfsi_scope outer = sgfsi_context_enter(&ctx);
    assert_int_equal(openblas_get_num_threads(), 1);
    assert_true(omp_get_max_active_levels() >= 2);
    sgfsi_scope inner = sgfsi_context_enter(&ctx);
    sgfsi_context_leave(inner);
    assert_int_equal(openblas_get_num_threads(), 1);
    sgfsi_context_leave(outer);
    assert_int_equal(openblas_get_num_threads(), before);
}

/* Two runs side by side: the one that ends first must not give threads back to the other's BLAS. */
static void scopes_may_end_in_any_order(void **state) {
    const sgfsi_context ctx = {.device = &sgfs_device_blas, .near = &sgfs_device_blas};
    (void)state;
    int before = openblas_get_num_threads();
    sgfsi_scope one = sgfsi_context_enter(&ctx), other = sgfsi_context_enter(&ctx);
    sgfsi_context_leave(one);
    assert_int_equal(openblas_get_num_threads(), 1);
    sgfsi_context_leave(other);
    assert_int_equal(openblas_get_num_threads(), before);
}

/* ---- one that was opened, for all inside ----------------------------------------------------- */

static int64_t closed;

static void count_closing(sgfs_device *d) {
    (void)d;
    closed++;
}

/* A model inside of a run has the run's device, and leaves it open; so does one that works with
 * rows of the host alone. */
static void what_is_shared_is_closed_by_whoever_opened_it(void **state) {
    sgfsi_device_ops ops = *sgfs_device_host.ops;
    ops.close = count_closing;
    sgfs_device *other = malloc(sizeof *other);
    (void)state;
    *other = sgfs_device_host;
    other->ops = &ops;
    sgfsi_context run = {
        .threads = 3, .device = other, .near = &sgfs_device_host, .comm = &sgfs_comm_self};
    sgfsi_context inside = sgfsi_context_share(&run);
    assert_int_equal(inside.threads, 3);
    assert_ptr_equal(inside.device, other);
    sgfsi_context_stay_near(&inside);
    assert_ptr_equal(inside.device, &sgfs_device_host);
    inside = sgfsi_context_share(&run);
    sgfsi_context_close(&inside);
    assert_int_equal(closed, 0);
    sgfsi_context_close(&run);
    assert_int_equal(closed, 1);
}

static void plain_c_leaves_blas_alone(void **state) {
    const sgfsi_context ctx = {.device = &sgfs_device_host, .near = &sgfs_device_host};
    (void)state;
    openblas_set_num_threads(2);
    int before = openblas_get_num_threads();
    sgfsi_scope scope = sgfsi_context_enter(&ctx);
    assert_int_equal(openblas_get_num_threads(), before);
    sgfsi_context_leave(scope);
}

static void kernels_older_than_the_processor_are_known(void **state) {
    (void)state;
    assert_string_equal(sgfsi_kernel_for("Prescott", SGFSI_VECTORS_AVX512), "SkylakeX");
    assert_string_equal(sgfsi_kernel_for("prescott", SGFSI_VECTORS_AVX2), "Haswell");
    assert_string_equal(sgfsi_kernel_for("Sandybridge", SGFSI_VECTORS_AVX2), "Haswell");
    assert_null(sgfsi_kernel_for("Prescott", SGFSI_VECTORS_OLD));
    assert_null(sgfsi_kernel_for("Haswell", SGFSI_VECTORS_AVX512)); /* a choice of OpenBLAS's own */
    assert_null(sgfsi_kernel_for("Zen", SGFSI_VECTORS_AVX2));
    assert_null(sgfsi_kernel_for("neoversen1", SGFSI_VECTORS_OLD));
    assert_null(sgfsi_kernel_for(NULL, SGFSI_VECTORS_AVX512));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_for_comes_first),
        cmocka_unit_test_setup_teardown(then_the_environment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(then_the_cores_of_the_affinity, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_quota_is_rounded_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_least_quota_of_all_groups_above_counts, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(groups_of_version_1_are_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_container_limits_the_memory_of_its_machine, set_up,
                                        tear_down),
        cmocka_unit_test(blas_has_one_thread_inside_and_its_own_number_outside),
        cmocka_unit_test(scopes_may_end_in_any_order),
        cmocka_unit_test(what_is_shared_is_closed_by_whoever_opened_it),
        cmocka_unit_test(plain_c_leaves_blas_alone),
        cmocka_unit_test(kernels_older_than_the_processor_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
