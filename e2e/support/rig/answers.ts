import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { knownBytes } from './known-bytes.ts'
import type { ArrivedRequest } from './records.ts'
import type { Registries } from './registries.ts'
import { answerAsVendor, isVendor } from './vendor-apis.ts'

/** The host that gives tokens for client credentials (RFC 6749, 4.4). */
const tokenHost = 'token.example.com'

let tokens = 0

/**
 * Answers a request: a registry's file, what its path asks for, or else everything that arrived, as
 * JSON.
 */
export async function answer(
  registries: Registries,
  { host, arrived, response }: { host: string; arrived: ArrivedRequest; response: ServerResponse },
): Promise<void> {
  const { path } = arrived
  const file = await registries.find(host, path)
  if (file !== null) {
    response.writeHead(200, { 'content-type': file.type })
    response.end(file.path === null ? file.content : await readFile(file.path))
  } else if (registries.owns(host)) {
    response.writeHead(404)
    response.end()
  } else if (isVendor(host)) {
    const { status, type, body } = answerAsVendor({ host, ...arrived })
    response.writeHead(status, { 'content-type': type })
    response.end(body)
  } else if (host === tokenHost) {
    tokens += 1
    sendJson(response, { access_token: `rig-access-token-${tokens}-of-many`, token_type: 'Bearer', expires_in: 3600 })
  } else if (path.startsWith('/redirect?to=')) {
    response.writeHead(302, { location: decodeURIComponent(path.slice('/redirect?to='.length)) })
    response.end()
  } else if (path.startsWith('/bytes/')) {
    response.writeHead(200, { 'content-type': 'application/octet-stream' })
    response.end(Buffer.alloc(Number(path.slice('/bytes/'.length)), 'x'))
  } else if (path.startsWith('/known-bytes/')) {
    response.writeHead(200, { 'content-type': 'application/octet-stream' })
    knownBytes(Number(path.slice('/known-bytes/'.length)))
      .on('error', () => response.destroy())
      .pipe(response)
  } else if (path === '/events') {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: first\n\n')
  } else if (path === '/echo') {
    sendJson(response, arrived, { 'x-echo': arrived.rawHeaders.join(' ') })
  } else if (path === '/gzip') {
    // The upstream ignores the request.
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
    response.end(gzipSync(JSON.stringify(arrived)))
  } else {
    sendJson(response, { host, ...arrived }, { 'x-host': host })
  }
}

function sendJson(response: ServerResponse, body: object, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}
