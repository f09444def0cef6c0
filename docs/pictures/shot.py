#!/usr/bin/env python3
"""Picture of a screen as a terminal has it: runs a command in a tmux of its own, presses keys, and writes what is shown as SVG.

    docs/pictures/shot.py OUT.svg --size 120x40 --look dark --keys 'wait:text' Down v -- lab ...
    docs/pictures/shot.py FOLDER --all target/debug/lab [--only compare]
    docs/pictures/shot.py docs/pictures --docs target/debug/lab

Keys are those of tmux (Enter, Down, C-l). `wait:TEXT` waits until TEXT is on the screen, `quiet` until it stays the same for a second,
`size:80x24` resizes it, `shot:NAME` takes one more picture, beside OUT, and `frame:SECONDS` makes OUT a recording: what is there now, for
so long. Looks: dark, light (256 colours each), 16 and 16-light (the terminal's own 16), plain (no colour), ascii (a C locale). `lab` is told
the ground by --theme, and colours by TERM and NO_COLOR. --all takes those of SCREENS, in each look and each size: what the screens are looked
over by. --docs takes those that pages of the docs show.
`chromium --headless --screenshot=OUT.png --window-size=W,H OUT.svg` makes a bitmap of one.
"""

import argparse
import html
import itertools
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
    "ascii": ("xterm-256color", "dark"),
}
SIZES = ["120x40", "80x24", "100x30", "200x60"]
SHORT = "--set users.phases.before.for=5s --set users.phases.spike.for=20s --set users.phases.after.for=5s"
# What --all takes: the command after `lab`, and the keys until it is there. A live run takes a minute (and asks, where the machine is busy); a
# load needs `python3 -m http.server 18881`.
SCREENS = {
    "home": ("", ["wait:flash-crowd", "wait:88/s"], LOOKS),
    "compare": ("", ["wait:flash-crowd", "Enter", "wait:what it did"], LOOKS),
    "sweep": ("", ["wait:flash-crowd", "/", *"overload-sweep", "Enter", "Enter", "wait:what it did"], ["dark"]),
    "live": (f"run flash-crowd --policy none --policy seda {SHORT}", ["wait:arm 2 of 2", "wait:12 s"], ["dark"]),
    "load": ("load http://127.0.0.1:18881/ -d 30s -R 80", ["wait:12 s of"], ["dark"]),
}
GROUND = {"dark": ("#1e1e1e", "#d4d4d4"), "light": ("#fdfdfd", "#262626")}
# As xterm has them.
SIXTEEN = [
    "#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5",
    "#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff",
]  # fmt: skip
# What --docs takes, in 120 columns and 40 rows.
COMPARED = ["wait:flash-crowd", "Enter", "wait:what it did", "quiet"]
PICTURES = {
    "compare.svg": COMPARED,
    "recording.svg": [
        *["wait:flash-crowd", "frame:1.5", "wait:88/s", "quiet", "frame:3", "Enter", "frame:1", "wait:what it did", "quiet"],
        *["frame:5", "Down", "quiet", "frame:4", "v", "quiet", "frame:3", "v", "v", "quiet", "frame:5"],
    ],
}


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


def drawn(row, line, theme):
    """A line of the screen as SVG, empty if nothing is on it."""
    ground, ink = GROUND[theme]
    out, runs = [], []
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
    return "\n".join(out)


def svg(frames, width, height, theme):
    """Screens one after another, each for its seconds, again and again; a line that stays is drawn once. One stands still."""
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width * WIDE + 16:.1f} {height * HIGH + 16:.1f}" '
        f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{SIZE}">',
        f'<rect width="100%" height="100%" rx="6" fill="{GROUND[theme][0]}"/>',
    ]
    whole = sum(seconds for seconds, _ in frames)
    courses = zip(*([drawn(row, line, theme) for row, line in enumerate(rows(screen))] for _, screen in frames))
    for course in courses:
        begin = 0
        for line, stay in itertools.groupby(zip(course, frames), key=lambda pair: pair[0]):
            end = begin + sum(seconds for _, (seconds, _) in stay)
            if line and end - begin == whole:
                out.append(line)
            elif line:
                turns = [(0, "hidden"), (begin / whole, "visible"), (end / whole, "hidden")]
                turns = [turn for at, turn in enumerate(turns) if turn[0] < 1 and (at or begin)]
                times, values = (";".join(str(turn[part])[:7] for turn in turns) for part in (0, 1))
                course = f'values="{values}" keyTimes="{times}" dur="{whole}s" calcMode="discrete" repeatCount="indefinite"'
                out.append(f'<g visibility="hidden"><animate attributeName="visibility" {course}/>{line}</g>')
            begin = end
    return "\n".join([*out, "</svg>", ""])


class Tmux:
    def __init__(self, width, height, environment):
        self.socket = f"lab-picture-{os.getpid()}-{time.monotonic_ns()}"
        size = ["-x", str(width), "-y", str(height)]
        self.size = (width, height)
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


    def press(self, key):
        if key.startswith("wait:"):
            until = time.monotonic() + 300
            while key[5:] not in re.sub(r"\x1b\[[0-9;]*m", "", self.screen()) and time.monotonic() < until:
                time.sleep(0.2)
        elif key.startswith("size:"):
            self.size = tuple(map(int, key[5:].split("x")))
            self.run("resize-window", "-x", str(self.size[0]), "-y", str(self.size[1]))
            time.sleep(0.5)
        elif key == "quiet":
            self.quiet()
        else:
            self.run("send-keys", key)
            time.sleep(0.3)


def picture(out, size, look, keys, command):
    term, theme = LOOKS[look]
    tmux = Tmux(*map(int, size.split("x")), {"LANG": "C.UTF-8", "NO_COLOR": ""})

    frames = []
    os.makedirs(os.path.dirname(out) or ".", exist_ok=True)

    def shoot(path, frames):
        with open(path, "w", encoding="utf-8") as file:
            file.write(svg(frames, *tmux.size, theme))

    try:
        given = f"NO_COLOR={'1' if look == 'plain' else ''} {'LC_ALL=C' if look == 'ascii' else ''} COLORTERM= TERM={term}"
        tmux.run("send-keys", f"clear; {given} {command} --theme {theme}", "Enter")
        for key in keys or ["quiet"]:
            if key.startswith("shot:"):
                shoot(os.path.join(os.path.dirname(out), key[5:]), [(1, tmux.screen())])
            elif key.startswith("frame:"):
                frames.append((float(key[6:]), tmux.screen()))
            else:
                tmux.press(key)
        shoot(out, frames or [(1, tmux.screen())])
    finally:
        tmux.run("kill-server")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--look", choices=LOOKS, default="dark")
    parser.add_argument("--keys", nargs="*", default=[])
    parser.add_argument("--all", metavar="LAB")
    parser.add_argument("--docs", metavar="LAB")
    parser.add_argument("--only", choices=SCREENS)
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args = parser.parse_args(sys.argv[1:at])
    if args.docs:
        for name, keys in PICTURES.items():
            picture(os.path.join(args.out, name), SIZES[0], "dark", keys, args.docs)
        return
    if not args.all:
        return picture(args.out, args.size, args.look, args.keys, " ".join(sys.argv[at + 1 :]))
    for name, (command, keys, looks) in SCREENS.items():
        for look in looks if args.only in (None, name) else []:
            more = [part for size in SIZES[1:] for part in (f"size:{size}", f"shot:{name}-{size}-{look}.svg")]
            first = f"{name}-{SIZES[0]}-{look}.svg"
            keys_then = [*keys, f"shot:{first}", *more, f"size:{SIZES[0]}"]
            picture(os.path.join(args.out, first), SIZES[0], look, keys_then, f"{args.all} {command}")


main()
