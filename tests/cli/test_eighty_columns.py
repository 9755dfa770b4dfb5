# SPDX-License-Identifier: MIT
"""What a person sees in a real terminal of 80 columns: nothing is wider, progress stays in its line, the table fits."""
import re
import shutil
import subprocess
import time

import numpy as np
import pytest

from cli_program import PROGRAM

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux (Debian: tmux) is not installed")


@pytest.fixture(scope="module")
def site(shared):
    rng = np.random.default_rng(9)
    city = rng.choice(["Kiel", "Bremen", "Frankfurt_an_der_Oder_und_Umgebung"], 900)
    x = rng.normal(size=(900, 3))
    y = rng.random(900) < 1 / (1 + np.exp(-x[:, 0]))
    rows = [f"{a:.3f},{b:.3f},{c:.3f},{k},{int(t)}" for (a, b, c), k, t in zip(x, city, y)]
    (shared.folder / "people.csv").write_text("\n".join(["age,income,visits,city_of_the_first_visit,bought", *rows]) + "\n")
    return shared


class Terminal:
    """A screen of 80 columns, read as it looks. -J would join lines that the terminal had to break: what is wider than
    the screen is seen by the difference."""

    def __init__(self, folder, *shell):
        self.tmux = ["tmux", "-L", f"sgfs-{folder.name}-{time.monotonic_ns()}", "-f", "/dev/null"]
        subprocess.run([*self.tmux, "new-session", "-d", "-x", "80", "-y", "60", "-c", str(folder), "env", "PS1=$ ",
                        "TERM=screen", *(shell or ("sh",))], check=True)
        self.wait_for(r"^\$ ?$")  # what is typed before the shell asks is echoed twice, once without the prompt

    def press(self, *keys):
        subprocess.run([*self.tmux, "send-keys", *keys], check=True)

    def type(self, line):
        self.press(line, "Enter")

    def screen(self, *flags):
        return subprocess.run([*self.tmux, "capture-pane", "-p", *flags], check=True, capture_output=True,
                              text=True).stdout

    def wait_for(self, pattern, seconds=60):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if re.search(pattern, self.screen(), re.M):
                return self.screen()
            time.sleep(0.05)
        raise AssertionError(self.screen())

    def close(self):
        subprocess.run([*self.tmux, "kill-server"], check=False)


@pytest.fixture
def terminal(site):
    made = Terminal(site.folder)
    yield made
    made.close()


def broken_lines(terminal):
    """Lines that the terminal had to break, but for the commands that were typed, which may be echoed before the prompt."""
    joined = terminal.screen("-J", "-S", "-").splitlines()
    return [line for line in joined if len(line.rstrip()) > 80 and PROGRAM not in line]


@needs_tmux
def test_a_first_run_fits_and_says_nothing_twice(site, terminal):
    terminal.type("clear; " + f"{PROGRAM} sample logistic --data people.csv --categorical auto --out fit.run; echo done $?")
    screen = terminal.wait_for(r"^done 0")
    assert not broken_lines(terminal), broken_lines(terminal)
    assert re.search(r"^parameter +mean +sd +5% +95% +ess +r_hat$", screen, re.M)
    flat = " ".join(screen.split())
    assert flat.count("logistic of bought") == 1 and flat.count("Trust: ") == 1
    assert "nchor" not in flat and "asks about" not in flat  # for --verbose
    assert re.search(r"^city_of.*\.\.\..*gebung +-?\d", screen, re.M)


@needs_tmux
def test_progress_stays_in_one_line_and_ctrl_c_says_what_is_kept(site, terminal):
    terminal.type("clear; " + f"{PROGRAM} sample logistic --data people.csv --categorical auto --sampler sgld --epsilon 1e-6 "
                  "--draws 1000000000 --warmup 100 --out long.run; echo done $?")
    terminal.wait_for(r"^sampling +\d+ %.* to go$")
    time.sleep(1)
    screen = terminal.screen()
    assert len(re.findall(r"^(?:warm-up|sampling) ", screen, re.M)) == 1, screen
    subprocess.run([*terminal.tmux, "send-keys", "C-c"], check=True)
    screen = " ".join(terminal.wait_for(r"^done 75").split())
    assert "The run is in long.run" in screen and "--resume long.run" in screen
    assert "to go" not in screen.split("sgfs sample:")[0].split("long.run")[-1]


@needs_tmux
def test_help_fits(site, terminal):
    terminal.type(f"clear; {PROGRAM} help sample | tail -45; echo done $?")
    terminal.wait_for(r"^done 0")
    assert not broken_lines(terminal), broken_lines(terminal)


def test_every_page_of_help_fits(site):
    overview = site.ok("help").stdout
    names = re.findall(r"^  ([a-z-]+) +\S", overview.split("Commands:")[1], re.M)[:-1]
    assert max(map(len, overview.splitlines())) <= 80
    for name in names:
        long = [line for line in site.ok("help", name).stdout.splitlines() if len(line) > 80]
        assert long == [], name


def test_help_has_what_a_person_needs_and_the_rest_elsewhere(site):
    short, full = site.ok("help", "sample").stdout, site.ok("sample", "--help-all").stdout
    flags = [set(re.findall(r"^  --([a-z0-9-]+)", page, re.M)) for page in (short, full)]
    usual = len(re.findall(r"^  --", short.split("\nData:\n")[1], re.M))
    assert flags[0] < flags[1] and 18 <= usual <= 25
    assert {"target", "categorical", "sampler", "seed"} <= flags[0] and "alpha" in flags[1] - flags[0]
    assert [t for t in ("\nData:\n", "\nPrior:\n", "\nSampling:\n") if t not in short] == []
    assert max(map(len, short.split("Usage:")[1].splitlines())) <= 80
