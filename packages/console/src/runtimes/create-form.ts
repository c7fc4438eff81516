import type { NewRuntime } from '@holt/sdk'

/**
 * The texts of the form of a create. An empty one means the default of the service. `env` and
 * `metadata` have a `KEY=VALUE` in each line. Spaces or commas separate the names of `secrets`.
 */
export const emptyFields = {
  template: '',
  snapshot: '',
  name: '',
  isolation: '',
  cpu: '',
  memory: '',
  disk: '',
  env: '',
  metadata: '',
  timeout: '',
  on_timeout: '',
  idle_timeout: '',
  auto_resume: '',
  network_policy: '',
  secrets: '',
}

/** The fields of the form by name. */
export type CreateFields = Readonly<typeof emptyFields>

/** Returns the body of a create. The service itself checks the values, and names each wrong one. */
export function bodyOf(fields: CreateFields): NewRuntime {
  const { cpu, memory, disk, env, metadata, timeout, idle_timeout, auto_resume, secrets, ...texts } = fields
  const given = {
    ...Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.trim() || undefined])),
    cpu: cpu.trim() === '' ? undefined : Number(cpu),
    memory: sizeOf(memory),
    disk: sizeOf(disk),
    env: pairsOf(env),
    metadata: pairsOf(metadata),
    timeout_secs: secondsOf(timeout),
    idle_timeout_secs: secondsOf(idle_timeout),
    auto_resume: auto_resume === '' ? undefined : auto_resume === 'yes',
    secrets: secrets.trim() === '' ? undefined : secrets.split(/[\s,]+/).filter((name) => name !== ''),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** Returns a size: a number means GiB. */
function sizeOf(text: string): number | string | undefined {
  const size = text.trim()
  if (size === '') return undefined
  return /^\d+(\.\d+)?$/.test(size) ? Number(size) : size
}

/** Returns minutes as seconds. Null: no end. */
function secondsOf(minutes: string): number | null | undefined {
  const text = minutes.trim()
  if (text === '') return undefined
  return text === 'none' ? null : Number(text) * 60
}

function pairsOf(text: string): Readonly<Record<string, string>> | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (lines.length === 0) return undefined
  return Object.fromEntries(
    lines.map((line) => {
      const [key = '', ...rest] = line.split('=')
      return [key.trim(), rest.join('=')]
    }),
  )
}
