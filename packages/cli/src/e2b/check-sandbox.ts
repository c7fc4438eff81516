import type { ClientSettings } from './client-settings.ts'
import { type Finding, reasonOf } from './finding.ts'

/** The time for a create, in milliseconds. The first one may wait for the base template. */
const createTimeoutMs = 120_000
/** The time for any other request, in milliseconds. */
const answerTimeoutMs = 30_000
/** The life of the sandbox, in seconds, if it is left behind. */
const lifeSecs = 120

interface Made {
  readonly sandboxID: string
  readonly envdAccessToken: string
}

/** Makes a sandbox over HTTP, uses its files and commands, and removes it. */
export async function checkSandbox(settings: ClientSettings): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const step = async <Result>(name: string, run: () => Promise<{ message: string; result: Result }>) => {
    try {
      const { message, result } = await run()
      findings.push({ name, status: 'ok', message })
      return result
    } catch (error) {
      findings.push({ name, status: 'fix', message: reasonOf(error) })
      return null
    }
  }
  const made = await step('create', () => create(settings))
  if (made === null) return findings
  await step('egress', () => describeEgress(settings, made))
  await step('files', () => useFiles(settings, made))
  await step('commands', () => runCommand(settings, made))
  await step('kill', () => kill(settings, made))
  return findings
}

async function create({ apiUrl, key }: ClientSettings): Promise<{ message: string; result: Made }> {
  const answer = await fetch(`${apiUrl}/v2/sandboxes`, {
    method: 'POST',
    headers: { 'X-API-KEY': key, 'content-type': 'application/json' },
    body: JSON.stringify({ templateID: 'base', timeout: lifeSecs }),
    signal: AbortSignal.timeout(createTimeoutMs),
  })
  const result = (await expectStatus(answer, 201)) as Made
  return { message: `sandbox ${result.sandboxID} of the template base`, result }
}

async function describeEgress({ apiUrl, key }: ClientSettings, { sandboxID }: Made) {
  const answer = await ask(`${apiUrl}/sandboxes/${sandboxID}`, { headers: { 'X-API-KEY': key } })
  const { allowInternetAccess } = (await expectStatus(answer, 200)) as { allowInternetAccess?: boolean | null }
  return { message: reachOf(allowInternetAccess), result: true }
}

/** Says what a sandbox reaches that did not ask for anything. */
function reachOf(allowInternetAccess: boolean | null | undefined): string {
  if (allowInternetAccess === true) return 'a sandbox reaches the Internet unless its create says no'
  if (allowInternetAccess === null) return 'a sandbox reaches the hosts of a network policy'
  return 'a sandbox that does not ask for the Internet reaches no host. If your programs fetch packages without asking, start the service with HOLT_E2B_EGRESS=open'
}

async function useFiles(settings: ClientSettings, made: Made) {
  const url = `${settings.envdUrl(made.sandboxID)}/files?path=holt-e2b-check.txt`
  const headers = envdHeaders(made)
  const form = new FormData()
  form.append('file', new Blob(['checked']), 'holt-e2b-check.txt')
  await expectStatus(await ask(url, { method: 'POST', headers, body: form }), 200)
  const answer = await ask(url, { headers })
  const text = await answer.text()
  if (answer.status !== 200 || text !== 'checked')
    throw new Error(`reading a file answers ${answer.status}: ${text.slice(0, 200)}`)
  return { message: 'a file was written and read', result: true }
}

/** Runs a command with one message in Connect's form: a byte of flags, four of the length, JSON. */
async function runCommand(settings: ClientSettings, made: Made) {
  const message = Buffer.from(
    JSON.stringify({ process: { cmd: '/bin/bash', args: ['-l', '-c', 'echo $((6 * 7))'] }, stdin: false }),
  )
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  const answer = await ask(`${settings.envdUrl(made.sandboxID)}/process.Process/Start`, {
    method: 'POST',
    headers: { ...envdHeaders(made), 'content-type': 'application/connect+json', 'connect-protocol-version': '1' },
    body: Buffer.concat([head, message]),
  })
  const text = await answer.text()
  if (!text.includes(Buffer.from('42\n').toString('base64')))
    throw new Error(`a command answers ${answer.status}: ${text.slice(0, 300)}`)
  return { message: 'a command ran', result: true }
}

async function kill({ apiUrl, key }: ClientSettings, { sandboxID }: Made) {
  const answer = await ask(`${apiUrl}/sandboxes/${sandboxID}`, { method: 'DELETE', headers: { 'X-API-KEY': key } })
  await expectStatus(answer, 204)
  return { message: 'the sandbox was removed', result: true }
}

function envdHeaders({ sandboxID, envdAccessToken }: Made): Record<string, string> {
  return { 'X-Access-Token': envdAccessToken, 'E2b-Sandbox-Id': sandboxID, 'E2b-Sandbox-Port': '49983' }
}

function ask(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, { ...init, signal: AbortSignal.timeout(answerTimeoutMs) })
}

/** Returns the body of an answer as JSON. Throws with the service's message for another status. */
async function expectStatus(answer: Response, status: number): Promise<unknown> {
  const text = await answer.text()
  if (answer.status !== status) throw new Error(`${answer.url} answers ${answer.status}: ${text.slice(0, 300)}`)
  return text === '' ? null : JSON.parse(text)
}
