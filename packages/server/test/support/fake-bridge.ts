import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import type { FakeEngine } from '@holt/engine-testkit/fake'
import {
  InterpreterRefusal,
  type NewRun,
  TestInterpreter,
} from '../../../sdk/test/support/interpreter/test-interpreter.ts'
import type { TestRun } from '../../../sdk/test/support/interpreter/test-run.ts'
import { bridgePort } from '../../src/inside/code/bridge-connections.ts'
import { startTestServer, type TestServer } from './start-test-server.ts'
import type { Things } from './things-of-a-project.ts'

/** A server with a runtime in which a bridge listens. */
export interface CodeServer extends TestServer {
  readonly id: string
  /** The address of the runtime's contexts. */
  readonly contexts: string
  readonly interpreter: TestInterpreter
  /** Puts another program in the place of the bridge. */
  replaceBridge(listener: RequestListener): void
  /** Ends the bridge. */
  endBridge(): void
}

/** Starts a server over a fake engine, with one runtime and its bridge. */
export async function startCodeServer(options: Parameters<typeof startTestServer>[0] = {}): Promise<CodeServer> {
  const server = await startTestServer(options)
  const id = await server.makeRuntime()
  const interpreter = giveBridge(server.engine, id)
  const endBridge = () => server.engine.guest(id)?.ports.end(bridgePort)
  const replaceBridge = (listener: RequestListener) => {
    endBridge()
    listen(server.engine, id, listener)
  }
  return { ...server, id, contexts: `/v1/agents/runtime/${id}/contexts`, interpreter, replaceBridge, endBridge }
}

/** Starts a bridge in a runtime, and answers its interpreter. */
export function giveBridge(engine: FakeEngine, runtimeId: string): TestInterpreter {
  const interpreter = new TestInterpreter()
  listen(engine, runtimeId, bridgeOf(interpreter))
  return interpreter
}

/** Starts a bridge with the context and the run of some things, and two more contexts. */
export function giveCode(engine: FakeEngine, { runtime_id, context_id, run_id }: Things): void {
  const interpreter = giveBridge(engine, runtime_id)
  for (const id of [context_id, 'first', 'second']) interpreter.create('python', '/workspace', id)
  interpreter.start({ run_id, code: 'print x', context_id })
}

function listen(engine: FakeEngine, runtimeId: string, listener: RequestListener): void {
  const program = createServer(listener)
  engine.guest(runtimeId)?.ports.listen(bridgePort, (connection) => program.emit('connection', connection))
}

/** Returns a bridge to an interpreter, as an HTTP program. */
function bridgeOf(interpreter: TestInterpreter): RequestListener {
  return (request, response) => {
    answer(interpreter, request, response).catch((error: unknown) => {
      if (!(error instanceof InterpreterRefusal)) throw error
      const { code, message } = error
      send(response, code.endsWith('_exists') ? 409 : 404, { code, message })
    })
  }
}

async function answer(interpreter: TestInterpreter, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://bridge')
  const [, , kind, id = '', verb] = pathname.split('/').map(decodeURIComponent)
  const asked = `${request.method} ${kind ?? ''}${id === '' ? '' : '/ID'}${verb === undefined ? '' : `/${verb}`}`
  switch (asked) {
    case 'GET ':
      return send(response, 200, { ready: true, languages: interpreter.languages.map((language) => ({ language })) })
    case 'GET contexts':
      return send(response, 200, { contexts: interpreter.contexts })
    case 'POST contexts': {
      const { language, cwd, context_id } = (await json(request)) as Record<string, string | undefined>
      return send(response, 200, interpreter.create(language, cwd, context_id))
    }
    case 'GET contexts/ID':
      return send(response, 200, interpreter.context(id))
    case 'DELETE contexts/ID':
      interpreter.delete(id)
      return send(response, 200, {})
    case 'POST contexts/ID/interrupt':
      interpreter.interrupt(id)
      return send(response, 200, interpreter.context(id))
    case 'POST contexts/ID/restart':
      interpreter.restart(id)
      return send(response, 200, interpreter.context(id))
    case 'POST runs':
      return sendItems(response, interpreter.start((await json(request)) as NewRun), -1)
    case 'GET runs/ID':
      return sendItems(response, interpreter.run(id), Number(searchParams.get('cursor') ?? -1))
    case 'POST runs/ID/interrupt':
      interpreter.run(id).stop('interrupted')
      return send(response, 200, {})
    default:
      return send(response, 404, { code: 'route_not_found', message: asked })
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function sendItems(response: ServerResponse, run: TestRun, cursor: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  for await (const item of run.follow(cursor)) response.write(`${JSON.stringify(item)}\n`)
  response.end()
}
