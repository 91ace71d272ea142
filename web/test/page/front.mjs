// Serves the built page and passes `/api` on to a running `kith up`. For work on the page: a build is seen without
// building the program. With `isEmbedded` the page is the program's own, and this is only a network that can be cut.
// It rewrites Host and Origin, which the program checks.
import { createServer, request } from "node:http";
import { connect } from "node:net";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const DIST = fileURLToPath(new URL("../../dist/", import.meta.url));
const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2" };
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function startFront(target, { isEmbedded = false } = {}) {
  const headersFor = (headers) => ({ ...headers, host: target.host, ...(headers.origin ? { origin: target.origin } : {}) });
  const server = createServer(async (incoming, response) => {
    if (isEmbedded || incoming.url.startsWith("/api") || incoming.url === "/metrics") {
      const passed = request({ host: target.hostname, port: target.port, path: incoming.url, method: incoming.method, headers: headersFor(incoming.headers) }, (answer) => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      });
      passed.on("error", () => response.writeHead(502).end());
      incoming.pipe(passed);
      return;
    }
    const path = incoming.url === "/" ? "index.html" : normalize(incoming.url.split("?")[0]).replace(/^\/+/, "");
    try {
      const body = await readFile(join(DIST, path));
      response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream", "content-security-policy": CSP }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  const sockets = new Set();
  let isDown = false;
  server.on("upgrade", (incoming, client, head) => {
    if (isDown) return client.destroy();
    const host = connect(Number(target.port), target.hostname, () => {
      const lines = Object.entries(headersFor(incoming.headers)).map(([name, value]) => `${name}: ${value}`);
      host.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
      host.write(head);
      host.pipe(client).pipe(host);
    });
    sockets.add(client);
    const end = () => { client.destroy(); host.destroy(); sockets.delete(client); };
    for (const it of [host, client]) it.on("error", end).on("close", end);
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve({
      url: `http://127.0.0.1:${server.address().port}`,
      /** Breaks every WebSocket, and lets none through before it is mended, as a lost network would. */
      cut: () => { isDown = true; for (const it of sockets) it.destroy(); },
      mend: () => { isDown = false; },
      close: () => { for (const it of sockets) it.destroy(); server.close(); server.closeAllConnections(); },
    }));
  });
}
