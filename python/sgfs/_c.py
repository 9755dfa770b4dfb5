# SPDX-License-Identifier: MIT
# Written by python/generate.py from include/sgfs.h: do not edit.
"""Constants, structs and functions of the C library, as its header declares them."""

from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double,
                    c_float, c_int, c_int32, c_int64, c_size_t, c_void_p)

# ---- constants ----

SGFS_OK = 0
SGFS_EINTERNAL = -1
SGFS_EUSAGE = -2
SGFS_EDATA = -3
SGFS_ENUMERIC = -4
SGFS_EIO = -5
SGFS_ERUNFILE = -6
SGFS_EDOUBT = -7
SGFS_ENOMEM = -12
SGFS_ESTOPPED = -75
SGFS_NOTE = 0
SGFS_WARNING = 1
SGFS_DETAIL = 2
SGFS_TICK = 3
SGFS_GRADE_TRUST = 0
SGFS_GRADE_CARE = 1
SGFS_GRADE_OPTIMISER = 2
SGFS_GRADE_SHORT = 3
SGFS_GRADE_WRONG = 4
SGFS_AUDIT_COLUMNS = 3

CONSTANTS = {
    "SGFS_OK": 0,
    "SGFS_EINTERNAL": -1,
    "SGFS_EUSAGE": -2,
    "SGFS_EDATA": -3,
    "SGFS_ENUMERIC": -4,
    "SGFS_EIO": -5,
    "SGFS_ERUNFILE": -6,
    "SGFS_EDOUBT": -7,
    "SGFS_ENOMEM": -12,
    "SGFS_ESTOPPED": -75,
    "SGFS_NOTE": 0,
    "SGFS_WARNING": 1,
    "SGFS_DETAIL": 2,
    "SGFS_TICK": 3,
    "SGFS_GRADE_TRUST": 0,
    "SGFS_GRADE_CARE": 1,
    "SGFS_GRADE_OPTIMISER": 2,
    "SGFS_GRADE_SHORT": 3,
    "SGFS_GRADE_WRONG": 4,
    "SGFS_AUDIT_COLUMNS": 3,
}

# ---- structs ----


class sgfs_err(Structure):
    _fields_ = [
        ("code", c_int),
        ("text", c_char * 512),
    ]

sgfs_message_fn = CFUNCTYPE(None, c_int, c_char_p, c_void_p)


class sgfs_option_info(Structure):
    _fields_ = [
        ("key", c_char_p),
        ("flag", c_char_p),
        ("type", c_char_p),
        ("value", c_char_p),
        ("min", c_double),
        ("max", c_double),
        ("choices", c_char_p),
        ("help", c_char_p),
        ("stage", c_char_p),
        ("kind", c_char_p),
    ]


class sgfs_progress(Structure):
    _fields_ = [
        ("what", c_char_p),
        ("detail", c_char_p),
        ("fraction", c_double),
        ("done", c_int64),
        ("total", c_int64),
        ("seconds", c_double),
        ("eta", c_double),
        ("iterations_per_s", c_double),
        ("ess_per_s", c_double),
        ("error", c_double),
        ("bytes_needed", c_double),
        ("bytes_available", c_double),
    ]

sgfs_progress_fn = CFUNCTYPE(None, POINTER(sgfs_progress), c_void_p)


class sgfs_device_array(Structure):
    _fields_ = [
        ("cells", c_void_p),
        ("type", c_char_p),
        ("stride", c_int64),
    ]


class sgfs_arrays(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("rows", c_int64),
        ("cols", c_int64),
        ("x", POINTER(c_double)),
        ("x32", POINTER(c_float)),
        ("row_stride", c_int64),
        ("y", POINTER(c_double)),
        ("names", POINTER(c_char_p)),
        ("target_name", c_char_p),
        ("csr_start", POINTER(c_int64)),
        ("csr_col", POINTER(c_int32)),
        ("csr_value", POINTER(c_double)),
        ("weights", POINTER(c_double)),
        ("exposure", POINTER(c_double)),
        ("device", c_char_p),
        ("device_x", sgfs_device_array),
        ("device_y", sgfs_device_array),
        ("device_weights", sgfs_device_array),
        ("device_exposure", sgfs_device_array),
    ]


class sgfs_rows(Structure):
    _fields_ = [
        ("n", c_int64),
        ("cols", c_int64),
        ("x", POINTER(c_double)),
        ("y", POINTER(c_double)),
    ]


class sgfs_user_model(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("dim", CFUNCTYPE(c_int64, c_int64, c_void_p)),
        ("scores", CFUNCTYPE(c_int, POINTER(c_double), POINTER(sgfs_rows), POINTER(c_double), POINTER(c_double), c_void_p)),
        ("param_name", CFUNCTYPE(None, c_int64, c_int64, POINTER(c_char_p), c_void_p, c_size_t, c_void_p)),
        ("log_prior", CFUNCTYPE(c_int, POINTER(c_double), c_int64, POINTER(c_double), POINTER(c_double), c_void_p)),
        ("start", CFUNCTYPE(c_int, POINTER(sgfs_rows), c_int64, POINTER(c_double), POINTER(c_double), c_void_p)),
        ("predict", CFUNCTYPE(c_int, POINTER(c_double), POINTER(sgfs_rows), POINTER(c_double), c_void_p)),
        ("draw", CFUNCTYPE(c_int, POINTER(c_double), POINTER(sgfs_rows), POINTER(c_double), POINTER(c_double), POINTER(c_double), c_void_p)),
        ("message", CFUNCTYPE(c_void_p, c_int, c_void_p)),
        ("user", c_void_p),
        ("open", CFUNCTYPE(c_int, c_char_p, POINTER(c_void_p))),
        ("close", CFUNCTYPE(None, c_void_p)),
        ("prior_precision", CFUNCTYPE(c_int, POINTER(c_double), c_int64, POINTER(c_double), c_void_p)),
    ]


class sgfs_draws_shape(Structure):
    _fields_ = [
        ("chains", c_int64),
        ("draws", c_int64),
        ("dim", c_int64),
    ]


class sgfs_summary_row(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("mean", c_double),
        ("sd", c_double),
        ("mcse", c_double),
        ("q5", c_double),
        ("q50", c_double),
        ("q95", c_double),
        ("ess_bulk", c_double),
        ("ess_tail", c_double),
        ("r_hat", c_double),
        ("sd_curvature", c_double),
        ("tau", c_double),
    ]


class sgfs_trajectories(Structure):
    _fields_ = [
        ("known", c_bool),
        ("thin", c_int64),
        ("divergent", c_double),
        ("at_max_depth", c_double),
        ("max_depth", c_double),
        ("acceptance_rate", c_double),
        ("step_size", c_double),
        ("n_steps", c_double),
        ("bfmi", POINTER(c_double)),
    ]


class sgfs_exact_stats(Structure):
    _fields_ = [
        ("known", c_bool),
        ("acceptance", c_double),
        ("rows", c_double),
        ("rho", c_double),
    ]


class sgfs_group_stats(Structure):
    _fields_ = [
        ("known", c_bool),
        ("beta", c_double),
        ("groups", c_double),
        ("scales", c_double),
        ("passes", c_double),
    ]


class sgfs_curve_point(Structure):
    _fields_ = [
        ("chain", c_int64),
        ("iteration", c_int64),
        ("draws", c_int64),
        ("seconds", c_double),
        ("error", c_double),
        ("log_loss", c_double),
        ("error_now", c_double),
        ("log_loss_now", c_double),
    ]


class sgfs_audit_change(Structure):
    _fields_ = [
        ("mean", c_double),
        ("mean_error", c_double),
        ("sd", c_double),
        ("sd_error", c_double),
    ]


class sgfs_audited(Structure):
    _fields_ = [
        ("brief", c_char_p),
        ("mean_name", c_char_p),
        ("sd_name", c_char_p),
        ("mean", sgfs_audit_change),
        ("sd", sgfs_audit_change),
        ("exact", c_bool),
        ("differs", c_bool),
    ]


class sgfs_interval(Structure):
    _fields_ = [
        ("low", c_double),
        ("centre", c_double),
        ("high", c_double),
    ]


class sgfs_summary(Structure):
    _fields_ = [
        ("dim", c_int64),
        ("chains", c_int64),
        ("draws", c_int64),
        ("row", POINTER(sgfs_summary_row)),
        ("seconds", c_double),
        ("sample_seconds", c_double),
        ("rows_touched", c_double),
        ("ess_min", c_double),
        ("ess_per_s", c_double),
        ("tau_max", c_double),
        ("inv_atuc", c_double),
        ("interventions", c_double),
        ("reanchors", c_double),
        ("warnings", c_int64),
        ("warning", POINTER(c_char_p)),
        ("title", c_char_p),
        ("state", c_char_p),
        ("trajectories", sgfs_trajectories),
        ("asked", sgfs_exact_stats),
        ("gaussian_draws", c_double),
        ("langevin_draws", c_double),
        ("points", c_int64),
        ("curve", POINTER(sgfs_curve_point)),
        ("error", c_double),
        ("log_loss", c_double),
        ("error_name", c_char_p),
        ("disk_wait", c_double),
        ("disk_bytes", c_double),
        ("disk_faults", c_double),
        ("audit", sgfs_audited),
        ("chosen", c_char_p),
        ("planned", c_int64),
        ("made", c_int64),
        ("fallbacks", c_int64),
        ("trust", c_bool),
        ("grade", c_int),
        ("verdict", c_char_p),
        ("next", c_char_p),
        ("sampler", c_char_p),
        ("interval", POINTER(sgfs_interval)),
        ("share", c_double),
        ("hdi", c_bool),
        ("ratio", c_char_p),
        ("compared", c_char_p),
        ("units", c_char_p),
        ("grouped", sgfs_group_stats),
    ]


class sgfs_compare_row(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("mean", c_double),
        ("reference", c_double),
        ("sd", c_double),
        ("reference_sd", c_double),
        ("z", c_double),
        ("z_sd", c_double),
    ]


class sgfs_compare(Structure):
    _fields_ = [
        ("dim", c_int64),
        ("row", POINTER(sgfs_compare_row)),
        ("E1", c_double),
        ("E2", c_double),
        ("trR", c_double),
        ("E1_noise", c_double),
        ("E2_noise", c_double),
        ("trR_noise", c_double),
        ("ess_min", c_double),
        ("best", c_int64 * 2),
        ("worst", c_int64 * 2),
        ("true_inside", c_int64),
        ("true_total", c_int64),
        ("state", c_char_p),
        ("reference_state", c_char_p),
        ("reference_verdict", c_char_p),
    ]


class sgfs_mode_row(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("mode", c_double),
        ("sd", c_double),
    ]


class sgfs_mode(Structure):
    _fields_ = [
        ("dim", c_int64),
        ("row", POINTER(sgfs_mode_row)),
        ("cov", POINTER(c_double)),
        ("log_density", c_double),
        ("distance", c_double),
        ("iterations", c_int64),
        ("passes", c_int64),
        ("seconds", c_double),
        ("method", c_char_p),
        ("title", c_char_p),
    ]


class sgfs_check_grad_row(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("block", c_char_p),
        ("point", c_int64),
        ("analytic", c_double),
        ("numeric", c_double),
        ("error", c_double),
        ("doubt", c_double),
        ("agrees", c_bool),
    ]


class sgfs_check_grad(Structure):
    _fields_ = [
        ("passed", c_bool),
        ("title", c_char_p),
        ("verdict", c_char_p),
        ("dim", c_int64),
        ("points", c_int64),
        ("rows", c_int64),
        ("rows_in_data", c_int64),
        ("checked", c_int64),
        ("directions", c_int64),
        ("row", POINTER(sgfs_check_grad_row)),
        ("tolerance", c_double),
        ("error", c_double),
        ("direction_error", c_double),
        ("prior_error", c_double),
        ("score_error", c_double),
        ("loglik_error", c_double),
        ("seconds", c_double),
    ]


class sgfs_tune_row(Structure):
    _fields_ = [
        ("setting", c_char_p),
        ("state", c_char_p),
        ("note", c_char_p),
        ("loss", c_double),
        ("loss_se", c_double),
        ("gap", c_double),
        ("gap_se", c_double),
        ("error", c_double),
        ("E1", c_double),
        ("E2", c_double),
        ("trR", c_double),
        ("E2_noise", c_double),
        ("spread", c_double),
        ("ess_min", c_double),
        ("seconds", c_double),
        ("tied", c_bool),
    ]


class sgfs_tune_table(Structure):
    _fields_ = [
        ("rows", c_int64),
        ("folds", c_int64),
        ("row", POINTER(sgfs_tune_row)),
        ("by_error", c_bool),
        ("best", c_int64),
        ("winner", c_int64),
        ("verdict", c_char_p),
    ]


class sgfs_audit_row(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("mean", c_double),
        ("sd", c_double),
        ("change", sgfs_audit_change * SGFS_AUDIT_COLUMNS),
    ]


class sgfs_audit_report(Structure):
    _fields_ = [
        ("needed", c_bool),
        ("title", c_char_p),
        ("sampler", c_char_p),
        ("draws", c_bool),
        ("step", c_double),
        ("exact", c_bool),
        ("not_exact", c_char_p),
        ("dim", c_int64),
        ("columns", c_int64),
        ("column", c_char_p * SGFS_AUDIT_COLUMNS),
        ("row", POINTER(sgfs_audit_row)),
        ("precision", c_double),
        ("reached", c_double),
        ("worst_mean", c_int64),
        ("worst_sd", c_int64),
        ("confidence", c_double),
        ("z", c_double),
        ("mean_differs", c_bool),
        ("sd_differs", c_bool),
        ("mean_within", c_double),
        ("sd_within", c_double),
        ("verdict", c_char_p),
        ("brief", c_char_p),
        ("seconds", c_double),
        ("rows_touched", c_double),
    ]


class sgfs_predict_bin(Structure):
    _fields_ = [
        ("low", c_double),
        ("high", c_double),
        ("rows", c_int64),
        ("predicted", c_double),
        ("observed", c_double),
    ]


class sgfs_predict_label(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("rows", c_int64),
        ("predicted", c_int64),
        ("right", c_int64),
        ("probability", c_double),
    ]


class sgfs_predict_baseline(Structure):
    _fields_ = [
        ("log_loss", c_double),
        ("error", c_double),
        ("brier", c_double),
        ("rmse", c_double),
        ("r2", c_double),
    ]


class sgfs_predict_column(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("words", c_int64),
        ("word", POINTER(c_char_p)),
        ("dates", c_bool),
    ]


class sgfs_prediction(Structure):
    _fields_ = [
        ("rows", c_int64),
        ("draws", c_int64),
        ("model", c_char_p),
        ("target", c_char_p),
        ("state", c_char_p),
        ("scored", c_bool),
        ("log_loss", c_double),
        ("log_loss_se", c_double),
        ("labels", c_int64),
        ("label", POINTER(sgfs_predict_label)),
        ("error", c_double),
        ("error_se", c_double),
        ("brier", c_double),
        ("ece", c_double),
        ("bins", c_char_p),
        ("bin", sgfs_predict_bin * 10),
        ("rmse", c_double),
        ("mae", c_double),
        ("intervals", c_bool),
        ("coverage", c_double),
        ("coverage_se", c_double),
        ("under", c_double * 3),
        ("pit", c_int64 * 10),
        ("seconds", c_double),
        ("unpredicted", c_int64),
        ("unscored", c_int64),
        ("new_words", c_int64),
        ("auc", c_double),
        ("hits", c_double * 101),
        ("interval", c_double),
        ("baseline", sgfs_predict_baseline),
        ("tenth", sgfs_predict_bin * 10),
        ("columns", c_int64),
        ("column", POINTER(sgfs_predict_column)),
        ("outputs", c_int64),
        ("exposure", c_bool),
        ("new_groups", c_int64),
    ]


class sgfs_new_rows(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("rows", c_int64),
        ("x", POINTER(c_double)),
        ("words", POINTER(c_char_p)),
        ("exposure", POINTER(c_double)),
    ]


class sgfs_predicted(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("mean", POINTER(c_double)),
        ("quantile", POINTER(c_double)),
        ("new_words", c_int64),
        ("missing", c_int64),
        ("new_groups", c_int64),
    ]


class sgfs_report(Structure):
    _fields_ = [
        ("path", c_char_p),
        ("text", c_char_p),
        ("without", c_char_p),
        ("verdict", c_char_p),
        ("pictures", c_int64),
        ("parameters", c_int64),
        ("bytes", c_int64),
        ("seconds", c_double),
    ]


class sgfs_pack_info(Structure):
    _fields_ = [
        ("rows", c_int64),
        ("cols", c_int64),
        ("type", c_char_p),
        ("shuffled", c_bool),
        ("chunk_rows", c_int64),
        ("chunk_bytes", c_int64),
        ("chunks", c_int64),
        ("bytes", c_double),
        ("read", c_double),
        ("spilled", c_double),
        ("seconds", c_double),
    ]


class sgfs_sketch_info(Structure):
    _fields_ = [
        ("step", c_char_p),
        ("advice", c_char_p),
        ("done", c_bool),
        ("rows", c_int64),
        ("parts", c_int64),
        ("marks", c_int64),
        ("distance", c_double),
        ("bytes", c_double),
        ("seconds", c_double),
    ]


class sgfs_simulated(Structure):
    _fields_ = [
        ("rows", c_int64),
        ("features", c_int64),
        ("seconds", c_double),
    ]


STRUCTS = {
    "sgfs_err": sgfs_err,
    "sgfs_option_info": sgfs_option_info,
    "sgfs_progress": sgfs_progress,
    "sgfs_device_array": sgfs_device_array,
    "sgfs_arrays": sgfs_arrays,
    "sgfs_rows": sgfs_rows,
    "sgfs_user_model": sgfs_user_model,
    "sgfs_draws_shape": sgfs_draws_shape,
    "sgfs_summary_row": sgfs_summary_row,
    "sgfs_trajectories": sgfs_trajectories,
    "sgfs_exact_stats": sgfs_exact_stats,
    "sgfs_group_stats": sgfs_group_stats,
    "sgfs_curve_point": sgfs_curve_point,
    "sgfs_audit_change": sgfs_audit_change,
    "sgfs_audited": sgfs_audited,
    "sgfs_interval": sgfs_interval,
    "sgfs_summary": sgfs_summary,
    "sgfs_compare_row": sgfs_compare_row,
    "sgfs_compare": sgfs_compare,
    "sgfs_mode_row": sgfs_mode_row,
    "sgfs_mode": sgfs_mode,
    "sgfs_check_grad_row": sgfs_check_grad_row,
    "sgfs_check_grad": sgfs_check_grad,
    "sgfs_tune_row": sgfs_tune_row,
    "sgfs_tune_table": sgfs_tune_table,
    "sgfs_audit_row": sgfs_audit_row,
    "sgfs_audit_report": sgfs_audit_report,
    "sgfs_predict_bin": sgfs_predict_bin,
    "sgfs_predict_label": sgfs_predict_label,
    "sgfs_predict_baseline": sgfs_predict_baseline,
    "sgfs_predict_column": sgfs_predict_column,
    "sgfs_prediction": sgfs_prediction,
    "sgfs_new_rows": sgfs_new_rows,
    "sgfs_predicted": sgfs_predicted,
    "sgfs_report": sgfs_report,
    "sgfs_pack_info": sgfs_pack_info,
    "sgfs_sketch_info": sgfs_sketch_info,
    "sgfs_simulated": sgfs_simulated,
}

# ---- functions: what comes back, and what goes in ----

FUNCTIONS = {
    "sgfs_version": (c_char_p, []),
    "sgfs_text_free": (None, [c_void_p]),
    "sgfs_list": (c_bool, [c_char_p, c_int64, POINTER(c_char_p), POINTER(c_char_p)]),
    "sgfs_option_at": (c_bool, [c_int64, POINTER(sgfs_option_info)]),
    "sgfs_config_new": (c_void_p, []),
    "sgfs_config_set": (c_int, [c_void_p, c_char_p, c_char_p, POINTER(sgfs_err)]),
    "sgfs_config_load": (c_int, [c_void_p, c_char_p, POINTER(sgfs_err)]),
    "sgfs_config_get": (c_char_p, [c_void_p, c_char_p]),
    "sgfs_config_on_message": (None, [c_void_p, sgfs_message_fn, c_void_p]),
    "sgfs_config_free": (None, [c_void_p]),
    "sgfs_config_on_progress": (None, [c_void_p, sgfs_progress_fn, c_void_p]),
    "sgfs_config_stop": (None, [c_void_p]),
    "sgfs_agree": (c_int, [c_void_p, c_int, POINTER(c_int64), POINTER(c_int64), POINTER(sgfs_err)]),
    "sgfs_data_open": (c_void_p, [c_char_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_data_wrap": (c_void_p, [POINTER(sgfs_arrays), c_void_p, POINTER(sgfs_err)]),
    "sgfs_data_free": (None, [c_void_p]),
    "sgfs_model_open": (c_void_p, [c_char_p, c_void_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_model_dim": (c_int64, [c_void_p]),
    "sgfs_model_param": (c_char_p, [c_void_p, c_int64]),
    "sgfs_model_free": (None, [c_void_p]),
    "sgfs_model_user": (
        c_void_p, [POINTER(sgfs_user_model), c_void_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_run_open": (c_void_p, [c_void_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_run_describe": (c_char_p, [c_void_p]),
    "sgfs_run_attach": (c_int, [c_void_p, c_char_p, POINTER(sgfs_err)]),
    "sgfs_run_resume": (c_void_p, [c_void_p, c_char_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_run_step": (c_int, [c_void_p, c_int64, POINTER(sgfs_err)]),
    "sgfs_run_done": (c_bool, [c_void_p]),
    "sgfs_run_all": (c_int, [c_void_p, POINTER(sgfs_err)]),
    "sgfs_run_theta": (POINTER(c_double), [c_void_p, c_int64]),
    "sgfs_run_close": (c_int, [c_void_p, POINTER(sgfs_err)]),
    "sgfs_run_draws": (c_void_p, [c_void_p, POINTER(sgfs_err)]),
    "sgfs_run_free": (None, [c_void_p]),
    "sgfs_draws_open": (c_void_p, [c_char_p, POINTER(sgfs_err)]),
    "sgfs_draws_size": (sgfs_draws_shape, [c_void_p]),
    "sgfs_draws_param": (c_char_p, [c_void_p, c_int64]),
    "sgfs_draws_chain": (POINTER(c_double), [c_void_p, c_int64]),
    "sgfs_draws_export": (c_int, [c_void_p, c_char_p, c_bool, POINTER(sgfs_err)]),
    "sgfs_draws_free": (None, [c_void_p]),
    "sgfs_job_run": (c_int, [c_void_p, POINTER(sgfs_err)]),
    "sgfs_job_result": (c_void_p, [c_void_p]),
    "sgfs_job_json": (c_void_p, [c_void_p]),
    "sgfs_job_save": (c_int, [c_void_p, c_char_p, POINTER(sgfs_err)]),
    "sgfs_job_free": (None, [c_void_p]),
    "sgfs_summary_open": (c_void_p, [c_void_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_compare_open": (c_void_p, [c_void_p, c_char_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_optimize_open": (c_void_p, [c_void_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_check_grad_open": (c_void_p, [c_void_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_tune_open": (c_void_p, [c_void_p, c_char_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_audit_open": (c_void_p, [c_char_p, c_void_p, c_char_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_predict_open": (
        c_void_p, [c_void_p, POINTER(sgfs_user_model), c_char_p, c_char_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_predict_rows": (
        c_int, [c_void_p, POINTER(sgfs_new_rows), POINTER(sgfs_predicted), POINTER(sgfs_err)]),
    "sgfs_report_open": (
        c_void_p, [c_void_p, c_int64, c_char_p, c_char_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_pack_open": (c_void_p, [c_char_p, c_char_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_sketch_open": (
        c_void_p, [c_char_p, c_char_p, c_char_p, c_char_p, c_void_p, POINTER(sgfs_err)]),
    "sgfs_simulate_open": (c_void_p, [c_char_p, c_char_p, c_char_p, c_void_p, POINTER(sgfs_err)]),
}
