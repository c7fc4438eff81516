import type { NewRuntime } from '@holt/sdk'

/** The texts of the form of a create. An empty one means the default of the service. */
export interface CreateFields {
  readonly template: string
  readonly name: string
  readonly cpu: string
  readonly memory: string
  readonly disk: string
  readonly timeout: string
  readonly on_timeout: string
  readonly network_policy: string
}

/** An empty form. */
export const emptyFields: CreateFields = {
  template: '',
  name: '',
  cpu: '',
  memory: '',
  disk: '',
  timeout: '',
  on_timeout: '',
  network_policy: '',
}

/** Returns the body of a create. The service itself checks the values, and names each wrong one. */
export function bodyOf({ timeout, cpu, on_timeout, ...texts }: CreateFields): NewRuntime {
  const given = Object.entries(texts).flatMap(([name, text]) => (text.trim() === '' ? [] : [[name, text.trim()]]))
  return {
    ...Object.fromEntries(given),
    ...(cpu.trim() === '' ? {} : { cpu: Number(cpu) }),
    ...(timeout.trim() === '' ? {} : { timeout_secs: Number(timeout) * 60 }),
    ...(on_timeout === 'pause' || on_timeout === 'terminate' ? { on_timeout } : {}),
  }
}
