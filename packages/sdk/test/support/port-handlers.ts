import { type Port, PortNumber, type RouteName } from '@holt/protocol'
import { runningOf } from './named-runtime.ts'
import { now } from './samples.ts'
import type { TestAnswer, TestCall } from './test-service.ts'

/**
 * Ports of the test service: those in `listening` are listened on. Tokens name their generation.
 */
export const portHandlers = {
  listPorts: (call: TestCall): TestAnswer => {
    runningOf(call)
    const data = [...call.service.listening].map((port) => ({ port, public: isPublic(call, port), listening: true }))
    return { status: 200, json: { data } }
  },
  getPort: (call: TestCall): TestAnswer => ({ status: 200, json: present(call) }),
  updatePort: (call: TestCall): TestAnswer => {
    const others = publicPorts(call).filter(({ port }) => port !== portOf(call))
    const wanted = (call.body as { public: boolean }).public
    runningOf(call).ports = [...others, ...(wanted ? [{ port: portOf(call), public: true }] : [])]
    return { status: 200, json: present(call) }
  },
  rotatePort: (call: TestCall): TestAnswer => {
    call.service.generation += 1
    return { status: 200, json: present(call) }
  },
} satisfies Partial<Record<RouteName, (call: TestCall) => TestAnswer>>

function present(call: TestCall): Port {
  const port = portOf(call)
  const { runtime_id } = runningOf(call)
  return {
    runtime_id: runtime_id as Port['runtime_id'],
    port,
    public: isPublic(call, port),
    listening: call.service.listening.has(port),
    url: `http://${port}-${runtime_id}.localhost:1/`,
    path_url: `http://elsewhere/v1/agents/runtime/${runtime_id}/ports/${port}/proxy/`,
    token: `${call.query.once === 'true' ? 'once' : 'token'}-${call.service.generation}`,
    expires_at: now(),
  }
}

function portOf({ params }: TestCall): number {
  return PortNumber.parse(params.port)
}

function publicPorts(call: TestCall): readonly { port: number; public: true }[] {
  return runningOf(call).ports as { port: number; public: true }[]
}

function isPublic(call: TestCall, port: number): boolean {
  return publicPorts(call).some((one) => one.port === port)
}
