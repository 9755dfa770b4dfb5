/* SPDX-License-Identifier: MIT
 * plot.c: scripts of pictures become pictures, by one run of gnuplot for all of them.
 *
 * gnuplot reads the scripts as its standard input, with the data in them, and prints the pictures
 * one after another, each behind a line with a mark. It is started without its settings files, so
 * that a picture depends on the script alone. A name from a file reaches it in single quotes, where
 * nothing is expanded, without line ends and with typographic quotes (of doubled ones gnuplot sees
 * only those behind a letter); "noenhanced" makes _ and ^ what they are.
 *
 * An SVG of a page loses what is of use in a file only, and its marks get names of their own.
 * Colours stay as they are: the page's style says what they become on dark ground, and a file takes
 * that style with it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "base/printable.h"
#include "jobs/report/report.h"

static const char MARK[] = "@@sgfs ";
enum { SECONDS = 300 }; /* that gnuplot may take */

/* Okabe and Ito (2008): told apart by all eyes; yellow, which is too light for lines, left out. */
static const char *const colours[] = {"'#0072b2'", "'#d55e00'", "'#009e73'", "'#cc79a7'",
                                      "'#56b4e9'", "'#e69f00'", "'#7a6a53'"};

const char *sgfsi_plot_colour(int64_t k) {
    return colours[k % (int64_t)(sizeof colours / sizeof colours[0])];
}

void sgfsi_plot_text(FILE *f, const char *text) {
    enum { LONGEST = 120 };
    int64_t used = 0;
    fputc('\'', f);
    for (size_t n; *text != '\0' && used<LONGEST; text += n> 0 ? n : 1, used++) {
        n = sgfsi_printable_character((const unsigned char *)text);
        if (n == 0) fputc('?', f);
        else if (*text == '\'') fputs("\u2019", f);
        else fwrite(text, 1, n, f);
    }
    fputs(*text != '\0' ? "...'" : "'", f);
}

void sgfsi_plot_num(FILE *f, double x) {
    char text[SGFSI_NUM_CHARS];
    sgfsi_format_digits(text, x, 6);
    fprintf(f, "%s ", isfinite(x) ? text : "NaN");
}

/* ---- scripts --------------------------------------------------------------------------------- */

static void put_terminal(const sgfsi_report *r, const sgfsi_picture *p, FILE *f) {
    int64_t many = r->kind != NULL ? r->pictures : 1;
    if (strcmp(r->format, "text") == 0) {
        int lines = p->height / 20 + 4; /* a height has 20 for each parameter */
        fprintf(f, "set terminal dumb size 79,%d noenhanced\n", lines > 20 ? lines : 20);
    } else if (strcmp(r->format, "png") == 0) {
        fprintf(f, "set terminal pngcairo size 960,%d noenhanced font 'sans,13'\n",
                many > 1        ? 1100
                : p->height > 0 ? 2 * p->height
                                : 600);
    } else if (strcmp(r->format, "pdf") == 0) {
        fprintf(f, "set terminal pdfcairo size 16cm,%s noenhanced font 'sans,10'\n",
                many > 1 ? "20cm" : "10cm");
    } else {
        int width = r->kind != NULL ? 720 : p->kind->wide ? 760 : 380;
        int height = r->kind != NULL ? (many > 1 ? 840 : 420) : p->kind->wide ? 300 : 230;
        if (p->height > 0) height = p->height;
        fprintf(f,
                "set terminal svg size %d,%d dynamic noenhanced font 'system-ui, "
                "sans-serif,12'\n",
                width, height);
    }
}

static void put_manners(const sgfsi_report *r, FILE *f) {
    fputs("reset\nundefine $*\nset encoding utf8\n"
          "set border 3 lw 1 lc rgb " SGFSI_PLOT_INK "\n"
          "set tics out nomirror scale 0.5 textcolor rgb " SGFSI_PLOT_INK "\n"
          "set xlabel textcolor rgb " SGFSI_PLOT_INK "\nset ylabel textcolor rgb " SGFSI_PLOT_INK
          "\nset key textcolor rgb " SGFSI_PLOT_INK " top right samplen 1.5 spacing 1.1\n"
          "set title textcolor rgb " SGFSI_PLOT_INK "\nunset key\n",
          f);
    if (strcmp(r->format, "text") != 0)
        fputs("set grid y lt 1 lw 0.6 lc rgb " SGFSI_PLOT_FAINT "\nset xtics rotate by 0 "
              "offset 0,0.2\n",
              f);
    else fputs("set errorbars 0\n", f); /* ends would reach into other lines */
}

/* All pictures of a page, or those of the one kind side by side. */
static bool write_script(const sgfsi_report *r, sgfsi_buffer *script) {
    FILE *f = sgfsi_io_memory(script);
    if (f == NULL) return false;
    bool text = strcmp(r->format, "text") == 0, together = false;
    int64_t count = 0;
    for (int64_t i = 0; i < r->pictures; i++) count += r->picture[i].absent == NULL;
    fputs("set print '-'\n", f);
    for (int64_t i = 0; i < r->pictures; i++) {
        const sgfsi_picture *p = &r->picture[i];
        if (p->absent != NULL) continue;
        put_manners(r, f);
        if (!together) put_terminal(r, p, f);
        if (r->kind == NULL) fprintf(f, "print '%s%lld'\n", MARK, (long long)i);
        if (r->kind != NULL && count > 1 && !text && !together)
            fprintf(f, "set multiplot layout %lld,%d\n", (long long)(count + 1) / 2, 2);
        together = r->kind != NULL && count > 1 && !text;
        if (r->kind != NULL) {
            fputs("set title ", f);
            sgfsi_plot_text(f, p->title);
            fputc('\n', f);
        }
        fwrite(p->script.bytes, 1, p->script.used, f);
    }
    fputs(together ? "unset multiplot\nunset output\n" : "unset output\n", f);
    bool whole = !ferror(f);
    return fclose(f) == 0 && whole;
}

/* ---- what comes back ------------------------------------------------------------------------- */

static bool begins(const char *s, const char *end, const char *with) {
    size_t n = strlen(with);
    return (size_t)(end - s) >= n && memcmp(s, with, n) == 0;
}

/* "rgb(  0, 114, 178)" at s becomes "#0072b2"; returns the place behind it, or s. */
static const char *put_colour(FILE *f, const char *s) {
    unsigned red, green, blue;
    int length = 0;
    if (sscanf(s, "rgb(%u ,%u ,%u )%n", &red, &green, &blue, &length) != 3 || length == 0) return s;
    fprintf(f, "#%02x%02x%02x", red & 255, green & 255, blue & 255);
    return s + length;
}

/* The attributes of a group, less those that the whole picture has. */
static void put_group(FILE *f, const char *s, const char *end) {
    static const char *const common[] = {" fill=\"none\"", " color=\"black\"",
                                         " stroke-linecap=\"butt\"", " stroke-linejoin=\"miter\"",
                                         " font-family=\"system-ui, sans-serif\""};
    while (s < end) {
        const char *next = s;
        for (size_t k = 0; k < sizeof common / sizeof common[0]; k++)
            if (begins(s, end, common[k])) next = s + strlen(common[k]);
        if (next == s) next = put_colour(f, s);
        if (next == s) fputc(*next++, f);
        s = next;
    }
}

/* A point: in gnuplot's words a mark that is used, here the circle itself. */
static const char *put_point(FILE *f, const char *s, const char *end) {
    double x, y, size;
    const char *close = memchr(s, '>', (size_t)(end - s));
    const char *colour = close != NULL ? strstr(s, "color='") : NULL;
    const char *at = close != NULL ? strstr(s, "translate(") : NULL;
    char *rest;
    if (at == NULL || colour == NULL || at > close || colour > close) return s;
    x = strtod(at + strlen("translate("), &rest);
    y = *rest == ',' ? strtod(rest + 1, &rest) : 0;
    at = strstr(rest, "scale(");
    size = at != NULL && at < close ? strtod(at + strlen("scale("), NULL) : 1;
    fputs("<circle cx=\"", f);
    char text[3][SGFSI_NUM_CHARS];
    sgfsi_format_digits(text[0], x, 5);
    sgfsi_format_digits(text[1], y, 5);
    sgfsi_format_digits(text[2], size, 3);
    fprintf(f, "%s\" cy=\"%s\" r=\"%s\" stroke=\"none\" fill=\"", text[0], text[1], text[2]);
    put_colour(f, colour + strlen("color='"));
    fputs("\"/>", f);
    return close + 1;
}

/* What gnuplot drew, without empty groups, names, and what only its own viewer needs. */
static void put_drawing(FILE *f, const char *s, const char *end) {
    for (const char *next; s < end; s = next) {
        next = s;
        const char *close = *s == '<' ? memchr(s, '>', (size_t)(end - s)) : NULL;
        if (close != NULL && begins(s, end, "<g ")) {
            const char *inside = close + 1;
            while (inside < end && strchr(" \n\t", *inside) != NULL) inside++;
            const char *title = begins(inside, end, "<title>") ? strstr(inside, "</title>") : NULL;
            if (begins(inside, end, "</g>")) next = inside + strlen("</g>");
            else if (title != NULL) fputs("<g>", f), next = title + strlen("</title>");
            else put_group(f, s, close + 1), next = close + 1;
        } else if (close != NULL && begins(s, end, "<use ")) {
            next = put_point(f, s, end);
        } else if (*s == 'r') {
            next = put_colour(f, s);
        } else if (*s == '\n' || *s == '\t') {
            if (s[1] != '<' && s[1] != '\n' && s[1] != '\t') fputc(' ', f);
            next = s + 1;
        }
        if (next == s) fputc(*next++, f);
    }
}

void sgfsi_put_html(FILE *f, const char *text) {
    for (size_t n; *text != '\0'; text += n > 0 ? n : 1) {
        n = sgfsi_printable_character((const unsigned char *)text);
        if (n == 0) fputc('?', f);
        else if (*text == '&') fputs("&amp;", f);
        else if (*text == '<') fputs("&lt;", f);
        else if (*text == '>') fputs("&gt;", f);
        else if (*text == '"') fputs("&quot;", f);
        else if (*text == '\'') fputs("&#39;", f);
        else fwrite(text, 1, n, f);
    }
}

/* One picture of what was printed: for a page as a part of it, else as a file of its own. */
static sgfs_status take_svg(const sgfsi_report *r, const char *alt, const char *text, size_t length,
                            sgfsi_buffer *out, sgfs_err *err) {
    const char *end = text + length, *box = strstr(text, "viewBox=\""),
               *defs = strstr(text, "</defs>"), *last = end;
    while (last > text && !begins(last, end, "</svg>")) last--;
    if (box == NULL || defs == NULL || box > end || defs > last)
        return sgfsi_fail(err, SGFS_EDATA, "gnuplot printed something else than an SVG.");
    FILE *f = sgfsi_io_memory(out);
    if (f == NULL) return sgfsi_fail_memory(err, "a picture");
    const char *close = strchr(box + strlen("viewBox=\""), '"');
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" %.*s role=\"img\" fill=\"none\" "
            "font-size=\"12\" font-family=\"system-ui,sans-serif\" aria-label=\"",
            (int)(close + 1 - box), box);
    sgfsi_put_html(f, alt);
    fputs("\">", f);
    if (r->kind != NULL) {
        fputs("<style>svg{color:#4b5563}\n", f);
        for (const char *const *line = sgfsi_report_dark; *line != NULL; line++) fputs(*line, f);
        fputs("</style><rect class=\"ground\" width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
              f);
    }
    fputs("<g>", f); /* gnuplot's own lies before the definitions */
    put_drawing(f, defs + strlen("</defs>"), last);
    fputs("</svg>", f);
    if (r->kind != NULL) fputc('\n', f);
    fputc('\0', f);
    bool whole = !ferror(f);
    whole = fclose(f) == 0 && whole;
    if (whole) out->used--;
    return whole ? SGFS_OK : sgfsi_fail_memory(err, "a picture");
}

/* The pictures of a page, each behind its mark. */
static sgfs_status take_pictures(sgfsi_report *r, const char *text, const char *end,
                                 sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    const char *at = begins(text, end, MARK) ? text : strstr(text, "\n@@sgfs ");
    while (at != NULL && status == SGFS_OK) {
        at += *at == '\n';
        const char *next = strstr(at, "\n@@sgfs ");
        long long i = atoll(at + strlen(MARK));
        if (i < 0 || i >= r->pictures) break;
        sgfsi_buffer out = {NULL};
        status = take_svg(r, r->picture[i].alt, at, (size_t)((next != NULL ? next : end) - at),
                          &out, err);
        if (status == SGFS_OK) r->picture[i].svg = out.bytes;
        else free(out.bytes);
        at = next;
    }
    return status;
}

/* A picture in characters: without the blank lines and ends of lines around it. */
static sgfs_status take_text(sgfsi_report *r, const sgfsi_buffer *printed, sgfs_err *err) {
    FILE *f = sgfsi_io_memory(&r->drawn);
    if (f == NULL) return sgfsi_fail_memory(err, "a picture");
    for (const char *s = printed->bytes, *end; *s != '\0'; s = *end != '\0' ? end + 1 : end) {
        end = s + strcspn(s, "\n\f");
        const char *last = end;
        while (last > s && last[-1] == ' ') last--;
        if (last == s) continue;
        fwrite(s, 1, (size_t)(last - s), f);
        fputc('\n', f);
    }
    fputc('\0', f);
    bool whole = !ferror(f);
    return fclose(f) == 0 && whole ? SGFS_OK : sgfsi_fail_memory(err, "a picture");
}

sgfs_status sgfsi_plot_all(sgfsi_report *r, sgfs_err *err) {
    static const char *const words[] = {"gnuplot", "--default-settings", NULL};
    sgfsi_buffer script = {NULL}, printed = {NULL};
    sgfs_status status =
        write_script(r, &script) ? SGFS_OK : sgfsi_fail_memory(err, "the pictures");
    if (status == SGFS_OK)
        status = sgfsi_child_run(words, &script, SECONDS, sgfsi_job_stop(&r->job), &printed, err);
    free(script.bytes);
    if (status == SGFS_OK && r->kind == NULL)
        status = take_pictures(r, printed.bytes, printed.bytes + printed.used, err);
    else if (status == SGFS_OK && strcmp(r->format, "svg") == 0)
        status = take_svg(r, r->picture[0].alt, printed.bytes, printed.used, &r->drawn, err);
    else if (status == SGFS_OK && strcmp(r->format, "text") == 0)
        status = take_text(r, &printed, err);
    else if (status == SGFS_OK) r->drawn = printed, printed = (sgfsi_buffer){NULL};
    free(printed.bytes);
    return status;
}
