"""What the measurements beside other programs share: processes on processors of their own, their CPU time, and load by wrk."""

import os, re, subprocess, tempfile

HEAD = "worker_processes 1; daemon off; error_log {folder}/{name}.err; pid {folder}/{name}.pid; events {{ worker_connections 8192; }}\n"


def start(processor, *command, piped=False):
    out = subprocess.PIPE if piped else subprocess.DEVNULL
    return subprocess.Popen(["taskset", "-c", str(processor), *command], stdout=out, stderr=subprocess.DEVNULL, text=True)


def family(pid):
    found = [pid]
    for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
        found += family(int(child))
    return found


def cpu_seconds(pid):
    threads = (f"/proc/{p}/task/{t}/schedstat" for p in family(pid) for t in os.listdir(f"/proc/{p}/task"))
    return sum(int(open(file).read().split()[0]) for file in threads) / 1e9


def measure(process, url, connections, seconds, headers=()):
    """CPU time of a process and its children, microseconds a request; requests a second; answers that are not 2xx or 3xx."""
    before = cpu_seconds(process.pid)
    command = ["taskset", "-c", "0", "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", *(part for header in headers for part in ("-H", header)), url]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    requests = int(re.search(r"(\d+) requests in", said)[1])
    others = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    return (cpu_seconds(process.pid) - before) / requests * 1e6, requests / seconds, int(others[1]) if others else 0


def run(main):
    """Calls main(folder, running), and ends the processes in running by their ids."""
    running = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            main(folder, running)
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait()
