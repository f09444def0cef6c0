#!/usr/bin/env python3
"""What a proxied request costs: CPU time of `lab proxy` against nginx and HAProxy, in one run.

    proxy_against_peers.py LAB [SECONDS] [PAIRS]

LAB is the program, built with `cargo build --profile dist -p lab-cli`. nginx, haproxy, wrk and taskset must be
installed, the machine must have two processors and nothing else to do. The proxies take turns on processor 1, wrk and
the backend (nginx, 13 bytes from memory) have processor 0; every figure is a median of rounds whose order alternates.
All listen on loopback, and all are ended by their process ids.
"""

import json, os, statistics, sys, time

from peers import HEAD, measure, run, start

LAB = os.path.abspath(sys.argv[1])
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 4
PAIRS = int(sys.argv[3]) if len(sys.argv) > 3 else 7
BACKEND, NGINX, HAPROXY = 18301, 18302, 18303

CONFIGS = {
    "backend.conf": HEAD + """http {{ access_log off; keepalive_requests 100000000; keepalive_timeout 60s;
  server {{ listen 127.0.0.1:%d backlog=1024; location / {{ default_type text/plain; return 200 "hello, world\\n"; }} }} }}""" % BACKEND,
    "nginx.conf": HEAD + """http {{ access_log off; keepalive_requests 100000000; keepalive_timeout 60s;
  upstream b {{ server 127.0.0.1:%d; keepalive 1024; keepalive_requests 100000000; }}
  server {{ listen 127.0.0.1:%d backlog=1024;
    location / {{ proxy_pass http://b; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Host $host; }}
    location /no {{ return 503; }} }} }}""" % (BACKEND, NGINX),
    "haproxy.cfg": """global
  maxconn 8192
  nbthread 1
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  option forwardfor
  http-reuse always
frontend f
  bind 127.0.0.1:%d
  default_backend b
backend b
  server s 127.0.0.1:%d maxconn 4096
""" % (HAPROXY, BACKEND),
    # The limits that a test with one client and endless connections would meet.
    "lab.json": json.dumps({"limits": {"connections": 2000, "connections_per_source": 0, "connection_requests": 0}}).replace("{", "{{").replace("}", "}}"),
}
POLICIES = {
    "none": ["--policy", "none"],
    "gradient2": ["--policy", "gradient2", "--set", "limit_initial=1000", "--set", "limit_max=1000", "--set", "limit_min=600"],
    "refusing": ["--policy", "fixed-rate", "--set", "rate=0.01", "--set", "depth=1"],
}


def main(folder, running):
    for name, text in CONFIGS.items():
        with open(f"{folder}/{name}", "w") as file:
            file.write(text.format(folder=folder, name=name) if name != "haproxy.cfg" else text)
    running.append(start(0, "nginx", "-c", f"{folder}/backend.conf"))
    nginx, haproxy = start(1, "nginx", "-c", f"{folder}/nginx.conf"), start(1, "haproxy", "-f", f"{folder}/haproxy.cfg")
    running += [nginx, haproxy]
    ours = {}
    for name, policy in POLICIES.items():
        flags = ["--json", "--config", f"{folder}/lab.json", "--listen", "127.0.0.1:0", "--to", f"http://127.0.0.1:{BACKEND}"]
        process = start(1, LAB, "proxy", *flags, *policy, piped=True)
        running.append(process)
        ours[name] = (process, json.loads(process.stdout.readline())["url"])
    time.sleep(1)
    proxies = {"nginx": (nginx, f"http://127.0.0.1:{NGINX}/"), "haproxy": (haproxy, f"http://127.0.0.1:{HAPROXY}/"), "lab, none": ours["none"], "lab, gradient2": ours["gradient2"]}
    proxied = 0
    for connections in (64, 512):
        rounds = {name: [] for name in proxies}
        for number in range(PAIRS):
            for name in list(proxies) if number % 2 == 0 else reversed(proxies):
                rounds[name].append(measure(*proxies[name], connections, SECONDS))
        for name, found in rounds.items():
            cost, rate = (statistics.median(one[i] for one in found) for i in (0, 1))
            ratio = statistics.median(peer[0] / own[0] for peer, own in zip(rounds["nginx"], found))
            failed = sum(one[2] for one in found)
            print(f"{connections} connections, {name}: {cost:.1f} us of CPU a request, {rate:.0f}/s, nginx / this {ratio:.2f}, not 2xx {failed}", flush=True)
            proxied = cost if (connections, name) == (64, "lab, none") else proxied
    refusals = [(measure(nginx, f"http://127.0.0.1:{NGINX}/no", 64, SECONDS)[0], measure(*ours["refusing"], 64, SECONDS)[0]) for _ in range(PAIRS)]
    theirs, own = (statistics.median(pair[i] for pair in refusals) for i in (0, 1))
    print(f"a 503: nginx {theirs:.1f} us, lab {own:.1f} us, {own / proxied:.2f} of a proxied request")


run(main)
