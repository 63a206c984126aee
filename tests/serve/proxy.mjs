// Forwards requests to a server and adds its token. Names of the proxy become names of the server; others are kept, so
// that the server itself must refuse them.
//
//     node proxy.mjs BASE TOKEN      prints its own base URL

import http from "node:http";

const [base, token] = process.argv.slice(2);
const target = new URL(base);

const proxy = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const own = [`127.0.0.1:${proxy.address().port}`, `localhost:${proxy.address().port}`];
  if (own.includes(headers.host)) headers.host = target.host;
  if (own.some((host) => headers.origin === `http://${host}`)) headers.origin = target.origin;
  const options = { host: target.hostname, port: target.port, method: request.method, path: request.url, headers };
  const forwarded = http.request(options, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  forwarded.on("error", () => response.destroy());
  response.on("close", () => forwarded.destroy());
  request.pipe(forwarded);
});

proxy.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${proxy.address().port}`));
