# SPDX-License-Identifier: MIT
"""What Tab offers comes from the tables of the program: in bash, zsh and fish, each in a terminal, with the files that
`make install` installs."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from cli_program import PROGRAM
from test_eighty_columns import Terminal, needs_tmux

BUILD = os.environ.get("SGFS_BUILD", ".")


def offered(sgfs, *words):
    """The words offered for the last one, and whether names of files are, too."""
    done = sgfs("help", "--complete", *words)
    assert done.stderr == ""
    return [line.split("\t")[0] for line in done.stdout.splitlines()], done.returncode == 1


def commands(sgfs):
    return [c for c in offered(sgfs, "")[0] if c != "help"]


def test_every_command_and_flag_is_offered(sgfs):
    names = commands(sgfs)
    assert re.findall(r"^  ([a-z-]+) +\S", sgfs.ok("help").stdout.split("Commands:")[1], re.M)[:-1] == names
    for name in names:
        page = sgfs.ok("help", name, "--help-all").stdout.split("\nUsage:")[1]
        flags = offered(sgfs, name, "--")[0]
        assert len(flags) == len(set(flags)) and set(flags) == set(re.findall(r"^  (--[a-z0-9-]+)", page, re.M))


@pytest.mark.parametrize("words, found, files", [
    (["sam"], ["sample"], False),
    (["help", "pl"], ["plot"], False),
    (["sample", "lo"], ["logistic"], False),
    (["sample", "./"], [], True),
    (["sample", "logistic", "--sampler", "nu"], ["nuts"], False),
    (["sample", "logistic", "--sampler=nu"], ["--sampler=nuts"], False),
    (["sample", "logistic", "--data", "cust"], [], True),
    (["sample", "logistic", "--seed", ""], [], False),
    (["sample", "--standardize", "soft"], ["softmax"], False),
    (["plot", "fit.run", "fores"], ["forest"], False),
    (["plot", "fit"], [], True),
    (["list", "rea"], ["readers"], False),
    (["summary", "fit.r"], [], True),
    (["summary", "--sort", "r"], ["r_hat"], False),
    (["no-such-command", ""], [], True),
])
def test_values_are_offered(sgfs, words, found, files):
    assert offered(sgfs, *words) == (found, files)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the installed files, a run and the program's name."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", str(folder / "prefix")], check=True, capture_output=True)
    (folder / "only.run").touch()
    (folder / "sgfs").write_text("#!/bin/sh\ntouch started\n")
    (folder / "sgfs").chmod(0o755)
    (folder / "bin").mkdir()
    (folder / "bin" / "sgfs").symlink_to(pathlib.Path(PROGRAM).resolve())
    return folder


def shell(name, site):
    share = site / "prefix" / "share"
    env = ["env", "PS1=$ ", f"HOME={site}", f"PATH={site / 'bin'}:{os.environ['PATH']}",
           f"XDG_DATA_DIRS={share}:/usr/share"]
    if name == "bash":
        (site / "bashrc").write_text(f"PS1='$ '\n. {share}/bash-completion/completions/sgfs\n")
        return [*env, "bash", "--noprofile", "--rcfile", str(site / "bashrc"), "-i"]
    if name == "zsh":
        (site / ".zshrc").write_text(f"PS1='$ '\nfpath=({share}/zsh/site-functions $fpath)\n"
                                     "autoload -U compinit\ncompinit -u\n")
        return [*env, "zsh", "-d", "-i"]
    return [*env, "fish", "--private", "-C", "function fish_prompt; echo '$ '; end"]


@needs_tmux
@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_tab_completes_in_the_shell(site, name):
    if shutil.which(name) is None:
        pytest.skip(f"{name} (Debian: {name}) is not installed")
    terminal = Terminal(site, *shell(name, site))
    try:
        for typed, line in [("sgfs opti", "sgfs optimize"), ("sgfs sample logi", "sgfs sample logistic"),
                            ("sgfs sample logistic --stan", "sgfs sample logistic --standardize"),
                            ("sgfs sample logistic --sampler nut", "sgfs sample logistic --sampler nuts"),
                            ("sgfs sample logistic --sampler=nut", "sgfs sample logistic --sampler=nuts"),
                            ("sgfs summary onl", "sgfs summary only.run")]:
            terminal.press(typed)
            terminal.wait_for(f"^\\$ {re.escape(typed)}")
            terminal.press("Tab")
            terminal.wait_for(f"^\\$ {re.escape(line)} *$")
            terminal.press("C-u")
            terminal.wait_for(r"\$ *\n*\Z")
        terminal.press("sgfs plot only.run ", "Tab", "Tab")
        terminal.wait_for(r"\bautocorrelation\b")
        terminal.press("C-u", "./sgfs ", "Tab", "Tab")  # what lies here is not started before it is meant to be
        terminal.press("C-u")
        terminal.wait_for(r"\$ *\n*\Z")
        assert not (site / "started").exists()
    finally:
        terminal.close()
