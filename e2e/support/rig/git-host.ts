import { spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { makeGitRepository } from './registries.ts'

/** The host of a private repository, over git's smart protocol. */
export const gitHost = 'code.example.com'

/** The token with which the repository may be read and written. */
export const gitToken = 'token-of-the-private-repository'

const longestMs = 60_000

/** A request of git as it arrived. */
export interface GitRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Makes the private repository `team/project.git`. Returns the function that answers for it. */
export async function startGitHost(
  directory: string,
): Promise<(request: GitRequest, response: ServerResponse) => Promise<void>> {
  await mkdir(join(directory, 'team'), { recursive: true })
  await makeGitRepository(join(directory, 'team/project.git'))
  return async (request, response) => {
    if (passwordOf(request.headers.authorization) !== gitToken) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="code"' })
      response.end()
      return
    }
    await answerByBackend(directory, request, response)
  }
}

/** Runs `git http-backend`, which is a CGI program (RFC 3875). */
async function answerByBackend(directory: string, request: GitRequest, response: ServerResponse): Promise<void> {
  const { pathname, search } = new URL(request.path, `https://${gitHost}`)
  const backend = spawn('git', ['http-backend'], {
    timeout: longestMs,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      HOME: '/nonexistent',
      GIT_PROJECT_ROOT: directory,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'safe.directory',
      GIT_CONFIG_VALUE_0: '*',
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      REMOTE_USER: 'tester',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      CONTENT_LENGTH: String(request.body.length),
      HTTP_CONTENT_ENCODING: String(request.headers['content-encoding'] ?? ''),
      HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
  })
  backend.stdin.on('error', () => {}) // The backend may answer before it has read everything.
  backend.stdin.end(request.body)
  const output = await buffer(backend.stdout)
  const end = output.indexOf('\r\n\r\n')
  const head = output.subarray(0, Math.max(0, end)).toString('latin1')
  const headers = new Map(
    head.split('\r\n').map((line) => {
      const [name = '', ...rest] = line.split(': ')
      return [name.toLowerCase(), rest.join(': ')] as const
    }),
  )
  const status = Number.parseInt(headers.get('status') ?? '200', 10)
  headers.delete('status')
  headers.delete('')
  response.writeHead(status, Object.fromEntries(headers))
  response.end(output.subarray(end + 4))
}

function passwordOf(authorization: string | undefined): string | null {
  const [scheme, encoded = ''] = (authorization ?? '').split(' ')
  if (scheme?.toLowerCase() !== 'basic') return null
  return Buffer.from(encoded, 'base64').toString().split(':').slice(1).join(':')
}
