#!/usr/bin/env python3
"""`lab load` against h2load over TLS and HTTP/2: CPU time a request; and its lag and connect time over HTTP/2 against its own over HTTP/1.1.

    load_against_h2load.py LAB [ROUNDS]

LAB is a release build; h2load (nghttp2), nginx with TLS and HTTP/2, and taskset must be installed, and the machine must have two
processors. nginx (100 bytes from memory) has processor 1, the tools take turns on processor 0, in an order that alternates. CPU
time is user and system time of the tool's whole process. All is on loopback.
"""

import json, os, re, resource, statistics, subprocess, sys, time

from peers import HEAD, run, start

LAB = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 5
PLAIN, SECURE = 18094, 18095
TLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/integration/load/tls")
PAGE = "one hundred bytes of an answer, which a server gives from its memory without any work worth a mention"
REQUESTS, USERS, RATE, SECONDS = 60000, (1, 64), 2000, 6
# What is spoken: URL, flags of lab, flags of h2load.
CARRIERS = {
    "HTTP/2": (f"http://127.0.0.1:{PLAIN}/", ["--http2"], []),
    "HTTP/2 over TLS": (f"https://127.0.0.1:{SECURE}/", ["--http2", "-k"], []),
    "HTTP/1.1 over TLS": (f"https://127.0.0.1:{SECURE}/", ["--http1", "-k"], ["--h1"]),
}


def used(*command):
    """What it printed, and its CPU time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["taskset", "-c", "0", *command], capture_output=True, text=True)
    # 3: INVALID, which is printed with its figures.
    if done.returncode not in (0, 3):
        raise SystemExit(f"{command}: {done.returncode}: {done.stderr} {done.stdout}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def lab(url, *flags):
    said, cpu = used(LAB, "load", url, "--no-save", "--output", "json", *flags)
    found = json.loads(said)
    return {"cpu": cpu / found["served"] * 1e6, "lag": found["generator"]["send_lag_p99_ms"], "connect": found["connect_time_ms"]["mean"]}


def h2load(url, *flags):
    said, cpu = used("h2load", *flags, url)
    return {"cpu": cpu / int(re.search(r"(\d+) succeeded", said)[1]) * 1e6}


def rounds(tools):
    """A row a round, in an order that alternates."""
    rows = []
    for number in range(ROUNDS):
        names = list(tools) if number % 2 == 0 else list(reversed(tools))
        rows.append({name: tools[name]() for name in names})
        print("   ", rows[-1], flush=True)
    return rows


def ratio(what, rows, one, other, figure):
    found = [row[one][figure] / row[other][figure] for row in rows]
    print(f"{what}: median {statistics.median(found):.3f} of {len(found)}, from {min(found):.3f} to {max(found):.3f}", flush=True)


def against_h2load(name):
    url, ours, theirs = CARRIERS[name]
    for users in USERS:
        few = [f"-n{REQUESTS}", f"-c{users}"]
        rows = rounds({"lab": lambda: lab(url, *few, *ours), "h2load": lambda: h2load(url, *few, "-m1", "-t1", *theirs)})
        ratio(f"{name}, {users} users with a connection each: CPU time a request, lab / h2load", rows, "lab", "h2load", "cpu")


def main(folder, running):
    server = "access_log off; keepalive_requests 100000000; http2_max_requests 100000000; ssl_certificate {tls}/server.pem; ssl_certificate_key {tls}/server-key.pem; "
    server += "server {{ listen 127.0.0.1:{plain} http2 backlog=1024; listen 127.0.0.1:{secure} ssl http2 backlog=1024; location / {{ return 200 \"{page}\"; }} }}"
    values = {"folder": folder, "name": "nginx", "tls": TLS, "plain": PLAIN, "secure": SECURE, "page": PAGE}
    with open(f"{folder}/nginx.conf", "w") as file:
        file.write((HEAD + "http {{ " + server + " }}").format(**values))
    running.append(start(1, "nginx", "-c", f"{folder}/nginx.conf"))
    time.sleep(1)
    print(time.strftime("%Y-%m-%d %H:%M:%S"), "load average", os.getloadavg())
    for name in CARRIERS:
        against_h2load(name)
    secure = {name: (lambda name=name: lab(CARRIERS[name][0], f"-R{RATE}", f"-d{SECONDS}s", *CARRIERS[name][1])) for name in list(CARRIERS)[1:]}
    rows = rounds(secure)
    for figure, what in (("cpu", "CPU time a request"), ("lag", "send lag p99"), ("connect", "mean connect time")):
        ratio(f"over TLS at {RATE}/s, HTTP/2 / HTTP/1.1: {what}", rows, *secure, figure)
    print(time.strftime("%Y-%m-%d %H:%M:%S"), "load average", os.getloadavg())


run(main)
