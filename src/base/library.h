/* SPDX-License-Identifier: MIT
 * library.h: shared objects opened by name: code of the user's that is found at run time.
 */
#pragma once

#include "base/err.h"

typedef struct sgfsi_library sgfsi_library;

/* The file at `path` (no search path: a bare name is a file of the folder at hand). Its own
 * libraries are loaded with it, and its constructors run. NULL with a sentence: SGFS_EDATA. */
sgfsi_library *sgfsi_library_open(const char *path, sgfs_err *err);
/* What it exports under this name, or NULL. */
const void *sgfsi_library_find(sgfsi_library *library, const char *symbol);
/* The path of a plug-in of that file name, where one is: beside the file that this code was loaded
 * from (which is all there is of it in a build), or where such files are installed. */
bool sgfsi_library_plugin(const char *file, char *path, size_t room);
void sgfsi_library_close(sgfsi_library *library); /* takes NULL */
