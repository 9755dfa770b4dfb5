/* SPDX-License-Identifier: MIT
 * err.c: error values and the message callback.
 *
 * Sentences quote files: names of columns, cells, paths. Whatever those hold, a sentence is UTF-8
 * without control characters, so that a hostile file cannot speak to a terminal; what is neither
 * becomes a question mark. It is one line, but for lines that begin with four blanks, which show a
 * place in what was written.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

/* Where the text is cut, a character may be: its first bytes become question marks, too. False: a
 * long list of arguments needs memory in the C library, and there was none. */
static bool format_cut(char *out, size_t room, const char *format, va_list args) {
    int wanted = vsnprintf(out, room, format, args);
    if (wanted < 0) snprintf(out, room, "Out of memory, also for a sentence that says more.");
    if (wanted >= 0 && (size_t)wanted >= room) memcpy(out + room - 4, "...", 4);
    for (char *line = out, *end; line != NULL; line = end != NULL ? end + 1 : NULL) {
        end = strstr(line, "\n    ");
        if (end != NULL) *end = '\0';
        sgfsi_printable(line);
        if (end != NULL) *end = '\n';
    }
    return wanted >= 0;
}

sgfs_status sgfsi_fail(sgfs_err *err, sgfs_status code, const char *format, ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        if (!format_cut(err->text, sizeof err->text, format, args)) code = SGFS_ENOMEM;
        err->code = code;
        va_end(args);
    }
    return code;
}

sgfs_status sgfsi_fail_memory(sgfs_err *err, const char *what) {
    return sgfsi_fail(err, SGFS_ENOMEM, "Out of memory while making room for %s.", what);
}

sgfs_status sgfsi_fail_hard(const sgfs_err *why, sgfs_err *err) {
    if (why->code != SGFS_ENOMEM && why->code != SGFS_EIO && why->code != SGFS_ESTOPPED)
        return SGFS_OK;
    if (err != NULL) *err = *why;
    return why->code;
}

sgfs_status sgfsi_fail_io(sgfs_err *err, const char *path, const char *what, int error) {
    const char *pipe = error == ETIMEDOUT ? "is a pipe, and nobody writes to it; start what is to"
                                            " write, or give a file"
                       : error == ESPIPE  ? "is no plain file, and has to be looked at twice; save"
                                            " it to a file"
                                          : NULL;
    if (pipe != NULL) return sgfsi_fail(err, SGFS_EIO, "%.300s: %s.", path, pipe);
    return sgfsi_fail(err, error == ENOMEM ? SGFS_ENOMEM : SGFS_EIO, "%.300s: cannot %s: %s.", path,
                      what, strerror(error));
}

sgfs_status sgfsi_fail_handle(sgfs_err *err, const char *call) {
    if (err != NULL && err->code != SGFS_OK) return err->code;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "%s: the handle is NULL; the call that was to make it has failed.", call);
}

sgfs_status sgfsi_why(const sgfs_err *err) {
    return err != NULL && err->code != SGFS_OK ? err->code : SGFS_ENOMEM;
}

sgfs_status sgfsi_fail_finite(sgfs_err *err, const char *what, ...) {
    char cell[sizeof err->text];
    va_list arguments;
    va_start(arguments, what);
    vsnprintf(cell, sizeof cell, what, arguments);
    va_end(arguments);
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s is not a finite number; where a value is missing, --na drop leaves the "
                      "row out, and --na "
                      "mean fills in the mean of the column.",
                      cell);
}

void sgfsi_append(char *text, size_t room, const char *format, ...) {
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, room - used, format, args);
    va_end(args);
}

void sgfsi_say(const sgfsi_log *log, sgfs_level level, const char *format, ...) {
    if (log == NULL || log->fn == NULL) return;
    char text[1024];
    va_list args;
    va_start(args, format);
    format_cut(text, sizeof text, format, args);
    va_end(args);
    log->fn(level, text, log->user);
}
