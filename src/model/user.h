/* SPDX-License-Identifier: MIT
 * user.h: models written by users (sgfs_user_model of sgfs.h) as kinds like all others.
 *
 * Such a kind is made when it is asked for, and belongs to the model that was opened with it; its
 * field `user` is how the callbacks are found again. sgfsi_model_create takes it like any other
 * kind: the model that owns it must outlive the others.
 */
#pragma once

#include "model/model.h"

extern const sgfs_option sgfsi_user_options[];

/* How many parameters of a user's model have a score of 0 in every row (or in as many as can be
 * looked at soon), and the names of the first; 0 of other models. For sentences: only the prior
 * says something of these parameters. */
int64_t sgfsi_user_uninformed(const sgfs_model *m, char *out, size_t room);

/* Is this a file rather than the name of a model? With a slash, or ending in .so or .dylib. */
bool sgfsi_user_is_file(const char *name);
/* The kind of a caller's callbacks; NULL with a sentence. Free it with sgfsi_user_free, or hand it
 * over to a model. what: the function that got them, for sentences. */
const sgfs_model_kind *sgfsi_user_kind(const sgfs_user_model *calls, const char *what,
                                       sgfs_err *err);
/* The kind goes with the model made of it, or at once where there is none (NULL). Returns m. */
sgfs_model *sgfsi_user_hand_over(const sgfs_model_kind *kind, sgfs_model *m);
/* Takes NULL, and kinds of the table, which are not freed. */
void sgfsi_user_free(const sgfs_model_kind *kind);

/* The kind of that name, of the table or from a file; NULL with err filled (SGFS_EUSAGE) when there
 * is none. */
const sgfs_model_kind *sgfsi_find_model(const char *name, sgfs_err *err);
