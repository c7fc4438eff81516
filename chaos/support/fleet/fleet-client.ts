import type { FleetHost } from '../../../e2e/support/fleet/fleet-host.ts'
import { outsideName, speaker } from '../../../e2e/support/fleet/outside.ts'
import { patientEntryOf } from './entry-of.ts'

/** The time for an answer, in milliseconds. A host that is cut off may not answer at all. */
const answerMs = 20_000

const runtimesPath = '/v1/agents/runtime'

/** An answer with its body read. */
interface FleetAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any
}

/** Sends a request to one host. Null: there is no answer. */
export async function askHost(
  { url, key }: FleetHost,
  method: string,
  path: string,
  json?: object,
): Promise<FleetAnswer | null> {
  try {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      signal: AbortSignal.timeout(answerMs),
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    })
    const text = await answer.text()
    return { status: answer.status, json: text === '' ? null : JSON.parse(text) }
  } catch {
    return null // The host is cut off, stopped or dead.
  }
}

/** Sends a request that has to succeed, and returns its body. */
export async function mustAsk(
  host: FleetHost,
  method: string,
  path: string,
  json?: object,
): Promise<FleetAnswer['json']> {
  const headers: Record<string, string> = method === 'POST' ? { 'idempotency-key': crypto.randomUUID() } : {}
  const request = { headers, ...(json === undefined ? {} : { json }) }
  const answer = await patientEntryOf(host, host.key).server.ask(method, path, request)
  if (answer.status >= 300) throw new Error(`${method} ${path} at ${host.place}: ${answer.text}\n${host.log(10)}`)
  return answer.json
}

/** Makes a runtime through a host, which sends to the outside from then on. Returns its id. */
export async function startSpeaking(host: FleetHost, isolation: string): Promise<string> {
  const network_policy = { allow: [{ host: outsideName, ports: [80] }] }
  const { runtime_id } = await mustAsk(host, 'POST', runtimesPath, { isolation, network_policy, timeout_secs: null })
  const argv = ['python3', '-c', speaker(runtime_id)]
  await mustAsk(host, 'POST', `${runtimesPath}/${runtime_id}/commands`, { argv, background: true })
  return runtime_id
}

/** The state of a runtime, as a host tells it. */
export interface ToldState {
  readonly state: string
  readonly reason: string | null
}

/** Asks a host for the state of a runtime. Null: it does not answer. */
export async function stateOf(host: FleetHost, runtimeId: string): Promise<ToldState | null> {
  const answer = await askHost(host, 'GET', `${runtimesPath}/${runtimeId}`)
  if (answer?.status !== 200) return null
  return { state: answer.json.state, reason: answer.json.state_reason?.code ?? null }
}
