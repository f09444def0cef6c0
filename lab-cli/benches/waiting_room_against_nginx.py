#!/usr/bin/env python3
"""What a waiting room costs: CPU time of a turn that is given (TokenGen) and of a token that is checked (TokenCheck), against
nginx that answers with a redirect and does nothing else, in one run.

    waiting_room_against_nginx.py LAB [SECONDS] [PAIRS]

LAB is the program, built with `cargo build --profile dist -p lab-cli`. nginx, wrk and taskset must be installed, the machine must
have two processors and nothing else to do. The servers take turns on processor 1, wrk has processor 0; every figure is a median of
rounds whose order alternates. The room is as published: a token for the address, in the URL. A turn is given to who comes without a
token; the token that is checked is one whose turn has not come, so that nothing is forwarded.
"""

import json, os, re, statistics, sys, time, urllib.error, urllib.request

from peers import HEAD, measure, run, start

LAB = os.path.abspath(sys.argv[1])
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
PAIRS = int(sys.argv[3]) if len(sys.argv) > 3 else 7
NGINX, CONNECTIONS = 18312, 64
REDIRECT = HEAD + """http {{ access_log off; keepalive_requests 100000000; keepalive_timeout 60s;
  server {{ listen 127.0.0.1:%d backlog=1024; location / {{ return 302 /turn; }} }} }}""" % NGINX
# 3600 s of turns, more than the run can give.
ROOM = ["--waiting-room", "--set", "preset=as-published", "--set", "capacity=20000/s", "--set", "horizon=3600s"]
LIMITS = json.dumps({"limits": {"connections": 2000, "connections_per_source": 0, "connection_requests": 0}})


def refresh(url):
    """Wait and query of the page; 0 for who is let in, since nothing answers behind the room."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": "text/html"})) as answer:
            wait, _, query = answer.headers.get("Refresh", "0").partition("; url=")
            return int(wait), query
    except urllib.error.HTTPError:
        return 0, ""


def token(url):
    """A token whose turn comes after the run: the queue is filled first."""
    for _ in range(100):
        wait, query = refresh(url)
        if wait > 60:
            return query
        fill(url)
    sys.exit("no wait of a minute was given")


def fill(url):
    os.system(f"taskset -c 0 wrk -t1 -c{CONNECTIONS} -d2s {url} > /dev/null")


def main(folder, running):
    for name, text in {"nginx.conf": REDIRECT.format(folder=folder, name="nginx"), "lab.json": LIMITS}.items():
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
    nginx = start(1, "nginx", "-c", f"{folder}/nginx.conf")
    flags = ["--json", "--config", f"{folder}/lab.json", "--listen", "127.0.0.1:0", "--to", "http://127.0.0.1:9"]
    room = start(1, LAB, "proxy", *flags, *ROOM, piped=True)
    running += [nginx, room]
    url = json.loads(room.stdout.readline())["url"].rstrip("/") + "/"
    time.sleep(1)
    cases = {
        "nginx, a redirect": (nginx, f"http://127.0.0.1:{NGINX}/", ()),
        "a turn is given": (room, url, ()),
        "a turn is given, with the page": (room, url, ("Accept: text/html",)),
        "a token is checked": (room, url + token(url), ("Accept: application/json",)),
    }
    rounds = {name: [] for name in cases}
    for number in range(PAIRS):
        for name in list(cases) if number % 2 == 0 else reversed(cases):
            process, where, headers = cases[name]
            rounds[name].append(measure(process, where, CONNECTIONS, SECONDS, headers))
    for name, found in rounds.items():
        cost, rate = (statistics.median(one[i] for one in found) for i in (0, 1))
        ratio = statistics.median(peer[0] / own[0] for peer, own in zip(rounds["nginx, a redirect"], found))
        print(f"{name}: {cost:.1f} us of CPU, {rate:.0f}/s, nginx / this {ratio:.2f}, not 2xx or 3xx {sum(one[2] for one in found)}", flush=True)
    print("the last wait:", refresh(url)[0], "s")


run(main)
