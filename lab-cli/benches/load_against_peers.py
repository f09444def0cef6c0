#!/usr/bin/env python3
"""`lab load` against wrk2, wrk and oha: lateness and CPU time a request, in one run.

    load_against_peers.py LAB WRK2 [OHA] [PAIRS]

LAB is a release build, WRK2 its `wrk` built from source, OHA the program or `-`. nginx, wrk and taskset must be installed, the
machine must have two processors and nothing else to do. The server (nginx, 100 bytes from memory) has processor 1, the tools take
turns on processor 0 with 64 kept connections, in an order that alternates. In open loop all response times count from the
intended start, so that a tool's own lateness is in them: the server is far from its limit. All is on loopback.
"""

import json, os, re, resource, statistics, subprocess, sys, time

from peers import HEAD, run, start

LAB, WRK2 = (os.path.abspath(path) for path in sys.argv[1:3])
OHA = sys.argv[3] if len(sys.argv) > 3 and sys.argv[3] != "-" else None
PAIRS = int(sys.argv[4]) if len(sys.argv) > 4 else 5
PORT = 18090
URL = f"http://127.0.0.1:{PORT}/"
PAGE = "one hundred bytes of an answer, which a server gives from its memory without any work worth a mention"
RATES, OPEN_SECONDS, CLOSED_SECONDS = (1000, 5000), 12, 4
UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}


def used(*command):
    """What it printed, and its CPU time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["taskset", "-c", "0", *command], capture_output=True, text=True)
    # 3: INVALID, which is printed with its figures.
    if done.returncode not in (0, 3):
        raise SystemExit(f"{command}: {done.returncode}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def lab(*flags):
    said, cpu = used(LAB, "load", URL, "-c", "64", "--no-save", "--output", "json", *flags)
    found = json.loads(said)
    times = found["response_time_ms"]
    return {"p50": times["p50"], "p99": times["p99"], "p99.9": times["p999"], "lag": found["generator"]["send_lag_p99_ms"],
            "verdict": found["verdict"], "cpu": cpu / found["served"] * 1e6}


def wrk2(rate):
    said, cpu = used(WRK2, "-t1", "-c64", f"-d{OPEN_SECONDS}s", f"-R{rate}", "--latency", URL)
    at = dict(re.findall(r"^\s+([\d.]+)%\s+(\S+)", said, re.M))
    times = {name: re.match(r"([\d.]+)(us|ms|s|m)$", at[key]) for name, key in (("p50", "50.000"), ("p99", "99.000"), ("p99.9", "99.900"))}
    return {name: float(found[1]) * UNITS[found[2]] for name, found in times.items()} | {"cpu": cpu / requests(said) * 1e6}


def requests(said):
    return int(re.search(r"(\d+) requests in", said)[1])


def wrk():
    said, cpu = used("wrk", "-t1", "-c64", f"-d{CLOSED_SECONDS}s", URL)
    return {"cpu": cpu / requests(said) * 1e6}


def oha():
    said, cpu = used(OHA, "--no-tui", "-c", "64", "-z", f"{CLOSED_SECONDS}s", "--output-format", "json", URL)
    return {"cpu": cpu / sum(json.loads(said)["statusCodeDistribution"].values()) * 1e6}


def rounds(tools):
    """A row a round, in an order that alternates."""
    rows = []
    for number in range(PAIRS):
        names = list(tools) if number % 2 == 0 else list(reversed(tools))
        rows.append({name: tools[name]() for name in names})
        print("   ", rows[-1], flush=True)
    return rows


def ratio(what, rows, ours, theirs):
    """`ours`, `theirs`: tool and figure."""
    found = [row[ours[0]][ours[1]] / row[theirs[0]][theirs[1]] for row in rows]
    print(f"{what}: median {statistics.median(found):.3f} of {len(found)}, from {min(found):.3f} to {max(found):.3f}", flush=True)


def main(folder, running):
    config = HEAD + "http {{ access_log off; keepalive_requests 100000000; server {{ listen 127.0.0.1:%d backlog=1024; location / {{ return 200 \"%s\"; }} }} }}"
    with open(f"{folder}/nginx.conf", "w") as file:
        file.write((config % (PORT, PAGE)).format(folder=folder, name="nginx"))
    running.append(start(1, "nginx", "-c", f"{folder}/nginx.conf"))
    time.sleep(1)
    print(time.strftime("%Y-%m-%d %H:%M:%S"), "load average", os.getloadavg())
    for rate in RATES:
        rows = rounds({"lab": lambda: lab("-R", str(rate), "-d", f"{OPEN_SECONDS}s"), "wrk2": lambda: wrk2(rate)})
        for name in ("p50", "p99", "p99.9", "cpu"):
            ratio(f"{rate}/s {name}, lab / wrk2", rows, ("lab", name), ("wrk2", name))
        ratio(f"{rate}/s send lag p99 of lab / p99 of wrk2", rows, ("lab", "lag"), ("wrk2", "p99"))
    closed = {"lab": lambda: lab("-d", f"{CLOSED_SECONDS}s"), "wrk": wrk} | ({"oha": oha} if OHA else {})
    rows = rounds(closed)
    for other in list(closed)[1:]:
        ratio(f"CPU a request, lab / {other}", rows, ("lab", "cpu"), (other, "cpu"))
    print(time.strftime("%Y-%m-%d %H:%M:%S"), "load average", os.getloadavg())


run(main)
