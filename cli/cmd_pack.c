/* SPDX-License-Identifier: MIT
 * cmd_pack.c: sgfs pack FILE... --out FILE.sgd; sgfs pack --check FILE.sgd
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const cli_flag flags[] = {
    {"out", "FILE.sgd", "the packed file to write; with --each, a folder for all of them"},
    {"check", "FILE.sgd", "read a packed file instead, and compare all its checksums"},
    {"mpi", NULL, "with --each: share the files with the other processes of mpirun or srun"},
    {"overwrite", NULL, "replace an existing file"},
    {NULL, NULL, NULL}};

static cli_borrowed borrowed[] = {
    {"mpi", "run.mpi"}, {"overwrite", "output.overwrite"}, {NULL, NULL}};

static bool is_each(const cli_args *args) {
    return strcmp(sgfs_config_get(args->cfg, "pack.each"), "true") == 0;
}

static sgfs_status show(const char *path, const sgfs_job *job, bool checked, const cli_args *args,
                        sgfs_err *err) {
    const sgfs_pack_info *info = sgfs_job_result(job);
    double bytes = checked ? info->bytes : info->read;
    if (args->json) return cli_print_json(job, err);
    if (args->quiet) return SGFS_OK;
    if (is_each(args)) {
        fprintf(stderr, "%s: %lld rows, %lld columns of %s, %.1f MB; %.1f s, %.0f MB/s\n", path,
                (long long)info->rows, (long long)info->cols, info->type, info->bytes / 1e6,
                info->seconds, info->seconds > 0 ? bytes / 1e6 / info->seconds : 0);
        return SGFS_OK;
    }
    fprintf(stderr,
            "%s: %lld rows, %lld columns of %s, %.1f MB in chunks of %lld rows (%lld "
            "bytes)%s; %.1f s, %.0f MB/s\n",
            path, (long long)info->rows, (long long)info->cols, info->type, info->bytes / 1e6,
            (long long)info->chunk_rows, (long long)info->chunk_bytes,
            info->shuffled ? ", shuffled" : ", in the order of the files", info->seconds,
            info->seconds > 0 ? bytes / 1e6 / info->seconds : 0);
    if (checked) fprintf(stderr, "every checksum is right\n");
    return SGFS_OK;
}

/* out NULL: the packed file `data` is checked. */
static sgfs_status run_job(const char *data, const char *out, const cli_args *args, sgfs_err *err) {
    sgfs_job *job = sgfs_pack_open(data, out, args->cfg, err);
    sgfs_status status = out != NULL ? cli_run_job(job, args, err) : sgfs_job_run(job, err);
    if (status == SGFS_OK && args->rank == 0)
        status = show(out != NULL ? out : data, job, out == NULL, args, err);
    sgfs_job_free(job);
    return status;
}

static sgfs_status pack(cli_args *args, sgfs_err *err) {
    const char *out = cli_given(&cmd_pack, args, "out"),
               *checked = cli_given(&cmd_pack, args, "check");
    if (checked != NULL && (args->words > 0 || out != NULL))
        return cli_fail(err, SGFS_EUSAGE, "--check FILE.sgd comes alone.");
    if (checked != NULL) return run_job(checked, NULL, args, err);
    if (args->words == 0 || out == NULL) {
        return cli_fail(err, SGFS_EUSAGE,
                        "Name files to read and one to write: sgfs pack data.csv --out data.sgd");
    }
    if (cli_borrow(&cmd_pack, args, borrowed, err) != SGFS_OK) return err->code;
    if (args->ranks > 1 && !is_each(args))
        return cli_fail(err, SGFS_EUSAGE,
                        "One file is packed by one process: with --mpi, each file becomes one of "
                        "its own (--each).");
    if (!is_each(args) && cli_check_out(&cmd_pack, args, out, err) != SGFS_OK) return err->code;
    size_t length = strlen(out);
    if (!is_each(args) && (length < 5 || strcmp(out + length - 4, ".sgd") != 0))
        return cli_fail(err, SGFS_EUSAGE, "%.300s: the name of a packed file must end in .sgd.",
                        out);
    char *data = cli_join_words(args);
    if (data == NULL) return cli_fail(err, SGFS_ENOMEM, "Out of memory.");
    sgfs_status status = run_job(data, out, args, err);
    free(data);
    return status;
}

const cli_command cmd_pack = {
    .name = "pack",
    .brief = "shuffle rows into one binary file, for data larger than memory",
    .usage = "FILE... --out FILE.sgd [options], or FILE... --each --out FOLDER",
    .examples =
        "  sgfs pack data.csv --out data.sgd\n"
        "  sgfs pack 'part-*.csv.gz' --target clicks --memory 2G --out clicks.sgd\n"
        "  zcat rows.csv.gz | sgfs pack - --drop id --out rows.sgd\n"
        "  mpirun -n 4 sgfs pack 'part-*.csv' --each --mpi --out packed\n"
        "  sgfs pack --check data.sgd\n\n"
        "Rows are read one block after another and shuffled on the disk of --out, within "
        "--memory.\n"
        "The file appears when it is complete, or not at all. `sgfs sample MODEL --data data.sgd`\n"
        "then draws minibatches from it without reading it all.\n",
    .stages = "pack data",
    .flags = flags,
    .run = pack,
};
