/* SPDX-License-Identifier: MIT
 * table.c: the export formats there are. A new one is one file and one row here.
 */
#include "sink/export.h"

const sgfs_export_kind *const sgfsi_exports[] = {
    &sgfs_export_netcdf, &sgfs_export_stancsv, &sgfs_export_csv,
    &sgfs_export_npy,    &sgfs_export_curve,   NULL,
};
