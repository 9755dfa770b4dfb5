/* SPDX-License-Identifier: MIT
 * terminal.c: everything the program prints passes through here.
 *
 * Names of columns, labels, titles of runs and paths come from files that others may have made. A
 * terminal obeys control characters among them: it can be made to hide lines or to type commands.
 * So both output streams replace whatever is not printable UTF-8, a tab or a line end by a question
 * mark, and no command has to think of it. (Where the C library cannot do that, the streams stay as
 * they are.) The line of progress, which does move the cursor, goes to the descriptor itself.
 */
#ifdef __linux__
#define _GNU_SOURCE /* fopencookie */
#endif
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/printable.h"
#include "cli.h"

#ifdef __linux__
enum { PIECE = 4096 };

/* A stream, and the character that its last write left unfinished. */
typedef struct guard {
    int fd;
    size_t held;
    unsigned char part[5]; /* zero-terminated */
} guard;

/* The bytes of the character that begins with this one, if it is one. */
static size_t length_of(unsigned char first) {
    return first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/* What is to be printed of the byte: a character when it is complete. Returns how many bytes. */
static size_t pass_on(guard *g, unsigned char byte, unsigned char *out) {
    size_t n = 0;
    bool goes_on = (byte & 0xC0) == 0x80;
    if (g->held > 0 && !goes_on) {
        out[n++] = '?'; /* the character before ended too soon */
        g->held = 0;
    }
    g->part[g->held++] = byte;
    g->part[g->held] = 0;
    if (g->held < length_of(g->part[0])) return n;
    bool plain = byte == '\n' || byte == '\t';
    bool good = plain || sgfsi_printable_character(g->part) == g->held;
    for (size_t i = 0; i < (good ? g->held : 1); i++) out[n++] = good ? g->part[i] : '?';
    g->held = 0;
    return n;
}

static ssize_t write_guarded(void *cookie, const char *bytes, size_t count) {
    guard *g = cookie;
    unsigned char out[PIECE + 8];
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        n += pass_on(g, (unsigned char)bytes[i], out + n);
        if (n < PIECE && i + 1 < count) continue;
        for (size_t done = 0; done < n;) {
            ssize_t wrote = write(g->fd, out + done, n - done);
            if (wrote < 0 && errno == EINTR) continue;
            if (wrote <= 0) return 0; /* a stream takes that for a failure */
            done += (size_t)wrote;
        }
        n = 0;
    }
    return (ssize_t)count;
}

void cli_guard_terminal(void) {
    static guard guards[2] = {{.fd = STDOUT_FILENO}, {.fd = STDERR_FILENO}};
    const cookie_io_functions_t calls = {.write = write_guarded};
    FILE *out = fopencookie(&guards[0], "w", calls), *err = fopencookie(&guards[1], "w", calls);
    if (out != NULL) stdout = out;
    if (err != NULL) stderr = err;
    if (err != NULL) setvbuf(err, NULL, _IONBF, 0);
}
#else
void cli_guard_terminal(void) {
}
#endif

int cli_terminal_width(int fd) {
    struct winsize size = {0};
    bool known = isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0;
    return known && size.ws_col > 0 ? size.ws_col : 80;
}

/* Bytes that take so many columns, near enough: a character is one. */
static int bytes_of(const char *text, int columns) {
    int n = 0;
    for (; text[n] != '\0'; n++) {
        bool begins = ((unsigned char)text[n] & 0xC0) != 0x80;
        if (begins && columns-- == 0) break;
    }
    return n;
}

void cli_print_wrapped(FILE *to, const char *before, const char *text) {
    int fd = to == stdout ? STDOUT_FILENO : STDERR_FILENO, width = cli_terminal_width(fd);
    char whole[4096];
    int length = snprintf(whole, sizeof whole, "%s%s", before, text);
    if (!isatty(fd) || length >= (int)sizeof whole) {
        fprintf(to, "%s%s\n", before, text);
        return;
    }
    const char *at = whole;
    for (; *at == '\n'; at++) putc('\n', to);
    while (at[bytes_of(at, width)] != '\0') {
        int most = bytes_of(at, width), n = most, line = (int)strcspn(at, "\n");
        if (line <= most) { /* a line that ends by itself, as over a caret */
            fprintf(to, "%.*s\n", line, at);
            at += line + 1;
            continue;
        }
        while (n > 0 && at[n] != ' ') n--;
        if (n == 0) n = most; /* a word that is wider than the terminal */
        fprintf(to, "%.*s\n", n, at);
        at += n + (at[n] == ' ');
    }
    fprintf(to, "%s\n", at);
}

void cli_print_over(const char *line) {
    fflush(stderr);
    ssize_t written = write(STDERR_FILENO, "\r", 1);
    fprintf(stderr, "%.*s", bytes_of(line, cli_terminal_width(STDERR_FILENO) - 3),
            line); /* room for ^C */
    fflush(stderr);
    written += write(STDERR_FILENO, "\x1b[K", 3);
    (void)written;
}
