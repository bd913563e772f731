# `make demo` and `make test` need Rust, a C compiler and a Python of at least 3.12, and install the rest into
# .venv. `make help` lists the targets.

VENV := .venv
VENV_PYTHON := $(VENV)/bin/python
ZARR_SUITE_VENV := .tools/zarr-suite/venv
SATPY_VENV := .tools/satpy/venv
WHEEL_CRATES := ioengine codecs zarr-front convert swath bindings-py
WHEEL_SOURCES := Cargo.toml Cargo.lock $(shell find $(WHEEL_CRATES:%=crates/%) -type f \
	-not -path '*/tests/*' -not -path '*/target/*' \
	\( -name '*.rs' -o -name '*.c' -o -name '*.h' -o -name '*.py' -o -name '*.pyi' -o -name 'py.typed' -o -name '*.tsv' -o -name '*.toml' \))
WHEEL_FOLDER := target/wheels
PYTHON_SOURCES := crates/bindings-py crates/convert demo benches docs/examples
PYTHON_PEERS := tensorstore zarr_python zarrs_python zarrista
RUST_PEERS := zarrs object_store glommio
CLOUD_PEERS := zarr_obstore
RECHUNK_PEERS := zarr_dask cubed rechunker
GRIB_PEERS := eccodes gribberish
BENCH := $(VENV_PYTHON) -m benches.runner
FUZZ_SMOKE_SECONDS ?= 5
FUZZ_FULL_SECONDS ?= 60

# PyO3 builds against the environment's Python, whatever is on PATH.
export PYO3_PYTHON := $(abspath $(VENV_PYTHON))

PIP := $(VENV_PYTHON) -m pip --disable-pip-version-check --quiet
MATURIN := $(VENV_PYTHON) -m maturin build --quiet --locked --release \
	--manifest-path crates/bindings-py/Cargo.toml --interpreter $(VENV_PYTHON)

.DELETE_ON_ERROR:
.PHONY: help demo demo-seviri test test-rust test-python test-cloud test-zarr test-zarr-full test-xarray test-train test-convert test-nat test-full lint check-windows fuzz-smoke fuzz-full wheel sdist bench bench-quick bench-prepare bench-readers \
	bench-cloud bench-cloud-quick bench-cloud-readers bench-writing bench-rechunk bench-converting bench-hooks bench-training bench-grib bench-grib-readers bench-convert bench-nat \
	instructions instructions-update clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-19s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.wheel ## race swath against zarr-python and TensorStore; DATA=path to do it on your own array
	$(VENV_PYTHON) -m demo $(if $(DATA),--data "$(DATA)") $(DEMO_FLAGS)

demo-seviri: $(VENV)/.wheel ## the demo on real SEVIRI HRV images; SOURCE=path/to/ocf_seviri_hrv.zarr
	$(VENV_PYTHON) -m demo.prepare_seviri "$(SOURCE)" .demo/seviri.zarr
	$(VENV_PYTHON) -m demo --data .demo/seviri.zarr --count 640 --picture .demo/seviri.png $(DEMO_FLAGS)

test: test-rust test-python ## every Rust and Python test

test-rust:
	cargo test --locked --workspace --exclude swath-bindings-py --features swath-cli/icechunk

test-python: $(VENV)/.wheel $(VENV)/.dev-requirements
	$(VENV_PYTHON) -m pytest

test-xarray: $(VENV)/.wheel $(VENV)/.xarray-requirements ## xarray's own tests of Zarr, read by its engine swath
	PYTHONPATH=scripts $(VENV_PYTHON) -m pytest -p xarray_suite -o addopts= -o xfail_strict=false -W ignore -q \
		--pyargs xarray.tests.test_backends xarray.tests.test_backends_datatree -k 'zarr and not Region' $(XARRAY_FLAGS)

test-train: $(VENV)/.wheel $(VENV)/.train-requirements ## PyTorch's DataLoader with workers of every kind, and batches of tensors (installs PyTorch: 5 GB)
	SWATH_LOADER_RUNS=$${SWATH_LOADER_RUNS:-12} $(VENV_PYTHON) -m pytest \
		crates/bindings-py/tests/test_loaders.py crates/bindings-py/tests/test_train_torch.py \
		crates/bindings-py/tests/test_train_examples.py

test-convert: $(VENV)/.convert-requirements ## conversions of the shared GRIB files against cfgrib (installs cfgrib and ecCodes)
	cargo build --locked -p swath-cli
	$(VENV_PYTHON) crates/convert/tests/python/compare_cfgrib.py target/debug/swath \
		$$(find "$${SWATH_TEST_DATA:-../shared/data}" -path '*/grib*/*' -type f ! -name '*.idx' ! -name '*Milton*' | sort)

test-nat: $(SATPY_VENV)/.requirements ## conversions of whole SEVIRI images against satpy and GDAL (installs satpy)
	cargo build --release --locked -p swath-cli
	$(SATPY_VENV)/bin/python -m pytest crates/convert/tests/nat

test-cloud: ## every test of cloud reads, against every server (installs the Azure emulator: needs npm)
	scripts/install-azurite
	SWATH_CLOUD_TESTS=all cargo test --locked -p swath-cloud-testing

test-zarr: $(ZARR_SUITE_VENV)/.wheel ## zarr-python's own tests of pipelines, codecs, indexing and stores, with swath's
	scripts/zarr-suite $(ZARR_SUITE_VENV) named

test-zarr-full: $(ZARR_SUITE_VENV)/.wheel ## all of zarr-python's own tests, with swath's pipeline as the default
	scripts/zarr-suite $(ZARR_SUITE_VENV) all

test-full: test test-zarr-full test-xarray fuzz-full ## every test, the random ones at length, zarr-python's whole suite, each fuzz target for FUZZ_FULL_SECONDS (60)
# swath-convert without its features, which others of the workspace turn on.
	cargo test --locked -p swath-convert --lib
	SWATH_KILLS=200 cargo test --locked -p swath-zarr-front --all-features --test it killed_writers
	SWATH_CASES=20000 $(VENV_PYTHON) -m pytest crates/bindings-py/tests/test_peers.py \
		crates/bindings-py/tests/test_writing.py crates/bindings-py/tests/test_writing_selections.py \
		-k "both_write or every_library or sequences_of_writes"
	SWATH_LEAK_TURNS=100000 $(VENV_PYTHON) -m pytest crates/bindings-py/tests/test_leaks.py
	SWATH_LOADER_RUNS=200 $(MAKE) test-train

lint: $(VENV)/.dev-requirements ## formatting, lints, docs, types and house rules
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --all-features --no-deps --lib
	cargo run --locked --quiet -p swath-tidy
	$(VENV_PYTHON) -m ruff check $(PYTHON_SOURCES)
	$(VENV_PYTHON) -m ruff format --check $(PYTHON_SOURCES)
	$(VENV_PYTHON) -m mypy

check-windows: ## check that everything compiles for Windows, where Rust has that target and there is MinGW's C compiler
	scripts/check-windows

fuzz-smoke: ## each fuzz target for FUZZ_SMOKE_SECONDS (5)
	scripts/fuzz $(FUZZ_SMOKE_SECONDS)

fuzz-full:
	scripts/fuzz $(FUZZ_FULL_SECONDS)

wheel: $(VENV)/.wheel ## build the wheel into target/wheels
	@ls $(WHEEL_FOLDER)/swath-*.whl

sdist: $(VENV)/.demo-requirements ## make the source distribution in target/wheels: it builds with only Rust, a C compiler and Python
	rm -f $(WHEEL_FOLDER)/swath-*.tar.gz
	$(VENV_PYTHON) -m maturin sdist --manifest-path crates/bindings-py/Cargo.toml --out $(WHEEL_FOLDER)
	@ls $(WHEEL_FOLDER)/swath-*.tar.gz

bench: bench-readers ## race every reader on every workload, write docs/performance.md; BENCH_FLAGS='--data PATH'
	$(BENCH) run $(BENCH_FLAGS)

bench-quick: bench-readers ## some readers on some workloads, report in .bench/report
	$(BENCH) run --quick $(BENCH_FLAGS)

bench-prepare: $(VENV)/.wheel ## write the benches' data
	$(BENCH) prepare $(BENCH_FLAGS)

# A peer that does not build or install here is left out of the tables, which then say so.
bench-readers: $(VENV)/.wheel $(PYTHON_PEERS:%=benches/peers/%/.venv/.requirements)
	cargo build --release --locked --manifest-path benches/Cargo.toml --target-dir benches/target
	@for peer in $(RUST_PEERS); do \
		cargo build --release --locked --manifest-path benches/peers/$$peer/Cargo.toml \
			--target-dir benches/peers/$$peer/target \
			|| echo "bench: $$peer does not build here: left out" >&2; \
	done

bench-cloud: bench-cloud-readers ## race reads from servers on loopback, write docs/performance-cloud.md
	$(VENV_PYTHON) -m benches.cloud run $(BENCH_FLAGS)

bench-cloud-quick: bench-cloud-readers ## fewer servers and readers, report in .bench/report
	$(VENV_PYTHON) -m benches.cloud run --quick $(BENCH_FLAGS)

bench-cloud-readers: $(VENV)/.wheel benches/peers/tensorstore/.venv/.requirements \
		$(CLOUD_PEERS:%=benches/cloud/peers/%/.venv/.requirements)
	cargo build --release --locked --manifest-path benches/cloud/Cargo.toml --target-dir benches/cloud/target
	@cargo build --release --locked --manifest-path benches/cloud/peers/object_store/Cargo.toml \
		--target-dir benches/cloud/peers/object_store/target \
		|| echo "bench: object_store does not build here: left out" >&2

bench-writing: $(VENV)/.wheel $(VENV)/.dev-requirements ## race writers of whole arrays, write docs/performance-writing.md
	cargo build --release --locked --manifest-path benches/Cargo.toml --target-dir benches/target --bin write-floor
	$(VENV_PYTHON) -m benches.writing $(BENCH_FLAGS)

bench-rechunk: $(VENV)/.dev-requirements $(RECHUNK_PEERS:%=benches/rechunk/peers/%/.venv/.requirements) ## race rechunkers of 2 GB within 512 MB, write docs/performance-rechunk.md
	cargo build --release --locked -p swath-cli
	$(VENV_PYTHON) -m benches.rechunk $(BENCH_FLAGS)

bench-converting: $(VENV)/.wheel $(VENV)/.dev-requirements ## time reads with work fused in, write docs/performance-fused-reads.md
	$(VENV_PYTHON) -m benches.converting $(BENCH_FLAGS)

bench-hooks: $(VENV)/.wheel $(VENV)/.dev-requirements benches/peers/zarrs_python/.venv/.requirements ## race reads through zarr-python and xarray, write docs/performance-hooks.md
	$(VENV_PYTHON) -m benches.hooks $(BENCH_FLAGS)

bench-training: $(VENV)/.wheel $(VENV)/.bench-training-requirements ## race training loaders (installs PyTorch: 5 GB), write docs/performance-training.md
	cargo build --release --locked --manifest-path benches/Cargo.toml --target-dir benches/target --bin floor
	cargo build --release --locked --manifest-path benches/cloud/Cargo.toml --target-dir benches/cloud/target --bin cloud-server
	$(VENV_PYTHON) -m benches.training $(BENCH_FLAGS)

bench-grib: bench-grib-readers ## race readers of GRIB messages and files, write docs/performance-grib.md
	$(VENV_PYTHON) -m benches.grib $(BENCH_FLAGS)

bench-convert: bench-grib-readers ## race converters of 2 GB of GRIB to Zarr, write docs/performance-convert.md
	cargo build --release --locked -p swath-cli
	$(VENV_PYTHON) -m benches.grib.conversion $(BENCH_FLAGS)

bench-nat: $(VENV)/.dev-requirements $(SATPY_VENV)/.requirements ## race a whole SEVIRI image to Zarr against its floor and satpy, write docs/performance-nat.md
	cargo build --release --locked -p swath-cli
	cargo build --release --locked -p swath-convert --example nat_floor
	$(VENV_PYTHON) -m benches.nat --satpy $(SATPY_VENV)/bin/python $(BENCH_FLAGS)

bench-grib-readers: $(VENV)/.dev-requirements $(GRIB_PEERS:%=benches/grib/peers/%/.venv/.requirements)
	cargo build --release --locked --manifest-path benches/grib/reader/Cargo.toml --target-dir benches/grib/reader/target

instructions: ## count the hot paths' instructions and compare them with benches/instructions/counts.toml
	scripts/instructions

instructions-update: ## write the counts that differ; NOTE='why', where they grew by over 5 %
	scripts/instructions --update --note "$$NOTE"

clean: ## remove what was built, installed and prepared
	rm -rf target benches/target benches/peers/*/target benches/peers/*/.venv \
		benches/cloud/target benches/cloud/peers/*/target benches/cloud/peers/*/.venv benches/rechunk/peers/*/.venv \
		benches/grib/peers/*/.venv benches/grib/reader/target fuzz/target $(VENV) .tools .demo .bench

# Stamps: each file is the time when its step was last done.

$(VENV)/.made: scripts/make-venv scripts/find-python
	scripts/make-venv $(VENV)
	@touch $@

$(VENV)/.demo-requirements: $(VENV)/.made python/requirements-demo.txt python/constraints.txt
	$(PIP) install -r python/requirements-demo.txt -c python/constraints.txt
	@touch $@

$(VENV)/.dev-requirements: $(VENV)/.demo-requirements python/requirements-dev.txt
	$(PIP) install -r python/requirements-dev.txt -c python/constraints.txt
	@touch $@

$(VENV)/.xarray-requirements: $(VENV)/.dev-requirements python/requirements-xarray.txt
	$(PIP) install -r python/requirements-xarray.txt -c python/constraints.txt
	@touch $@

$(VENV)/.train-requirements: $(VENV)/.dev-requirements python/requirements-train.txt
	$(PIP) install -r python/requirements-train.txt -c python/constraints.txt
	@touch $@

$(VENV)/.convert-requirements: $(VENV)/.dev-requirements python/requirements-convert.txt
	$(PIP) install -r python/requirements-convert.txt -c python/constraints.txt
	@touch $@

$(VENV)/.bench-training-requirements: $(VENV)/.train-requirements python/requirements-bench-training.txt
	$(PIP) install -r python/requirements-bench-training.txt -c python/constraints.txt
	@touch $@

$(VENV)/.wheel: $(VENV)/.demo-requirements $(WHEEL_SOURCES)
	rm -f $(WHEEL_FOLDER)/swath-*.whl
	$(MATURIN) --out $(WHEEL_FOLDER)
	$(PIP) install --force-reinstall --no-deps $(WHEEL_FOLDER)/swath-*.whl
	@touch $@

$(SATPY_VENV)/.requirements: python/requirements-satpy.txt
	scripts/make-venv $(SATPY_VENV)
	$(SATPY_VENV)/bin/python -m pip --disable-pip-version-check --quiet install -r python/requirements-satpy.txt
	@touch $@

# zarr-python's tests need other versions of their tools than ours.
$(ZARR_SUITE_VENV)/.wheel: $(VENV)/.wheel python/requirements-zarr-suite.txt python/constraints.txt
	scripts/make-venv $(ZARR_SUITE_VENV)
	$(ZARR_SUITE_VENV)/bin/python -m pip --disable-pip-version-check --quiet install \
		-r python/requirements-zarr-suite.txt -c python/constraints.txt
	$(ZARR_SUITE_VENV)/bin/python -m pip --disable-pip-version-check --quiet install \
		--force-reinstall --no-deps $(WHEEL_FOLDER)/swath-*.whl
	@touch $@

benches/peers/%/.venv/.requirements: benches/peers/%/requirements.txt scripts/make-venv scripts/find-python
	scripts/make-venv $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check --quiet install -r $< \
		|| echo "bench: $* does not install here: left out" >&2
	@touch $@

benches/cloud/peers/%/.venv/.requirements: benches/cloud/peers/%/requirements.txt scripts/make-venv scripts/find-python
	scripts/make-venv $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check --quiet install -r $< \
		|| echo "bench: $* does not install here: left out" >&2
	@touch $@

benches/rechunk/peers/%/.venv/.requirements: benches/rechunk/peers/%/requirements.txt scripts/make-venv scripts/find-python
	scripts/make-venv $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check --quiet install -r $< \
		|| echo "bench: $* does not install here: left out" >&2
	@touch $@

benches/grib/peers/%/.venv/.requirements: benches/grib/peers/%/requirements.txt scripts/make-venv scripts/find-python
	scripts/make-venv $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check --quiet install -r $< \
		|| echo "bench: $* does not install here: left out" >&2
	@touch $@
