/* SPDX-License-Identifier: MIT
 * table.c: the export formats there are. A new one is one file and one row here.
 */
#include "sink/export.h"

/* clang-format off */
#define EXPORTS(ROW)              \
    ROW(sgfs_export_netcdf)       \
    ROW(sgfs_export_stancsv)      \
    ROW(sgfs_export_csv)          \
    ROW(sgfs_export_npy)          \
    ROW(sgfs_export_curve)
/* clang-format on */

#define DECLARE(kind) extern const sgfs_export_kind kind;
#define ENTER(kind)   &kind,
EXPORTS(DECLARE)
const sgfs_export_kind *const sgfsi_exports[] = {EXPORTS(ENTER) NULL};
