/* SPDX-License-Identifier: MIT
 * reader.c: the readers there are, and which of them a file belongs to.
 *
 * A new reader is one file that ends with its kind, and one row in sgfsi_readers. A file's kind
 * follows from its first bytes (after gunzip), not from its name. Formats we know of but do not
 * read are refused here with what to do instead, rather than as a CSV file full of odd bytes.
 */
#include "files/reader.h"

#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "context/context.h"
#include "files/packed/packed.h"

const sgfs_reader_kind *const sgfsi_readers[] = {&sgfs_reader_npy,
                                                 &sgfs_reader_packed,
                                                 &sgfs_reader_idx,
                                                 &sgfs_reader_arrow,
                                                 &sgfs_reader_libsvm,
                                                 &sgfs_reader_csv,
                                                 NULL};

sgfsi_na sgfsi_na_of(const sgfs_config *cfg) {
    const char *na = sgfsi_config_text(cfg, "data.na");
    return strcmp(na, "drop") == 0   ? SGFSI_NA_DROP
           : strcmp(na, "mean") == 0 ? SGFSI_NA_MEAN
                                     : SGFSI_NA_ERROR;
}

sgfsi_read_options sgfsi_read_options_of(const sgfs_config *cfg) {
    /* The columns of --drop are those of the file, unless --project made others before. */
    bool late = !sgfsi_config_auto(cfg, "data.project") &&
                sgfsi_config_order(cfg, "data.project") < sgfsi_config_order(cfg, "data.drop");
    return (sgfsi_read_options){
        .target = sgfsi_config_text(cfg, "data.target"),
        .features = sgfsi_config_text(cfg, "data.features"),
        .weights = sgfsi_config_text(cfg, "data.weights"),
        .exposure = sgfsi_config_text(cfg, "data.exposure"),
        .groups = sgfsi_config_text(cfg, "data.effects"),
        .delimiter = sgfsi_config_text(cfg, "data.delimiter"),
        .header = sgfsi_config_text(cfg, "data.header"),
        .na = sgfsi_na_of(cfg),
        .single = strcmp(sgfsi_config_text(cfg, "data.storage"), "f32") == 0,
        .categorical = sgfsi_config_text(cfg, "data.categorical"),
        .amount = sgfsi_config_text(cfg, "data.amount"),
        .date = sgfsi_config_text(cfg, "data.date"),
        .drop = late ? "" : sgfsi_config_text(cfg, "data.drop"),
        .labels = sgfsi_config_text(cfg, "data.labels"),
        .columns = sgfsi_config_int(cfg, "data.columns"),
        .zero_based = sgfsi_config_flag(cfg, "data.zero_based"),
        .dense = sgfsi_config_flag(cfg, "data.dense"),
        .threads = sgfsi_context_threads(cfg),
        .most_bytes = sgfsi_most_bytes(cfg),
        .log = sgfsi_config_log(cfg),
    };
}

double sgfsi_most_bytes(const sgfs_config *cfg) {
    bool given = !sgfsi_config_auto(cfg, "data.max_bytes");
    return given ? sgfsi_config_num(cfg, "data.max_bytes") : 0.5 * sgfsi_memory();
}

sgfs_status sgfsi_check_bytes(const char *path, double bytes, double most, sgfs_err *err) {
    if (most <= 0 || bytes <= most) return SGFS_OK;
    return sgfsi_fail(
        err, SGFS_EDATA,
        "%.200s: its rows take more than %.0f bytes of memory (--max-bytes, else half "
        "of what there is), and reading was given up. If the file is what you think "
        "it is, raise --max-bytes, or make a packed file of it (sgfs pack).",
        path, most);
}

/* The sentence for a format that is not read here, or NULL. */
static const char *known_elsewhere(const unsigned char *head, size_t bytes) {
    static const struct {
        const char *magic;
        size_t length;
        const char *text;
    } formats[] = {
        {"PK\3\4", 4,
         "is a zip archive (.zip, .npz, .xlsx); save the sheet as CSV, or the array with "
         "numpy.save as .npy"},
        {"PAR1\x15", 5, "is a Parquet file; convert it to CSV or .npy, for example with pandas"},
        {"\x89HDF\r\n\x1a\n", 8, "is an HDF5 or netCDF file; save the table as .npy or CSV"},
        {"\xD0\xCF\x11\xE0", 4, "is an old Excel or Office file; save the sheet as CSV"},
        {"\x28\xB5\x2F\xFD", 4, "is compressed with zstd; decompress it first, or use gzip"},
        {"\xFD"
         "7zXZ\0",
         6, "is compressed with xz; decompress it first, or use gzip"},
        {"RDX3\n", 5, "is an R data file; write the table with write.csv"},
        {"\x89SGFS\r\n\x1a", 8, "is a run file, which holds draws; sgfs summary shows them"},
    };
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (bytes < formats[i].length) continue;
        if (memcmp(head, formats[i].magic, formats[i].length) == 0) return formats[i].text;
    }
    return NULL;
}

const sgfs_reader_kind *sgfsi_table_reader(const char *path, sgfs_err *err) {
    unsigned char head[SGFSI_HEAD_BYTES];
    size_t bytes = 0;
    sgfsi_bytes *in;
    sgfs_status status = sgfsi_bytes_open(&in, path, err);
    if (status == SGFS_OK) status = sgfsi_bytes_read(in, head, SGFSI_HEAD_BYTES, &bytes, err);
    sgfsi_bytes_close(in);
    if (status != SGFS_OK) return NULL;
    const char *other = known_elsewhere(head, bytes);
    if (other != NULL) return sgfsi_fail(err, SGFS_EDATA, "%s: %s.", path, other), NULL;
    for (size_t i = 0; sgfsi_readers[i] != NULL; i++) {
        if (sgfsi_readers[i]->probe(path, head, bytes)) return sgfsi_readers[i];
    }
    return sgfsi_fail(err, SGFS_EDATA, "%s: is of no kind that can be read.", path), NULL;
}

/* Is --flag for files of this kind? */
static bool owns(const sgfs_reader_kind *reader, const char *flag) {
    for (const char *const *own = reader->flags; own != NULL && *own != NULL; own++)
        if (strcmp(*own, flag) == 0) return true;
    return false;
}

sgfs_status sgfsi_reader_check(const sgfs_reader_kind *reader, const char *path,
                               const sgfsi_read_options *options, sgfs_err *err) {
    const struct {
        bool given;
        const char *flag;
    } flags[] = {{options->labels != NULL && options->labels[0] != '\0', "labels"},
                 {options->amount != NULL && options->amount[0] != '\0', "amount"},
                 {options->date != NULL && options->date[0] != '\0', "date"},
                 {options->columns > 0, "columns"},
                 {options->zero_based, "zero-based"},
                 {options->dense, "dense"}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        char owners[80] = "";
        if (!flags[i].given || owns(reader, flags[i].flag)) continue;
        for (const sgfs_reader_kind *const *k = sgfsi_readers; *k != NULL; k++)
            if (owns(*k, flags[i].flag))
                sgfsi_append(owners, sizeof owners, "%s%s", owners[0] != '\0' ? " and " : "",
                             (*k)->name);
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: --%s is for files of kind %s, and this one is read as %s; leave it "
                          "out (`sgfs list readers`).",
                          path, flags[i].flag, owners, reader->name);
    }
    return SGFS_OK;
}
