/* SPDX-License-Identifier: MIT
 * report.h: runs as a page that people read, or as one picture of it.
 *
 *     runs -> what they say (report.c) -> scripts of pictures (pictures_*.c) -> gnuplot (plot.c)
 *          -> one page (page.c), or the picture itself
 *
 * Every number is made here or below; gnuplot only draws lines. What comes from files is text
 * everywhere: sgfsi_put_html for the page, sgfsi_plot_text for scripts.
 */
#pragma once

#include "base/io.h"
#include "diagnostics/interval.h"
#include "diagnostics/moments.h"
#include "diagnostics/reference.h"
#include "jobs/job.h"
#include "sink/effects.h"

typedef struct sgfsi_report sgfsi_report;
typedef struct sgfsi_picture sgfsi_picture;

/* What a picture is of. */
typedef enum sgfsi_picture_of {
    SGFSI_OF_PARAMETER, /* one for each parameter that is shown */
    SGFSI_OF_PAIR,      /* one for each pair of them */
    SGFSI_OF_TERM,      /* one for each effect that varies between the groups of a factor */
    SGFSI_OF_RUN        /* one */
} sgfsi_picture_of;

/* A kind of picture: a row of sgfsi_pictures (pictures.c). */
typedef struct sgfsi_picture_kind {
    const char *name, *help;
    const char *title; /* over it; that of a parameter is followed by the parameter's name */
    const char *note;  /* what to look for, one or two sentences */
    sgfsi_picture_of of;
    bool wide; /* it takes the whole width of the page */
    /* Write the data and the plot command, and say in p->alt what is to be seen. NULL, or a
     * sentence that says why there is nothing to draw, without having written anything. */
    const char *(*draw)(sgfsi_report *r, sgfsi_picture *p, FILE *f);
} sgfsi_picture_kind;

extern const sgfsi_picture_kind *const sgfsi_pictures[]; /* NULL-terminated */

struct sgfsi_picture {
    const sgfsi_picture_kind *kind;
    int64_t param, other; /* parameters, or term and effect; -1: none */
    char title[256], alt[600];
    const char *absent; /* why there is nothing to draw; NULL: there is */
    bool lacks_memory;  /* a curve is not there for want of memory */
    int height;         /* of its own; 0: that of all */
    sgfsi_buffer script;
    char *svg; /* as it stands in the page; malloc'ed; NULL: it was not drawn */
};

/* One of the runs. */
typedef struct sgfsi_report_run {
    const sgfs_draws *draws;
    sgfsi_used used;
    sgfs_summary *summary;
    sgfsi_moments moments;       /* cov: NULL for many parameters */
    const char *sampler, *label; /* label: of curves and lines of tables */
    double E1, E2,
        bias; /* from the reference; bias: the largest of a mean, in sd; NaN: not known */
    bool is_reference;
} sgfsi_report_run;

/* What is shown of a parameter of the first run. */
typedef struct sgfsi_effect {
    sgfsi_interval own, ratio; /* ratio: NaN where there is none */
    double above;              /* share of the draws above 0 */
} sgfsi_effect;

struct sgfsi_report {
    sgfs_job job;
    int64_t runs;
    sgfsi_report_run *run;
    const sgfsi_picture_kind *kind; /* NULL: the page */
    const char *out;                /* NULL: text */
    const char *format;             /* "html", "svg", "png", "pdf", "text" */
    double share;                   /* of the intervals */
    sgfsi_interval_kind interval_kind;
    const char *interval;  /* what they are called */
    const char *ratio;     /* what exp of a coefficient is called; NULL: nothing */
    sgfsi_effect *effect;  /* D */
    sgfsi_effects groups;  /* of the first run */
    int64_t show;          /* parameters with pictures */
    bool named;            /* by --params */
    int64_t *shown;        /* show of them, in their own order */
    sgfsi_trace *trace;    /* of the parameter at hand, in the first run */
    int64_t loaded;        /* which one that is; -1: none */
    const double **column; /* chains: where it begins */
    double *sorted;        /* all draws of it in order */
    sgfsi_reference reference;
    bool has_reference;
    const char *reference_name;
    sgfs_job *prediction; /* NULL: there is no file of new rows */
    const char *data;     /* that file */
    int64_t pictures, pictures_room;
    sgfsi_picture *picture;
    const char *without; /* why there are no pictures; "" */
    sgfsi_buffer drawn;  /* the page, or the picture */
    sgfs_report result;
};

/* The trace of a parameter of the first run into r->trace, and its draws in order. */
void sgfsi_report_load(sgfsi_report *r, int64_t param);
/* Every run's parameters among which pairs and the spectrum are looked for. */
enum { SGFSI_REPORT_MOST = 400 };

/* ---- plot.c: gnuplot ------------------------------------------------------------------------- */

/* A text in quotes, such that it stays one. */
void sgfsi_plot_text(FILE *f, const char *text);
/* A number, and a blank. */
void sgfsi_plot_num(FILE *f, double x);
/* The k-th colour of curves, in quotes. */
const char *sgfsi_plot_colour(int64_t k);
#define SGFSI_PLOT_INK   "'#4b5563'" /* axes and words */
#define SGFSI_PLOT_FAINT "'#d7dbe0'" /* lines of the grid */
#define SGFSI_PLOT_MID   "'#8a93a0'" /* what stands behind */
/* Have all pictures with a script drawn: in r->picture[].svg for a page, else in r->drawn. */
sgfs_status sgfsi_plot_all(sgfsi_report *r, sgfs_err *err);

/* ---- page.c ---------------------------------------------------------------------------------- */

/* The whole page into r->drawn. */
sgfs_status sgfsi_report_page(sgfsi_report *r, sgfs_err *err);
void sgfsi_put_html(FILE *f, const char *text); /* as text, also in quotes */
/* style.c, each ended by NULL: how the page looks, what it does, and colours on dark ground, which
 * files of pictures have as well. */
extern const char *const sgfsi_report_style[], *const sgfsi_report_code[],
                                                   *const sgfsi_report_dark[];

/* ---- several runs (several.c) ---------------------------------------------------------------- */

/* The reference, and how far the runs are from it. */
sgfs_status sgfsi_report_compare(sgfsi_report *r, sgfs_err *err);
/* E1 and E2 of the moments of a run's first draws against the seconds they took: at most `most`
 * points of second, E1, E2. Returns how many; -1: memory ran out. */
int64_t sgfsi_report_errors(const sgfsi_report *r, const sgfsi_report_run *run, int64_t most,
                            double *points);
