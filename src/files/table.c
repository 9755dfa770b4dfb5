/* SPDX-License-Identifier: MIT
 * table.c: the readers there are, which of them a file belongs to, and the table they fill.
 *
 * A new reader is one file that ends with its kind, and one row in sgfsi_readers. A file's kind
 * follows from its first bytes (after gunzip), not from its name. Formats we know of but do not
 * read are refused here with what to do instead, rather than as a CSV file full of odd bytes.
 */
#include "rows/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/number.h"
#include "files/columns.h"
#include "files/packed/packed.h"

const sgfs_reader_kind *const sgfsi_readers[] = {&sgfs_reader_npy, &sgfs_reader_packed,
                                                 &sgfs_reader_idx, &sgfs_reader_libsvm,
                                                 &sgfs_reader_csv, NULL};

size_t sgfsi_dtype_size(sgfsi_dtype type) {
    switch (type) {
    case SGFSI_F64:
    case SGFSI_CSR: /* a value */
    case SGFSI_I64: return 8;
    case SGFSI_F32:
    case SGFSI_I32:
    case SGFSI_U32: return 4;
    case SGFSI_I16:
    case SGFSI_U16: return 2;
    case SGFSI_I8:
    case SGFSI_U8: return 1;
    }
    return 0;
}

double sgfsi_table_cell(sgfsi_dtype type, const char *row, int64_t col) {
    const void *cells = row;
    switch (type) {
    case SGFSI_F64: return ((const double *)cells)[col];
    case SGFSI_F32: return (double)((const float *)cells)[col];
    case SGFSI_I64: return (double)((const int64_t *)cells)[col];
    case SGFSI_I32: return (double)((const int32_t *)cells)[col];
    case SGFSI_I16: return (double)((const int16_t *)cells)[col];
    case SGFSI_I8: return (double)((const int8_t *)cells)[col];
    case SGFSI_U8: return (double)((const uint8_t *)cells)[col];
    case SGFSI_U16: return (double)((const uint16_t *)cells)[col];
    case SGFSI_U32: return (double)((const uint32_t *)cells)[col];
    case SGFSI_CSR: break; /* has none */
    }
    return 0;
}

static void free_parts(sgfsi_table *table) {
    for (int64_t i = 0; i < table->parts; i++) {
        sgfsi_part *p = &table->part[i];
        free(p->path);
        free(p->owned);
        sgfsi_packed_free(p->packed);
        if (p->map != NULL) munmap(p->map, p->map_bytes);
    }
    free(table->part);
}

static void free_csr(sgfsi_table *table) {
    if (!table->owned_csr) return;
    free((void *)table->csr.start);
    free((void *)table->csr.col);
    free((void *)table->csr.value);
}

void sgfsi_table_forget_cells(sgfsi_table *table) {
    for (int64_t j = 0; table->dictionary != NULL && j < table->cols; j++)
        sgfsi_names_free(table->dictionary[j].word, table->dictionary[j].count);
    free(table->dictionary);
    sgfsi_names_free(table->names, table->cols);
    free_parts(table);
    free_csr(table);
    free(table->role);
    free(table->stats);
    free(table->owned);
    if (table->map != NULL) munmap(table->map, table->map_bytes);
    table->dictionary = NULL;
    table->names = NULL;
    table->role = NULL;
    table->stats = NULL;
    table->part = NULL;
    table->parts = 0;
    table->csr = (sgfs_csr){NULL, NULL, NULL};
    table->owned_csr = false;
    table->cells = NULL;
    table->owned = table->map = NULL;
}

void sgfsi_table_free(sgfsi_table *table) {
    if (table == NULL) return;
    sgfsi_table_forget_cells(table);
    sgfsi_names_free(table->level, table->levels);
    free(table->y);
    free(table->target_name);
    free(table->text_path);
    free(table->value);
    free(table->value_rows);
    sgfsi_json_free(table->recipe);
    memset(table, 0, sizeof *table);
}

/* Parts are often about as long as one another: then the first guess is right. */
const sgfsi_part *sgfsi_table_part(const sgfsi_table *table, int64_t row) {
    int64_t lo = 0, hi = table->parts,
            guess = (int64_t)((double)row / (double)table->rows * (double)hi);
    const sgfsi_part *likely = &table->part[guess < hi ? guess : hi - 1];
    if (row >= likely->first && row - likely->first < likely->rows) return likely;
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (table->part[mid].first <= row) lo = mid;
        else hi = mid;
    }
    return &table->part[lo];
}

const char *sgfsi_table_where(const sgfsi_table *table, const char *path, int64_t row, char *out,
                              size_t room) {
    const sgfsi_part *p = table->parts > 1 ? sgfsi_table_part(table, row) : NULL;
    snprintf(out, room, "%.250s: row %lld", p != NULL && p->path != NULL ? p->path : path,
             (long long)(row - (p != NULL ? p->first : 0) + 1));
    return out;
}

/* --drop, where its columns are those of the file: behind --project they are others. */
static const char *early_drop(const sgfs_config *cfg) {
    bool late = !sgfsi_config_auto(cfg, "data.project") &&
                sgfsi_config_order(cfg, "data.project") < sgfsi_config_order(cfg, "data.drop");
    return late ? "" : sgfsi_config_text(cfg, "data.drop");
}

sgfsi_read_options sgfsi_read_options_of(const sgfs_config *cfg) {
    return (sgfsi_read_options){
        .target = sgfsi_config_text(cfg, "data.target"),
        .features = sgfsi_config_text(cfg, "data.features"),
        .weights = sgfsi_config_text(cfg, "data.weights"),
        .exposure = sgfsi_config_text(cfg, "data.exposure"),
        .delimiter = sgfsi_config_text(cfg, "data.delimiter"),
        .header = sgfsi_config_text(cfg, "data.header"),
        .single = strcmp(sgfsi_config_text(cfg, "data.storage"), "f32") == 0,
        .categorical = sgfsi_config_text(cfg, "data.categorical"),
        .drop = early_drop(cfg),
        .labels = sgfsi_config_text(cfg, "data.labels"),
        .columns = sgfsi_config_int(cfg, "data.columns"),
        .zero_based = sgfsi_config_flag(cfg, "data.zero_based"),
        .dense = sgfsi_config_flag(cfg, "data.dense"),
        .threads = sgfsi_config_auto(cfg, "run.threads") ? 0 : sgfsi_config_int(cfg, "run.threads"),
        .log = sgfsi_config_log(cfg),
    };
}

int64_t sgfsi_table_column(const sgfsi_table *table, const char *name) {
    for (int64_t i = 0; i < table->cols; i++) {
        if (strcmp(table->names[i], name) == 0) return i;
    }
    int64_t number;
    if (!sgfsi_text_int(name, &number) || number < 1 || number > table->cols) return -1;
    return number - 1;
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
        {"ARROW1\0", 7, "is an Arrow or Feather file; convert it to CSV or .npy"},
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

static sgfs_status read_head(const char *path, unsigned char head[SGFSI_HEAD_BYTES], size_t *bytes,
                             sgfs_err *err) {
    sgfsi_bytes *in;
    sgfs_status status = sgfsi_bytes_open(&in, path, err);
    if (status == SGFS_OK) status = sgfsi_bytes_read(in, head, SGFSI_HEAD_BYTES, bytes, err);
    sgfsi_bytes_close(in);
    return status;
}

const sgfs_reader_kind *sgfsi_table_reader(const char *path, sgfs_err *err) {
    unsigned char head[SGFSI_HEAD_BYTES];
    size_t bytes = 0;
    if (read_head(path, head, &bytes, err) != SGFS_OK) return NULL;
    const char *other = known_elsewhere(head, bytes);
    if (other != NULL) return sgfsi_fail(err, SGFS_EDATA, "%s: %s.", path, other), NULL;
    for (size_t i = 0; sgfsi_readers[i] != NULL; i++) {
        if (sgfsi_readers[i]->probe(path, head, bytes)) return sgfsi_readers[i];
    }
    return sgfsi_fail(err, SGFS_EDATA, "%s: is of no kind that can be read.", path), NULL;
}

sgfs_status sgfsi_reader_check(const sgfs_reader_kind *reader, const char *path,
                               const sgfsi_read_options *options, sgfs_err *err) {
    bool labels = options->labels != NULL && options->labels[0] != '\0';
    const struct {
        bool given;
        const char *flag;
        const sgfs_reader_kind *reader;
    } flags[] = {{labels, "labels", &sgfs_reader_idx},
                 {options->columns > 0, "columns", &sgfs_reader_libsvm},
                 {options->zero_based, "zero-based", &sgfs_reader_libsvm},
                 {options->dense, "dense", &sgfs_reader_libsvm}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (!flags[i].given || reader == flags[i].reader) continue;
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: --%s is for files of kind %s, and this one is read as %s; leave it "
                          "out (`sgfs list readers`).",
                          path, flags[i].flag, flags[i].reader->name, reader->name);
    }
    return SGFS_OK;
}

sgfs_status sgfsi_table_read(const char *path, const sgfsi_read_options *options,
                             sgfsi_table *table, sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    memset(table, 0, sizeof *table);
    const sgfs_reader_kind *reader = sgfsi_table_reader(path, err);
    if (reader == NULL) return err->code;
    sgfs_status status = sgfsi_reader_check(reader, path, options, err);
    return status == SGFS_OK ? reader->read(path, options, table, err) : status;
}
