#!/usr/bin/env python3
"""Records a small trace from a real Dovecot with made-up users: see traces/small/README.md.

Starts a Dovecot of its own (2.3) in a scratch folder, as an ordinary user, on a loopback port; a few users walk it as a web mail
would; then it is stopped, and its log becomes a trace through `lab trace import`. Nothing outside of the scratch folder and of
OUT is written. Needs Python 3.9 and Dovecot with its IMAP part (Debian: dovecot-imapd), nothing else.

    traces/record/dovecot.py OUT --lab target/release/lab
"""

import argparse
import grp
import gzip
import imaplib
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# From a page to the next: figure 46 of M. Welsh's thesis (UC Berkeley, 2002), as in workloads/models/arashi.yaml. To "login": the
# session ends. After delete and refile users go back to the list, or to the search that they came from.
WAYS = {
    "login": {"list folders": 1.0},
    "list folders": {"list messages": 1.0},
    "list messages": {"login": 0.27, "show message": 0.68, "delete": 0.02, "refile": 0.02, "search": 0.01},
    "show message": {"login": 0.03, "list messages": 0.58, "delete": 0.18, "refile": 0.20, "search": 0.01},
    "search": {"login": 0.27, "show message": 0.68, "delete": 0.02, "refile": 0.02, "search": 0.01},
}
# Means of the exponential pauses after a page, seconds: some twenty times shorter than people's.
PAUSES = {
    "login": 0.03,
    "list folders": 0.1,
    "list messages": 0.2,
    "show message": 0.4,
    "delete": 0.1,
    "refile": 0.1,
    "search": 0.2,
}
PASSWORD = "walk"
WORDS = "lake road paper light stone window early garden winter ticket number harbour letter music bread".split()
MESSAGES = 60
LONGEST = 300.0


def main():
    options = arguments()
    dovecot = shutil.which("dovecot", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if not dovecot:
        fail("there is no Dovecot here: install it (Debian: apt-get install dovecot-imapd)")
    version = subprocess.run([dovecot, "--version"], capture_output=True, text=True, check=True).stdout.split()[0]
    if not version.startswith("2.3."):
        fail(f"this Dovecot is {version}; the configuration here is for 2.3")
    if not shutil.which(options.lab):
        fail(f"{options.lab}: there is no such program; build it (cargo build --release), or name it with --lab")
    log = options.out / "dovecot.log.gz"
    trace = options.out / "dovecot.jsonl.zst"
    for path in (log, trace):
        if path.exists():
            fail(f"{path} exists already: name another folder, or remove it")
    options.out.mkdir(parents=True, exist_ok=True)
    # Short: the paths of sockets must not be long.
    scratch = Path(tempfile.mkdtemp(prefix="rec-"))
    try:
        text = record(dovecot, scratch, options)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    with open(log, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())
    source = f"Dovecot {version} (a real server and its log), {options.users} made-up users, seed {options.seed}"
    subprocess.run(
        [options.lab, "trace", "import", "--names", "--source", source, "-o", str(trace), str(log)], check=True
    )
    print(f"{log}: {log.stat().st_size} bytes; {trace}: {trace.stat().st_size} bytes")


def arguments():
    parser = argparse.ArgumentParser(description="Records a small trace from a Dovecot with made-up users.")
    parser.add_argument("out", type=Path, help="folder for dovecot.log.gz and dovecot.jsonl.zst")
    parser.add_argument("--lab", default="lab", help="the program lab")
    parser.add_argument("--users", type=whole(1, 50), default=10)
    parser.add_argument("--sessions", type=whole(1, 50), default=12, help="of each user")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def whole(least, most):
    def read(text):
        number = int(text)
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"from {least} to {most}")
        return number

    return read


def record(dovecot, scratch, options):
    """Runs the server and its users; gives the log."""
    user, group = ordinary_user()
    names = [f"user{number:02}" for number in range(options.users)]
    for name in names:
        write_mail(scratch / "mail" / name / "Maildir", random.Random(f"{options.seed} mail of {name}"))
    port = free_port()
    config = scratch / "dovecot.conf"
    config.write_text(CONFIGURATION.format(scratch=scratch, port=port, user=user.pw_name, group=group, uid=user.pw_uid,
                                           gid=user.pw_gid, password=PASSWORD))
    become = {}
    if os.geteuid() == 0:
        for path in [scratch, *scratch.rglob("*")]:
            os.chown(path, user.pw_uid, user.pw_gid)
        become = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    # Times in UTC, and no name of this machine in the events.
    environment = {"PATH": os.environ.get("PATH", ""), "TZ": "UTC", "DOVECOT_HOSTNAME": "mail.example"}
    server = subprocess.Popen([dovecot, "-F", "-c", str(config)], env=environment, cwd=scratch, **become)
    try:
        wait_for(server, port, scratch)
        walk(names, port, options)
        # The last sessions' lines are written a moment after their ends.
        time.sleep(1.0)
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
    text = (scratch / "dovecot.log").read_text()
    if f'"hostname":"{socket.gethostname()}"' in text:
        fail("the events name this machine; this Dovecot does not heed DOVECOT_HOSTNAME")
    # What the server says of itself names its folder.
    return "".join(line for line in text.splitlines(keepends=True) if str(scratch) not in line)


def ordinary_user():
    """Who the server runs as: whoever started this, or nobody if that is root."""
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    return user, grp.getgrgid(user.pw_gid).gr_name


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(server, port, scratch):
    for _ in range(100):
        if server.poll() is not None:
            log = scratch / "dovecot.log"
            fail("Dovecot did not start: " + (log.read_text() if log.exists() else "it wrote no log"))
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    fail("Dovecot did not open its port within ten seconds")


def write_mail(maildir, draws):
    for folder in (maildir, maildir / ".Archive"):
        for part in ("cur", "new", "tmp"):
            (folder / part).mkdir(parents=True)
    for number in range(MESSAGES):
        sentence = lambda words: " ".join(draws.choice(WORDS) for _ in range(words))
        lines = [sentence(10) for _ in range(draws.randint(5, 80))]
        text = (
            f"From: {draws.choice(WORDS)}@example.org\nTo: someone@example.net\nSubject: {sentence(4)}\n"
            f"Date: Sat, 21 Nov 2026 {number // 60:02}:{number % 60:02}:00 +0000\nMessage-ID: <{number}@example.org>\n\n"
        )
        (maildir / "cur" / f"1795219200.{number:04}.mail.example:2,").write_text(text + "\n".join(lines) + "\n")


def walk(names, port, options):
    """All users at once, each on a thread of its own, until all their sessions are over."""
    failures = []
    end = time.monotonic() + LONGEST

    def user(name):
        draws = random.Random(f"{options.seed} walk of {name}")
        try:
            time.sleep(draws.uniform(0.0, 3.0))
            for _ in range(options.sessions):
                if time.monotonic() > end:
                    raise TimeoutError(f"the walk took longer than {LONGEST:.0f} s")
                Session(name, port, draws).walk()
                time.sleep(draws.expovariate(1 / 0.3))
        except Exception as error:  # told by the main thread
            failures.append(f"{name}: {error!r}")

    threads = [threading.Thread(target=user, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        fail("; ".join(failures))


class Session:
    """A web mail's session for one user: pages, each of a few commands."""

    def __init__(self, name, port, draws):
        self.draws = draws
        self.imap = imaplib.IMAP4("127.0.0.1", port, timeout=30)
        self.imap.login(name, PASSWORD)
        self.messages = 0
        self.message = 0
        self.word = ""

    def walk(self):
        page, before = "login", "login"
        while True:
            self.pause(page)
            ways = WAYS.get(page)
            if ways is None:
                page, before = ("search" if before == "search" else "list messages"), page
            else:
                page, before = self.draws.choices(list(ways), list(ways.values()))[0], page
            if page == "login":
                break
            getattr(self, page.replace(" ", "_"))(before)
        # Some close the window without logging out.
        if self.draws.random() < 0.1:
            self.imap.shutdown()
        else:
            self.imap.logout()

    def pause(self, page):
        pause = self.draws.expovariate(1 / PAUSES[page])
        if pause > 0.3 and self.draws.random() < 0.3:
            time.sleep(pause / 2)
            self.imap.noop()
            pause /= 2
        time.sleep(pause)

    def ask(self, answer):
        if answer[0] != "OK":
            raise RuntimeError(f"the server said {answer}")
        return answer[1]

    def list_folders(self, _):
        self.ask(self.imap.list('""', '"*"'))

    def list_messages(self, _):
        self.messages = int(self.ask(self.imap.select("INBOX"))[0])
        if self.messages == 0:
            raise RuntimeError("the inbox is empty: fewer sessions, please")
        self.headers(f"{max(1, self.messages - 9)}:{self.messages}")

    def headers(self, which):
        self.ask(self.imap.fetch(which, "(FLAGS RFC822.SIZE BODY.PEEK[HEADER.FIELDS (FROM SUBJECT DATE)])"))

    def one_of_the_list(self):
        return self.draws.randint(max(1, self.messages - 9), self.messages)

    def show_message(self, _):
        self.message = self.one_of_the_list()
        self.ask(self.imap.fetch(str(self.message), "(BODY[])"))

    def gone(self, before):
        """The message that is shown, else one of the list."""
        message = self.message if before == "show message" else self.one_of_the_list()
        self.ask(self.imap.store(str(message), "+FLAGS", "(\\Deleted)"))
        self.ask(self.imap.expunge())
        self.messages -= 1

    def delete(self, before):
        self.gone(before)

    def refile(self, before):
        message = self.message = self.message if before == "show message" else self.one_of_the_list()
        self.ask(self.imap.copy(str(message), "Archive"))
        self.gone("show message")

    def search(self, before):
        # Back from a delete the same words are looked for again.
        self.word = self.word if before in ("delete", "refile") else self.draws.choice(WORDS)
        found = self.ask(self.imap.search(None, "OR", f'SUBJECT "{self.word}"', f'FROM "{self.word}"'))[0].split()
        if found:
            self.headers(",".join(number.decode() for number in found[-10:]))


def fail(problem):
    print(f"dovecot.py: {problem}", file=sys.stderr)
    sys.exit(2)


CONFIGURATION = """
protocols = imap
listen = 127.0.0.1
base_dir = {scratch}/run
state_dir = {scratch}/state
log_path = {scratch}/dovecot.log
log_timestamp = "%Y-%m-%d %H:%M:%S.%{{usecs}} "
login_log_format_elements = user=<%u> method=%m rip=%r lip=%l mpid=%e %c session=<%{{session}}>
ssl = no
disable_plaintext_auth = no
auth_mechanisms = plain
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
first_valid_uid = 1
first_valid_gid = 1
mail_location = maildir:~/Maildir
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={scratch}/mail/%u
}}
service anvil {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    address = 127.0.0.1
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
event_exporter log {{
  format = json
  format_args = time-rfc3339
  transport = log
}}
metric imap_commands {{
  exporter = log
  filter = event=imap_command_finished
}}
metric imap_sessions {{
  exporter = log
  filter = event=mail_user_session_finished
}}
"""

if __name__ == "__main__":
    main()
