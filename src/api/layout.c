/* SPDX-License-Identifier: MIT
 * layout.c: sizes of the public structs and values of the public constants, as text.
 *
 * A binding for another language has declarations of its own, made from some version of sgfs.h.
 * sgfs_list("layout") tells it what this library was compiled with, so that a mismatch is a
 * sentence when the binding is loaded and not a crash later. Texts have four digits ("0516"), with
 * a sign in front of negative numbers: they are constants, made by the compiler.
 */
#include "api/layout.h"

#define DIGIT(n, unit) (char)('0' + (n) / (unit) % 10)
#define TEXT(sign, n)                                                                              \
    (const char[]) {                                                                               \
        sign, DIGIT(n, 1000), DIGIT(n, 100), DIGIT(n, 10), DIGIT(n, 1), '\0'                       \
    }
#define SIZE(type)                                                                                 \
    { #type, TEXT('+', sizeof(type)) }
#define VALUE(name)                                                                                \
    { #name, TEXT((name) < 0 ? '-' : '+', (name) < 0 ? -(name) : (name)) }

static const struct {
    const char *name, *text;
} rows[] = {SIZE(sgfs_err),
            SIZE(sgfs_option_info),
            SIZE(sgfs_device_array),
            SIZE(sgfs_arrays),
            SIZE(sgfs_rows),
            SIZE(sgfs_user_model),
            SIZE(sgfs_progress),
            SIZE(sgfs_draws_shape),
            SIZE(sgfs_summary_row),
            SIZE(sgfs_trajectories),
            SIZE(sgfs_exact_stats),
            SIZE(sgfs_group_stats),
            SIZE(sgfs_curve_point),
            SIZE(sgfs_audit_change),
            SIZE(sgfs_audited),
            SIZE(sgfs_interval),
            SIZE(sgfs_summary),
            SIZE(sgfs_compare_row),
            SIZE(sgfs_compare),
            SIZE(sgfs_mode_row),
            SIZE(sgfs_mode),
            SIZE(sgfs_check_grad_row),
            SIZE(sgfs_check_grad),
            SIZE(sgfs_tune_row),
            SIZE(sgfs_tune_table),
            SIZE(sgfs_audit_row),
            SIZE(sgfs_audit_report),
            SIZE(sgfs_predict_bin),
            SIZE(sgfs_predict_label),
            SIZE(sgfs_prediction),
            SIZE(sgfs_report),
            SIZE(sgfs_pack_info),
            SIZE(sgfs_sketch_info),
            SIZE(sgfs_simulated),
            SIZE(sgfs_predict_column),
            SIZE(sgfs_new_rows),
            SIZE(sgfs_predicted),
            SIZE(sgfs_predict_baseline),
            VALUE(SGFS_OK),
            VALUE(SGFS_EINTERNAL),
            VALUE(SGFS_EUSAGE),
            VALUE(SGFS_EDATA),
            VALUE(SGFS_ENUMERIC),
            VALUE(SGFS_EIO),
            VALUE(SGFS_ERUNFILE),
            VALUE(SGFS_EDOUBT),
            VALUE(SGFS_ENOMEM),
            VALUE(SGFS_ESTOPPED),
            VALUE(SGFS_NOTE),
            VALUE(SGFS_DETAIL),
            VALUE(SGFS_TICK),
            VALUE(SGFS_WARNING),
            VALUE(SGFS_GRADE_TRUST),
            VALUE(SGFS_GRADE_CARE),
            VALUE(SGFS_GRADE_OPTIMISER),
            VALUE(SGFS_GRADE_SHORT),
            VALUE(SGFS_GRADE_WRONG),
            VALUE(SGFS_AUDIT_COLUMNS)};

bool sgfsi_layout_at(int64_t index, const char **name, const char **text) {
    if (index >= (int64_t)(sizeof rows / sizeof rows[0])) return false;
    *name = rows[index].name;
    *text = rows[index].text;
    return true;
}
