import type { CreateBuildInput } from '@holt/sdk'
import { givenSize } from '../parts/given-size.ts'
import { pairsOf } from '../parts/pairs.ts'

/**
 * The texts of the form of a build. An empty one means the default. `env` and `build_args` have a
 * `KEY=VALUE` in each line.
 */
export const emptyFields = {
  dockerfile: '',
  name: '',
  tag: '',
  start_cmd: '',
  ready_cmd: '',
  on_restore: '',
  cpu: '',
  memory: '',
  disk: '',
  env: '',
  build_args: '',
  target: '',
  no_cache: '',
}

/** The fields of the form by name. */
export type BuildFields = Readonly<typeof emptyFields>

/** A build secret of the form. Its value is in the memory of the page only. */
export interface SecretField {
  readonly id: string
  readonly value: string
}

/** A form of a build. */
export interface BuildForm {
  readonly fields: BuildFields
  readonly secrets: readonly SecretField[]
  /** The fields of an earlier request that the form does not show. They are sent again. */
  readonly more: Readonly<Record<string, unknown>>
}

/** The form of a new build. */
export const emptyForm: BuildForm = { fields: emptyFields, secrets: [], more: {} }

/** Returns the body of a build. The service itself checks the values, and names each wrong one. */
export function bodyOf({ fields, secrets, more }: BuildForm): CreateBuildInput {
  const { dockerfile, cpu, memory, disk, env, build_args, no_cache, ...texts } = fields
  const named = secrets.filter(({ id }) => id.trim() !== '')
  const given = {
    ...more,
    ...Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.trim() || undefined])),
    dockerfile,
    cpu: cpu.trim() === '' ? undefined : Number(cpu),
    memory: givenSize(memory),
    disk: givenSize(disk),
    env: pairsOf(env),
    build_args: pairsOf(build_args),
    build_secrets:
      named.length === 0 ? undefined : Object.fromEntries(named.map(({ id, value }) => [id.trim(), value])),
    no_cache: no_cache === 'yes' ? true : undefined,
  }
  const present = Object.entries(given).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present) as unknown as CreateBuildInput
}

/** Returns the form of an earlier request. Its secrets have names, but no values. */
export function formOf(request: Readonly<Record<string, unknown>>, secretIds: readonly string[]): BuildForm {
  const { tag, cpu, env, build_args, no_cache, ...rest } = request
  const texts = Object.entries(rest).filter(([name, value]) => name in emptyFields && typeof value === 'string')
  const more = Object.entries(rest).filter(([name]) => !(name in emptyFields))
  return {
    fields: {
      ...emptyFields,
      ...Object.fromEntries(texts),
      tag: tag === 'latest' || typeof tag !== 'string' ? '' : tag,
      cpu: typeof cpu === 'number' ? String(cpu) : '',
      env: linesOf(env),
      build_args: linesOf(build_args),
      no_cache: no_cache === true ? 'yes' : '',
    },
    secrets: secretIds.map((id) => ({ id, value: '' })),
    more: Object.fromEntries(more),
  }
}

function linesOf(pairs: unknown): string {
  if (typeof pairs !== 'object' || pairs === null) return ''
  return Object.entries(pairs)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n')
}
