/* SPDX-License-Identifier: MIT
 * join_words.h: packed files of different days, whose columns of words have other words, as one
 * data set: their columns by name, and their words by what they are.
 *
 *     day 1: city=Kiel city=Lyon       (compared with Oslo)
 *     day 2: city=Oslo                 (compared with Kiel)
 *     both:  city=Lyon city=Oslo       (compared with Kiel, the most frequent one)
 */
#pragma once

#include "base/json.h"
#include "files/reader.h"

typedef struct sgfsi_joint sgfsi_joint;

/* *out is NULL where there is nothing to join: the same transforms made all files, or ones that
 * differ in more than words. Paths are borrowed. */
sgfs_status sgfsi_joint_open(sgfsi_joint **out, int64_t files, const char *const *path,
                             const sgfsi_read_options *options, sgfs_err *err);
void sgfsi_joint_free(sgfsi_joint *joint); /* takes NULL */

/* Where the columns of the joint files are in the rows of one file. */
typedef struct sgfsi_joint_file sgfsi_joint_file;
/* For the table of one of them; head: of all, to be freed by the caller. */
sgfs_status sgfsi_joint_file_open(sgfsi_joint_file **out, const sgfsi_joint *joint,
                                  const sgfsi_table *table, sgfsi_table *head, sgfs_err *err);
void sgfsi_joint_file_free(sgfsi_joint_file *file); /* takes NULL */
/* A row of the file as one of all: as many doubles as head has columns. */
void sgfsi_joint_row(const sgfsi_joint_file *file, const char *row, double *to);
