// A small service in Node, with nothing but what comes with it: PORT=8080 node cpu.js
//
// Its bottleneck is its one thread: every page derives a key, some eight milliseconds of it, and whatever comes meanwhile waits in
// the event loop, also for clients that are long gone.
const http = require('node:http');
const crypto = require('node:crypto');

const ROUNDS = 40_000;

http
  .createServer({ keepAliveTimeout: 30_000 }, (request, response) => {
    if (request.url === '/health') return response.end('up\n');
    const rounds = request.url.startsWith('/heavy') ? 4 * ROUNDS : ROUNDS;
    const key = crypto.pbkdf2Sync('secret', request.url, rounds, 32, 'sha256');
    response.setHeader('Content-Type', 'text/plain');
    response.end(key.toString('hex') + '\n');
  })
  .listen({ port: Number(process.env.PORT ?? 8080), host: '127.0.0.1', backlog: 1024 });
