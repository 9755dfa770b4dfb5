/* SPDX-License-Identifier: MIT
 * err.c: error values and the message callback.
 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void format_cut(char *out, size_t room, const char *format, va_list args) {
    int wanted = vsnprintf(out, room, format, args);
    if (wanted >= 0 && (size_t)wanted >= room) memcpy(out + room - 4, "...", 4);
}

sgfs_status sgfsi_fail(sgfs_err *err, sgfs_status code, const char *format, ...) {
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        err->code = code;
        format_cut(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return code;
}

sgfs_status sgfsi_fail_memory(sgfs_err *err, const char *what) {
    return sgfsi_fail(err, SGFS_ENOMEM, "Out of memory while making room for %s.", what);
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

const char *sgfs_status_text(sgfs_status status) {
    switch (status) {
    case SGFS_OK: return "ok";
    case SGFS_EINTERNAL: return "internal error";
    case SGFS_EUSAGE: return "wrong usage";
    case SGFS_EDATA: return "bad data or model";
    case SGFS_ENUMERIC: return "numerical failure";
    case SGFS_EIO: return "input/output failed";
    case SGFS_ERUNFILE: return "invalid run file";
    case SGFS_ENOMEM: return "out of memory";
    case SGFS_ESTOPPED: return "stopped early";
    }
    return "unknown status";
}
