#!/usr/bin/env python3
"""Picture of a screen as a terminal has it: runs a command in a tmux of its own, presses keys, and writes what is shown as SVG.

    docs/pictures/shot.py OUT.svg --size 120x40 --look dark --keys 'wait:text' Down v -- lab ...

Keys are those of tmux (Enter, Down, C-l); `wait:TEXT` waits until TEXT is on the screen. Looks: dark, light (256 colours each), 16 and
16-light (the terminal's own 16), plain (no colour). `lab` is told the ground by --theme, and colours by TERM and NO_COLOR.
`chromium --headless --screenshot=OUT.png --window-size=W,H OUT.svg` makes a bitmap of it.
"""

import argparse
import html
import os
import re
import subprocess
import sys
import time

WIDE, HIGH, SIZE = 8.43, 16.5, 14
LOOKS = {
    "dark": ("xterm-256color", "dark"),
    "light": ("xterm-256color", "light"),
    "16": ("xterm", "dark"),
    "16-light": ("xterm", "light"),
    "plain": ("xterm-256color", "dark"),
}
GROUND = {"dark": ("#1e1e1e", "#d4d4d4"), "light": ("#fdfdfd", "#262626")}
# As xterm has them.
SIXTEEN = [
    "#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5",
    "#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff",
]  # fmt: skip


def colour(at):
    """One of 256."""
    if at < 16:
        return SIXTEEN[at]
    if at >= 232:
        return "#" + f"{8 + 10 * (at - 232):02x}" * 3
    parts = [(at - 16) // 36, (at - 16) // 6 % 6, (at - 16) % 6]
    return "#" + "".join(f"{0 if n == 0 else 55 + 40 * n:02x}" for n in parts)


def blended(one, other):
    """Halfway between two colours: how terminals draw what is dim."""
    pairs = zip(*(re.findall("..", of[1:]) for of in (one, other)))
    return "#" + "".join(f"{(int(a, 16) + int(b, 16)) // 2:02x}" for a, b in pairs)


def styled(state, codes):
    """The state after these codes of a sequence that selects a style."""
    codes = [int(code or 0) for code in codes]
    while codes:
        code = codes.pop(0)
        if code == 0:
            state = {}
        elif code in (1, 2, 7):
            state = {**state, code: True}
        elif code in (38, 48):
            _, at = codes.pop(0), codes.pop(0)
            state = {**state, code: colour(at)}
        elif code in (39, 49):
            state = {**state, code - 1: None}
        elif 30 <= code % 60 <= 37 or 90 <= code <= 97:
            state = {**state, 38: SIXTEEN[code - 30 if code < 40 else code - 82]}
        elif 40 <= code <= 47 or 100 <= code <= 107:
            state = {**state, 48: SIXTEEN[code - 40 if code < 50 else code - 92]}
    return state


def rows(screen):
    """Characters of each line with their styles, which go on from line to line."""
    state = {}
    for line in screen.split("\n"):
        row = []
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if part.startswith("\x1b["):
                state = styled(state, part[2:-1].split(";"))
            else:
                row += [(character, state) for character in part]
        yield row


def svg(screen, width, height, theme):
    ground, ink = GROUND[theme]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width * WIDE + 16:.1f} {height * HIGH + 16:.1f}" '
        f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{SIZE}">',
        f'<rect width="100%" height="100%" rx="6" fill="{ground}"/>',
    ]
    for row, line in enumerate(rows(screen)):
        runs = []
        for column, (character, state) in enumerate(line):
            fore, back = state.get(38) or ink, state.get(48)
            if state.get(7):
                fore, back = back or ground, fore
            if state.get(2):
                fore = blended(fore, back or ground)
            style = (fore, back, bool(state.get(1)))
            if runs and runs[-1][0] == style:
                runs[-1][2].append(character)
            else:
                runs.append((style, column, [character]))
        top = 8 + row * HIGH
        for (_, back, _), column, text in runs:
            if back:
                place = f'x="{8 + column * WIDE:.2f}" y="{top:.2f}" width="{len(text) * WIDE:.2f}" height="{HIGH}"'
                out.append(f'<rect {place} fill="{back}"/>')
        for (fore, _, bold), column, text in runs:
            places = [(8 + (column + n) * WIDE, c) for n, c in enumerate(text) if c != " "]
            if places:
                at = " ".join(f"{x:.1f}" for x, _ in places)
                shown = html.escape("".join(c for _, c in places))
                weight = ' font-weight="bold"' if bold else ""
                out.append(f'<text x="{at}" y="{top + 13:.2f}" fill="{fore}"{weight}>{shown}</text>')
    return "\n".join([*out, "</svg>", ""])


class Tmux:
    def __init__(self, width, height, environment):
        self.socket = f"lab-picture-{os.getpid()}"
        size = ["-x", str(width), "-y", str(height)]
        self.run("-f", "/dev/null", "new-session", "-d", *size, "sh", environment=environment)

    def run(self, *args, environment=None):
        environment = {**os.environ, **(environment or {})}
        command = ["tmux", "-u", "-L", self.socket, *args]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    def screen(self):
        return self.run("capture-pane", "-e", "-p")

    def quiet(self):
        """The screen once it has been the same for a second."""
        last, since = None, time.monotonic()
        while time.monotonic() - since < 1:
            time.sleep(0.1)
            screen = self.screen()
            if screen != last:
                last, since = screen, time.monotonic()
        return last


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--look", choices=LOOKS, default="dark")
    parser.add_argument("--keys", nargs="*", default=[])
    at = sys.argv.index("--")
    args, command = parser.parse_args(sys.argv[1:at]), " ".join(sys.argv[at + 1 :])
    width, height = map(int, args.size.split("x"))
    term, theme = LOOKS[args.look]
    tmux = Tmux(width, height, {"LANG": "C.UTF-8", "NO_COLOR": ""})
    try:
        colours = "NO_COLOR=1" if args.look == "plain" else "NO_COLOR="
        tmux.run("send-keys", f"clear; {colours} COLORTERM= TERM={term} {command} --theme {theme}", "Enter")
        tmux.quiet()
        for key in args.keys:
            if key.startswith("wait:"):
                until = time.monotonic() + 300
                while key[5:] not in re.sub(r"\x1b\[[0-9;]*m", "", tmux.screen()) and time.monotonic() < until:
                    time.sleep(0.2)
            else:
                tmux.run("send-keys", key)
                time.sleep(0.1)
        screen = tmux.quiet()
        with open(args.out, "w", encoding="utf-8") as file:
            file.write(svg(screen, width, height, theme))
    finally:
        tmux.run("kill-server")


main()
