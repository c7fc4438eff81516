import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { type E2bServer, startE2bServer } from './e2b-server.ts'
import { tamper } from './test-store.ts'

/** The domain of the tests. */
export const portsDomain = 'e.test'

/** The settings of a runtime that a client of E2B makes. */
interface MadeWith {
  readonly publicPorts?: boolean
  readonly maskRequestHost?: string | null
  readonly auto_resume?: boolean
}

/** A server with runtimes whose ports have programs. */
export interface E2bPortServer extends E2bServer {
  /** Makes a runtime as the control plane does. */
  makeSandbox(settings?: MadeWith): Promise<string>
  /** Lets an HTTP program listen inside. The default one answers with the request as it got it. */
  program(id: string, port: number, listener?: RequestListener): Server
}

/** Starts a server with the entry for E2B's clients, in domain mode. */
export async function startE2bPortServer(
  env: Readonly<Record<string, string>> = {},
  options: Parameters<typeof startE2bServer>[1] = {},
): Promise<E2bPortServer> {
  const server = await startE2bServer({ HOLT_E2B_DOMAIN: portsDomain, ...env }, options)
  return {
    ...server,
    makeSandbox: async ({ publicPorts = true, maskRequestHost = null, auto_resume = true } = {}) => {
      const id = await server.makeRuntime({ auto_resume })
      const settings = JSON.stringify({ publicPorts, maskRequestHost, network: null })
      await tamper(server.stateDir, `UPDATE runtimes SET e2b_json = '${settings}' WHERE runtime_id = '${id}'`)
      return id
    },
    program: (id, port, listener = tell) => {
      const program = createServer(listener)
      server.engine.guest(id)?.ports.listen(port, (connection) => program.emit('connection', connection))
      return program
    },
  }
}

function tell(request: IncomingMessage, response: Parameters<RequestListener>[1]): void {
  const { method, url, headers } = request
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ method, url, headers }))
}
