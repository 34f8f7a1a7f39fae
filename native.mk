# Builds argon2-cffi-bindings for the CPU of this machine. Makefile includes this file.
#
# Both builds stay on disk, PyPI's in wheel/ and the one for this CPU in native/, and each can be
# imported by itself through PYTHONPATH. The environment holds one of them, replaced as the last step.

ARGON2 := $(VENV)/argon2
REQUIREMENT := $(ARGON2)/requirement.txt
NATIVE_LOG := $(ARGON2)/native.log

# The build dies on a CPU that lacks a feature of this one: the names of its stamps sum them up.
CPU_SUM := $(shell { uname -m; \
	grep -E '^(model name|flags|Features|CPU (implementer|part))' /proc/cpuinfo | sort -u; \
	sysctl machdep.cpu hw.optional; } 2>/dev/null | cksum | cut -d ' ' -f 1)
WHEEL_BUILT := $(ARGON2)/wheel.built
NATIVE_BUILT := $(ARGON2)/native-$(CPU_SUM).built
NATIVE_READY := $(ARGON2)/native-$(CPU_SUM).ready
# Holds what `make run` has to say: nothing, or in one line why the environment has PyPI's build.
NATIVE_TRIED := $(ARGON2)/native-$(CPU_SUM).tried
# Is there while the environment may hold anything else than PyPI's build.
REPLACED := $(ARGON2)/replaced

# Without a network the start must not wait long.
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --retries 1 --timeout 15
PIP_OFFLINE := $(PIP) install --no-deps --no-index

# The one package, with all its hashes. Keeps its age when other packages change.
$(REQUIREMENT): requirements.txt
	@mkdir -p $(ARGON2)
	@sed -n '/^argon2-cffi-bindings==/,/[^\\]$$/p' requirements.txt >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

# What pip chooses by itself: the wheel, or a plain build where PyPI has no wheel.
$(WHEEL_BUILT): $(REQUIREMENT)
	@rm -rf $@ $(ARGON2)/wheel.new
	@$(PIP) wheel --no-deps --require-hashes --requirement $(REQUIREMENT) \
		--wheel-dir $(ARGON2)/wheel.new
	@$(call finish_build,wheel)
	@touch $@

# Not from pip's cache, which cannot tell builds with different flags apart.
$(NATIVE_BUILT): $(REQUIREMENT) requirements/native.txt $(WHEEL_BUILT)
	@rm -rf $(ARGON2)/native-* $(ARGON2)/native.new $(ARGON2)/tools
	@($(native_flag)) >/dev/null
	@$(PIP) install --require-hashes --only-binary :all: --requirement requirements/native.txt \
		--target $(ARGON2)/tools
	@flag=$$($(native_flag)) && PYTHONPATH=$$(cd $(ARGON2)/tools && pwd) CFLAGS="-O3 $$flag" \
		SKBUILD_WHEEL_BUILD_TAG=1native $(PIP) wheel --no-cache-dir --no-build-isolation --no-deps \
		--require-hashes --requirement $(REQUIREMENT) --no-binary argon2-cffi-bindings \
		--wheel-dir $(ARGON2)/native.new
	@$(call finish_build,native)
	@rm -rf $(ARGON2)/tools
	@touch $@

$(NATIVE_READY): $(NATIVE_BUILT) | $(RUN_READY)
	@touch $(REPLACED)
	@$(PIP_OFFLINE) --force-reinstall $(ARGON2)/native/*.whl
	@: >$(NATIVE_TRIED)
	@touch $@

# Never fails. A failed build is not tried again at each start. A compiler is looked for each time:
# where there was none, the file is too old to count.
$(NATIVE_TRIED): $(REQUIREMENT) requirements/native.txt | $(RUN_READY)
	@rm -f $(ARGON2)/native-*
	@if ! ($(native_flag)) >$(NATIVE_LOG) 2>&1; then \
		$(call keep_wheel,there is no C compiler with Python's headers,install them and start again); \
		touch -t 197001020000 $@; \
	else \
		echo "Building Argon2 for this CPU, once: about ten seconds"; \
		$(MAKE) --no-print-directory $(NATIVE_READY) >$(NATIVE_LOG) 2>&1 || { \
			$(call keep_wheel,another could not be built,make native tries again and says why); }; \
	fi

# Prints the option that makes this compiler build for this CPU.
define native_flag
	include=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))'); \
	for flag in -march=native -mcpu=native; do \
		echo '#include <Python.h>' | $(CC) $$flag -I "$$include" -fsyntax-only -x c - && \
			{ echo $$flag; exit 0; }; \
	done; exit 1
endef

# $(call finish_build,name): make name.new importable, see that it hashes right, let it be name.
define finish_build
	$(PIP_OFFLINE) --target $(ARGON2)/$(1).new $(ARGON2)/$(1).new/*.whl && \
	PYTHONPATH=$(ARGON2)/$(1).new $(BIN)/python -m deeds.argon2_build $(ARGON2)/$(1).new && \
	rm -rf $(ARGON2)/$(1) && mv $(ARGON2)/$(1).new $(ARGON2)/$(1)
endef

# $(call keep_wheel,why,what can be done): PyPI's build is in the environment, or put back there.
define keep_wheel
	if test -e $(REPLACED); then \
		$(MAKE) --no-print-directory $(WHEEL_BUILT) && \
		$(PIP_OFFLINE) --force-reinstall $(ARGON2)/wheel/*.whl && rm $(REPLACED) || exit 1; \
	fi; \
	echo "Argon2 is PyPI's build, because $(1)." \
		"One for this CPU would hash up to 3 times as fast: $(2)." >$(NATIVE_TRIED)
endef
