import type { IncomingMessage, ServerResponse } from 'node:http'
import { serveRpc } from '../connect/serve-rpc.ts'
import { ConnectError } from '../errors/connect-error.ts'
import { E2bError } from '../errors/e2b-error.ts'
import type { EnvdRouteName } from '../routes/envd-routes.ts'
import type { SandboxEntry } from './backend/sandbox.ts'
import { serveFiles } from './files/serve-files.ts'
import { filesystemMethods } from './filesystem/filesystem-service.ts'
import { processMethods } from './process/process-service.ts'
import { usageAnswer } from './usage-answer.ts'

const methods = { ...processMethods, ...filesystemMethods }

/** The paths of all RPCs, such as `/process.Process/Start`. */
export const rpcPaths: readonly string[] = Object.keys(methods)

/** A request for the agent of a sandbox, which clients reach at port 49983. */
export interface EnvdRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly route: EnvdRouteName
  readonly path: string
  readonly query: string
}

/** An answer of JSON to a request that is no RPC. Null: without a body, or written already. */
export type RestAnswer = { readonly status: 200 | 204; readonly json?: unknown } | null

/**
 * Answers a request for the agent of a sandbox: commands, terminals, files and watches. Writes the
 * answers of RPCs and downloads itself, and returns other ones. Rejects with `E2bError`.
 */
export async function serveEnvd(asked: EnvdRequest, entry: SandboxEntry): Promise<RestAnswer> {
  const { request, response, route, path } = asked
  response.on('error', () => {
    // The connection is broken, of which `close` tells.
  })
  const errorOf = (error: unknown) =>
    error instanceof ConnectError || error instanceof E2bError ? error : entry.errorOf(error)
  if (route !== 'callProcess' && route !== 'callFilesystem')
    return serveRest(asked, entry).catch((error: unknown) => {
      throw asRestError(errorOf(error))
    })
  const method = methods[path]
  if (method === undefined) throw new E2bError(404, 'There is no such method')
  await serveRpc(method, { request, response, errorOf }, async () => {
    const context = await entry.enter()
    return { context, limits: context.limits, gone: context.gone }
  })
  return null
}

async function serveRest(asked: EnvdRequest, entry: SandboxEntry): Promise<RestAnswer> {
  const { route } = asked
  const sandbox = await entry.enter()
  if (route === 'readFile' || route === 'writeFiles') {
    const json = await serveFiles({ ...asked, query: new URLSearchParams(asked.query) }, sandbox)
    return json === null ? null : { status: 200, json }
  }
  const inside = await sandbox.open()
  if (route === 'envdHealth') return { status: 204 }
  if (route === 'envdEnvs') return { status: 200, json: await inside.variables(sandbox.gone) }
  return { status: 200, json: usageAnswer(await inside.usage(sandbox.gone), entry.now()) }
}

function asRestError(error: ConnectError | E2bError): E2bError {
  return error instanceof E2bError ? error : new E2bError(error.status, error.message, { cause: error })
}
