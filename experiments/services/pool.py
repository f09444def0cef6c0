"""A small shop in Python, with nothing but the standard library: python3 pool.py --port 8080

Its bottleneck is a pool of four database connections: every page takes one, reads a table with it, and holds it for the round trip
that a database on another machine would take. Threads are cheap, so whoever comes waits for a connection, also those who are
long gone.
"""
import argparse, queue, sqlite3, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ITEMS, CONNECTIONS, ROUND_TRIP = 2000, 4, 0.030  # the last in seconds


def database():
    db = sqlite3.connect(":memory:", check_same_thread=False)
    db.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price INTEGER)")
    db.executemany("INSERT INTO items VALUES (?, ?, ?)", ((n, f"item {n}", n * 37 % 1000) for n in range(ITEMS)))
    return db


pool = queue.Queue()
for _ in range(CONNECTIONS):
    pool.put(database())


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        if self.path == "/health":
            return self.answer(200, "up\n")
        db = pool.get()
        try:
            time.sleep(ROUND_TRIP * (2 if self.path.startswith("/report") else 1))
            rows = db.execute("SELECT name, price FROM items WHERE price < 500 ORDER BY price, name LIMIT 10").fetchall()
        finally:
            pool.put(db)
        self.answer(200, "".join(f"{name}: {price}\n" for name, price in rows))

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 1024

    def handle_error(self, *_):
        pass  # a client that has left


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--port", type=int, default=8080)
    Server(("127.0.0.1", arguments.parse_args().port), Shop).serve_forever()
