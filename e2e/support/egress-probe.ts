import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { rig } from './rig/arrivals.ts'
import type { TestRuntime } from './test-runtime.ts'

const program = readFileSync(new URL('../probe/egress.py', import.meta.url), 'utf8')

/** One attempt to reach something from inside; `probe/egress.py` says what each kind does. */
export type Attempt =
  | {
      readonly kind: 'connect'
      readonly host: string
      readonly port: number
      /** The server name of TLS. Null: no name. Absent: no TLS. */
      readonly server_name?: string | null
      readonly trusts_all?: boolean
      readonly send?: string
      readonly half_close?: boolean
    }
  | {
      readonly kind: 'requests'
      readonly host: string
      readonly port: number
      readonly tls?: boolean
      readonly requests: readonly (readonly [method: string, path: string, fields: Readonly<Record<string, string>>])[]
    }
  | {
      readonly kind: 'dns'
      readonly server: string
      readonly port?: number
      readonly name: readonly string[]
      readonly type: 'A' | 'CNAME' | 'PTR' | 'MX' | 'TXT' | 'AAAA' | 'SRV' | 'HTTPS' | 'ANY'
      readonly over?: 'tcp'
    }
  | { readonly kind: 'datagram' | 'connect6'; readonly host: string; readonly port: number }
  | { readonly kind: 'ping'; readonly host: string }
  | {
      readonly kind: 'hold'
      readonly connections: readonly (readonly [host: string, port: number, serverName: string | null])[]
      readonly ready: string
      readonly stop: string
    }
  | {
      readonly kind: 'knock'
      readonly host: string
      readonly port: number
      readonly name: string
      readonly path: string
      readonly log: string
      readonly stop: string
    }

const Outcome = z.strictObject({
  /** `end`, an error's name, `no name`, `tls`, or `nothing` when nothing came for a long time. */
  end: z.string(),
  why: z.string().optional(),
  connected: z.boolean().optional(),
  issuer: z.string().nullable().optional(),
  received: z.string().optional(),
  answers: z.array(z.tuple([z.number(), z.string()])).optional(),
  code: z.number().optional(),
  records: z.array(z.tuple([z.number(), z.string()])).optional(),
  extended: z.number().nullable().optional(),
  ends: z.array(z.string()).optional(),
})

/** The result of an attempt. */
export type Outcome = z.infer<typeof Outcome>

/** The resolver that a runtime's programs ask. */
export const resolver = '198.18.0.1'

/** DNS codes (RFC 1035, 4.1.1; RFC 6895, 2.3). */
export const dnsCode = { ok: 0, malformed: 1, failed: 2, noSuchName: 3, refused: 5 } as const

/**
 * The issuer of the certificates of the rig's hosts. A spliced connection shows it, and a
 * terminated one does not.
 */
export const rigAuthority = 'test authority'

/** Has the rig's authority trusted inside, by the probe. */
export async function trustRig(runtime: TestRuntime): Promise<void> {
  const body = readFileSync(rig.caFile)
  const { status, text } = await runtime.call('PUT', '/files/content', { query: { path: '/srv/rig-ca.pem' }, body })
  if (status !== 201 && status !== 200) throw new Error(text)
}

/** The command that makes attempts. */
export function attemptsCommand(attempts: readonly Attempt[]): string[] {
  return ['python', '-c', program, JSON.stringify(attempts)]
}

/** Makes attempts inside, one after the other, as root. */
export async function attemptAll(runtime: TestRuntime, attempts: readonly Attempt[]): Promise<Outcome[]> {
  return z.array(Outcome).parse(await runtime.python(program, [JSON.stringify(attempts)], { timeout_secs: 120 }))
}

/** Makes one attempt inside. */
export async function attempt(runtime: TestRuntime, one: Attempt): Promise<Outcome> {
  const [outcome] = await attemptAll(runtime, [one])
  if (outcome === undefined) throw new Error('the probe has said nothing')
  return outcome
}

/** An attempt at TLS to a name as programs make it, with one request. */
export function https(host: string, path = '/', method = 'GET', port = 443): Attempt {
  return {
    kind: 'connect',
    host,
    port,
    server_name: host,
    send: `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
  }
}

/** An attempt at plain HTTP with one request. */
export function http(host: string, path = '/', name = host): Attempt {
  const send = `GET ${path} HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`
  return { kind: 'connect', host, port: 80, send }
}

/** The labels of a name. */
export function labels(name: string): string[] {
  return name.split('.')
}
