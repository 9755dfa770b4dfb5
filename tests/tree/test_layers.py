# SPDX-License-Identifier: MIT
"""Who may include whom, read from the #include lines (docs/architecture.md).

Data flows one way, a sampler never sees rows, a sink never sees a model, and a third-party header
appears in one source file. Adding an arrow is a decision: change the table here with it.
"""

import os
import pathlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("SGFS_SOURCE", Path(__file__).resolve().parents[2]))
PUBLIC = {"sgfs.h"}

# folder of src/ -> folders (or single headers) it may include besides itself, include/ and stages.h
ENGINE = ["base", "context", "rows", "model", "posterior", "fisher", "sampler", "sink",
          "diagnostics", "chain"]
MAY = {
    "base": set(),
    "context": {"base"},
    "rows": {"base", "context"},
    "model": {"base", "context", "rows"},
    "posterior": {"base", "context", "rows", "model"},
    "fisher": {"base", "context"},
    "sampler": {"base", "context", "fisher", "posterior"},
    "sink": {"base"},
    "diagnostics": {"base", "sink"},
    "chain": set(ENGINE) - {"chain"},
    "files": {"base", "context", "rows"},
    "jobs": set(ENGINE) | {"files"},
    "api": set(ENGINE) | {"files", "jobs"},
}

# third-party header -> the source files that may see it
ONLY_IN = {
    "cblas.h": {"src/context/device/blas.c"},
    "dlfcn.h": {"src/base/library.c"},
    "lapacke.h": {"src/context/device/blas.c"},
    "jansson.h": {"src/base/json.c"},
    "mpi.h": {"src/context/comm/mpi_plugin.c"},
    "netcdf.h": {"src/sink/netcdf.c"},
    "netcdf_mem.h": {"src/sink/netcdf.c"},
    "Random123/philox.h": {"src/base/rng.c"},
    "zlib.h": {"src/base/bytes.c"},
}

LIBC = set(
    "assert complex ctype dirent errno fcntl fenv float fnmatch getopt glob inttypes langinfo libgen"
    " limits locale math poll pthread sched setjmp signal spawn stdalign stdarg stdatomic stdbool stddef stdint stdio"
    " stdlib string strings termios threads time unistd sys/file sys/ioctl sys/mman sys/resource"
    " sys/stat sys/statvfs sys/syscall sys/time sys/types sys/uio sys/wait omp".split()
)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def sources(*folders):
    found = [p for f in folders for p in sorted((ROOT / f).rglob("*.[ch]"))]
    return [p.relative_to(ROOT).as_posix() for p in found]


def includes(path):
    """(bracket, header) of every #include line of a file."""
    return INCLUDE.findall((ROOT / path).read_text(encoding="utf-8"))


def refused(path):
    """The project's own headers that a file of src/ may not include."""
    layer = path.split("/")[1]
    if layer == "stages.h":
        return []
    allowed = MAY[layer] | {layer}
    return [
        header
        for bracket, header in includes(path)
        if bracket == '"'
        and header not in PUBLIC | {"stages.h"}
        and header not in allowed
        and header.split("/")[0] not in allowed
    ]


def test_every_folder_of_src_has_its_place():
    assert {p.split("/")[1] for p in sources("src")} == set(MAY) | {"stages.h"}


def test_the_arrows_have_no_circle():
    order = list(MAY)
    for layer, below in MAY.items():
        for other in below:
            assert order.index(other.split("/")[0]) < order.index(layer), (layer, other)


@pytest.mark.parametrize("path", sources("src"))
def test_a_layer_includes_only_what_lies_below(path):
    assert refused(path) == []


# How rows are stored is the business of rows and files; the others ask rows/rows.h.
STORAGE = re.compile(r"\b(?:d|data|whole|some)(?:->|\.)(table|subset|kept|spans?|row_bytes|target_col)\b")


def looks_into_storage(path):
    """What a file of src/ reads of the storage of rows (of a sgfs_data)."""
    if path.split("/")[1] in {"rows", "files"}:
        return []
    return STORAGE.findall(re.sub(r"/\*.*?\*/", "", (ROOT / path).read_text(), flags=re.S))


@pytest.mark.parametrize("path", sources("src"))
def test_only_rows_and_files_know_how_rows_are_stored(path):
    assert looks_into_storage(path) == []


@pytest.mark.parametrize("path", sources("src"))
def test_own_headers_are_named_from_src(path):
    for bracket, header in includes(path):
        if bracket == '"' and header not in PUBLIC:
            assert (ROOT / "src" / header).is_file(), header
            assert ".." not in header


def symbols(path):
    """Names that an object file defines, and names of ours that it needs from others."""
    listed = subprocess.run(["nm", "-P", path], capture_output=True, text=True, check=True).stdout
    rows = [line.split()[:2] for line in listed.splitlines()]
    ours = [(name, kind) for name, kind in rows if name.startswith(("sgfs_", "sgfsi_"))]
    return {n for n, k in ours if k in "TDRBGSC"}, {n for n, k in ours if k == "U"}


def needs_above(layer_of, needed_by):
    """(layer, symbol, layer of the symbol) of every symbol that a layer may not need."""
    found = []
    for layer, names in needed_by.items():
        allowed = {header.split("/")[0] for header in MAY[layer]} | {layer}
        found += [(layer, n, layer_of[n]) for n in sorted(names)
                  if n in layer_of and layer_of[n] not in allowed
                  and (n.startswith("sgfsi_") or layer in ENGINE)]  # jobs may use sgfs.h
    return found


def test_no_layer_needs_a_symbol_from_above():
    """What an `extern` in the wrong place would hide from the #include lines."""
    build = pathlib.Path(os.environ.get("SGFS_BUILD", ROOT / "build"))
    objects = sorted((build / "CMakeFiles" / "sgfs_objects.dir" / "src").rglob("*.o"))
    if not objects:
        pytest.skip("no object files: build first")
    layer_of, needed_by = {}, {}
    for path in objects:
        layer = path.relative_to(build / "CMakeFiles" / "sgfs_objects.dir" / "src").parts[0]
        if layer not in MAY:
            continue
        defined, needed = symbols(path)
        layer_of.update(dict.fromkeys(defined, layer))
        needed_by.setdefault(layer, set()).update(needed)
    assert needs_above(layer_of, needed_by) == []
    assert needs_above({"sgfsi_x": "jobs"}, {"chain": {"sgfsi_x"}}) == [("chain", "sgfsi_x", "jobs")]


@pytest.mark.parametrize("folder", ["cli", "examples"])
def test_programs_use_the_public_header_only(folder):
    own = {p.split("/")[-1] for p in sources(folder) if p.endswith(".h")}
    if folder == "cli":
        # Words for a mistyped one, and characters for a terminal: functions of their arguments alone, which the program
        # shares with the library's own sentences. As public functions nobody but this program would call them.
        own |= {"base/nearest.h", "base/printable.h"}
    for path in sources(folder):
        for bracket, header in includes(path):
            if bracket == '"':
                assert header in own | {"sgfs.h"}, (path, header)
            else:
                assert header == "sgfs.h" or header[:-2] in LIBC, (path, header)


def test_the_public_header_stands_alone():
    assert {h for _, h in includes("include/sgfs.h")} <= {"stdbool.h", "stddef.h", "stdint.h"}


def test_third_party_headers_appear_in_one_file_each():
    seen = {}
    for path in sources("src", "cli", "examples", "include"):
        for bracket, header in includes(path):
            if bracket == "<" and header[:-2] not in LIBC and header != "sgfs.h":
                seen.setdefault(header, set()).add(path)
    assert seen == ONLY_IN


def test_the_library_never_prints_exits_or_takes_signals():
    call = re.compile(r"(?<![\w.>])(printf|puts|putchar|exit|abort|signal|sigaction)\s*\(")
    for path in sources("src"):
        text = re.sub(r"/\*.*?\*/|\"(\\.|[^\"\\])*\"", "", (ROOT / path).read_text(), flags=re.S)
        assert not call.search(text) and not re.search(r"\bstd(out|err)\b", text), path


# Who decides how many threads there are, and who looks how many somebody else has decided on.
THREADS = {
    "src/base/threads.c": {"omp_get_num_procs"},
    "src/base/memory.c": {"_SC_PHYS_PAGES"},
    "src/context/comm/mpi_plugin.c": {"sched_getaffinity"},
    "src/context/context.c": {"omp_get_max_active_levels", "omp_set_max_active_levels"},
    "src/context/device/blas.c": {"openblas_get_num_threads", "openblas_set_num_threads"},
}


def wall_clocks(text):
    """What tells the time of day, which anybody may set."""
    return re.findall(r"\b(?:CLOCK_REALTIME\w*|(?:gettimeofday|ftime|time|timespec_get|alarm)(?=\s*\())", text)


def test_no_clock_that_can_be_set_decides_anything():
    """Limits, progress and times of states follow the monotonic clock; the header alone tells the time of day."""
    found = {path: wall_clocks(re.sub(r"/\*.*?\*/|\"(\\.|[^\"\\])*\"", "", (ROOT / path).read_text(), flags=re.S))
             for path in sources("src", "cli")}
    assert {path: calls for path, calls in found.items() if calls} == {"src/chain/header.c": ["time"]}
    assert wall_clocks("clock_gettime(CLOCK_REALTIME, &t); x = time(NULL);") == ["CLOCK_REALTIME", "time"]


def test_threads_are_decided_in_one_place():
    policy = re.compile(r"\b(omp_get_max_\w+|omp_get_num_procs|omp_set_\w+|openblas_[gs]et_num_threads"
                        r"|sched_getaffinity|_SC_NPROCESSORS_\w+|_SC_PHYS_PAGES)\b")
    for path in sources("src", "cli"):
        text = re.sub(r"/\*.*?\*/", "", (ROOT / path).read_text(), flags=re.S)
        assert set(policy.findall(text)) <= THREADS.get(path, set()), path
        if path != "src/base/threads.c":
            asks = re.findall(r"\bsgfsi_threads\s*\(", text)
            assert len(asks) == (path == "src/context/context.c") or path == "src/base/threads.h", path
        for line in re.findall(r"#pragma omp parallel.*(?:\\\n.*)*", text):
            assert "num_threads" in line, (path, line)


def statistics_by_literal(text, known):
    """Names of statistics that stand where a constant of stages.h belongs."""
    looked_up = re.findall(r'(?:sgfsi_draws_stat|sgfsi_count_equal|sum_of)\([^;"]*"(\w+)"', text)
    listed = [n for lists in re.findall(r"\bstats\[\] = \{(.*?)\};", text, re.S) for n in re.findall(r'"(\w+)"', lists)]
    return looked_up + [n for n in listed if n in known]


def test_statistics_that_others_read_are_named_in_one_place():
    """A sampler says which of its statistics is the energy by the constant it lists: stages.h has them all."""
    known = set(re.findall(r'#define SGFSI_STAT_\w+ +"(\w+)"', (ROOT / "src/stages.h").read_text()))
    assert {"lp", "energy", "diverging"} <= known
    for path in sources("src"):
        assert statistics_by_literal((ROOT / path).read_text(), known) == [], path
    assert statistics_by_literal('sgfsi_draws_stat(d, "energy")', known) == ["energy"]
    assert statistics_by_literal('stats[] = {[LP] = "lp", "own"};', {"lp"}) == ["lp"]


# Options of samplers whose rows stand in a header below src/sampler, with those who read them there.
BELOW_SAMPLERS = {"src/posterior/anchor.h", "src/posterior/anchor.c", "src/posterior/remembered.c", "src/model/scales.h",
                  "src/model/scales.c"}


def options_of_samplers(text):
    """Keys and flags of single samplers that stand in code; sampler.kind is the run's."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.findall(r'"sampler\.(?!kind\b|")\w+|--(?:alpha|step|epsilon|fisher-\w+|anchor-\w+|max-depth)\b', text)


def test_the_engine_knows_no_options_of_single_samplers():
    """A plan holds what was chosen, and a sampler says what reads, helps and describes it."""
    for path in sources(*(f"src/{layer}" for layer in ENGINE if layer not in ("sampler", "fisher", "sink", "diagnostics"))):
        if path not in BELOW_SAMPLERS:
            assert options_of_samplers((ROOT / path).read_text()) == [], path
    assert options_of_samplers('num(cfg, "sampler.alpha"); text(cfg, "sampler.kind"); "try --alpha 2"') == \
        ['"sampler.alpha', "--alpha"]


def test_numbers_of_a_matrix_are_its_kinds_own():
    """Nobody but src/fisher looks into an sgfs_sym: they may lie in the memory of another device."""
    inside = re.compile(r"(?:\.|->)store\b")
    for path in sources("src", "cli"):
        assert path.startswith("src/fisher/") or not inside.search((ROOT / path).read_text()), path
    assert inside.search((ROOT / "src/fisher/diag.c").read_text())


def too_wide(text):
    return [number for number, line in enumerate(text.split("\n"), 1) if len(line) > 100]


@pytest.mark.parametrize("folder", ["src", "include", "cli", "examples", "tests", "bench", "fuzz"])
def test_lines_of_c_have_at_most_100_columns(folder):
    """clang-format leaves comments as they are."""
    found = [p for kind in ("*.[ch]", "*.cu", "*.cuh") for p in sorted((ROOT / folder).rglob(kind))]
    assert {str(p): too_wide(p.read_text(encoding="utf-8")) for p in found if too_wide(p.read_text(encoding="utf-8"))} == {}
    assert too_wide("x" * 100 + "\n" + "x" * 101) == [2]


def strangers(text, files):
    """Files of ours that the comments of C name, and that there are not: `alias.h`, `rows/alias.h`."""
    comments = "\n".join(re.findall(r"/\*.*?\*/", text, flags=re.S))
    named = set(re.findall(r"(?<![\w./*<-])((?:[a-z_]+/)*[a-z]\w+\.(?:c|h|cu|cuh|py))\b(?!\w)", comments))
    return sorted(n for n in named if not any(f == n or f.endswith("/" + n) for f in files))


def test_comments_name_files_that_there_are():
    found = [p.relative_to(ROOT).as_posix() for folder in ("src", "include", "cli", "tests", "bench", "fuzz", "examples",
             "experiments", "python") for p in (ROOT / folder).rglob("*.*")]
    known = set(found) | set(ONLY_IN) | {"cmocka.h"}
    for path in found:
        if path.endswith((".c", ".h", ".cu", ".cuh")) and path.startswith(("src", "cli", "tests", "bench", "fuzz")):
            assert strangers((ROOT / path).read_text(encoding="utf-8"), known) == [], path
    assert strangers("/* veto.h, rows/alias.h */ no.c", {"src/rows/alias.h"}) == ["veto.h"]


def test_this_file_can_fail(tmp_path, monkeypatch):
    """A model that sees a sampler, and a sampler that sees rows, are caught."""
    for layer, header in [("model", "sampler/sampler.h"), ("sampler", "rows/batch.h"),
                          ("sampler", "model/glm.h"), ("base", "context/device/device.h"),
                          ("chain", "files/files.h"), ("chain", "jobs/newrows.h")]:
        path = tmp_path / "src" / layer / "bad.c"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#include <math.h>\n#  include "{header}"\n', encoding="utf-8")
        monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
        assert refused(f"src/{layer}/bad.c") == [header]


def test_the_check_of_storage_can_fail(tmp_path, monkeypatch):
    """A model that reads the table, or the list of rows of a view, is caught."""
    path = tmp_path / "src" / "model" / "bad.c"
    path.parent.mkdir(parents=True)
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    for line, seen in [("n = d->table.parts;", "table"), ("i = m->data->subset[i];", "subset"),
                       ("if (d->target_col < 0)", "target_col"), ("t = &m->data->table;", "table")]:
        path.write_text(line, encoding="utf-8")
        assert looks_into_storage("src/model/bad.c") == [seen]
    path.write_text("/* d->table.parts */ n = m->data->N;", encoding="utf-8")
    assert looks_into_storage("src/model/bad.c") == []
