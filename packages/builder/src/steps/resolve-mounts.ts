import type { Mount } from '../dockerfile/plan.ts'
import { BuildError } from '../errors.ts'
import type { Files, ResolvedMount, SecretVariable } from './resolved-step.ts'
import { pathOf, type StepContext } from './step-context.ts'

/** The expanded mounts of a command. */
export interface ResolvedMounts {
  readonly mounts: readonly ResolvedMount[]
  readonly variables: readonly SecretVariable[]
  /**
   * All inputs that the result of the command depends on. For secrets and the content of a cache,
   * only their presence counts.
   */
  readonly key: unknown
}

/** Expands the words of a command's mounts. A missing secret is omitted, unless it is required. */
export async function resolveMounts(mounts: readonly Mount[], stepContext: StepContext): Promise<ResolvedMounts> {
  const resolved: ResolvedMount[] = []
  const variables: SecretVariable[] = []
  const keys: unknown[] = []
  for (const mount of mounts) {
    if (mount.type === 'secret') {
      const secret = resolveSecret(mount, stepContext)
      keys.push(['secret', mount.id, secret])
      if (secret?.mount != null) resolved.push(secret.mount)
      if (secret?.variable != null) variables.push(secret.variable)
    } else {
      const { mount: one, key } = await resolveMount(mount, stepContext)
      resolved.push(one)
      keys.push(key)
    }
  }
  return { mounts: resolved, variables, key: keys }
}

async function resolveMount(
  mount: Exclude<Mount, { type: 'secret' }>,
  stepContext: StepContext,
): Promise<{ readonly mount: ResolvedMount; readonly key: unknown }> {
  const { scope } = stepContext
  const target = pathOf(scope.expand(mount.target), scope.workdir).replace(/(.)\/$/, '$1')
  if (target === '/') throw new BuildError('unsupported_setting', 'A mount cannot have / as its target.')
  if (mount.type === 'tmpfs') return { mount: { type: 'tmpfs', target }, key: ['tmpfs', target] }
  const { readOnly } = mount
  const { files, key } = mount.from === null ? { files: null, key: null } : await filesOf(mount, stepContext)
  if (mount.type === 'bind') {
    if (files === null) throw new Error('a bind mount has files')
    return { mount: { type: 'bind', target, files, readOnly }, key: ['bind', target, key, readOnly] }
  }
  const rest = {
    id: scope.expand(mount.id) || target,
    sharing: mount.sharing,
    mode: modeOf(mount.mode, stepContext),
    uid: idOf(mount.uid, stepContext) ?? 0,
    gid: idOf(mount.gid, stepContext) ?? 0,
    readOnly,
  }
  return { mount: { type: 'cache', target, files, ...rest }, key: ['cache', target, rest, key] }
}

async function filesOf(
  { from, source }: Extract<Mount, { type: 'bind' | 'cache' }>,
  { scope, sources }: StepContext,
): Promise<{ readonly files: Files; readonly key: unknown }> {
  const pattern = scope.expand(source) || '/'
  if (from === null || from.type === 'context') {
    const selection = await sources.context().select([pattern], { literal: true })
    return { files: { type: 'context', selection, unpack: false }, key: selection.digest }
  }
  const files = { type: 'runtime', from, patterns: [pattern], exclude: [] } as const
  return { files, key: [await sources.keyOf(from), pattern] }
}

function resolveSecret(
  mount: Extract<Mount, { type: 'secret' }>,
  stepContext: StepContext,
): { readonly mount: ResolvedMount | null; readonly variable: SecretVariable | null } | null {
  const { scope, secrets } = stepContext
  const id = scope.expand(mount.id)
  if (!secrets.has(id)) {
    if (!mount.required) return null
    throw new BuildError('step_failed', `The build secret ${JSON.stringify(id)} is required and was not given.`, {
      hint: `Give it as build_secrets.${id}, or with --secret id=${id}.`,
    })
  }
  const variable = mount.env === null ? null : { id, name: scope.expand(mount.env) }
  if (variable !== null && mount.target === null) return { mount: null, variable }
  const target = pathOf(mount.target === null ? `/run/secrets/${id}` : scope.expand(mount.target), scope.workdir)
  const rest = {
    mode: modeOf(mount.mode, stepContext) ?? 0o400,
    uid: idOf(mount.uid, stepContext) ?? 0,
    gid: idOf(mount.gid, stepContext) ?? 0,
  }
  return { mount: { type: 'secret', target, id, ...rest }, variable }
}

function modeOf(word: string | null, { scope }: StepContext): number | null {
  if (word === null) return null
  const text = scope.expand(word)
  if (!/^0?[0-7]{3,4}$/.test(text))
    throw new BuildError('dockerfile_invalid', `mode=${text.slice(0, 40)} is not a mode.`)
  return Number.parseInt(text, 8)
}

function idOf(word: string | null, { scope }: StepContext): number | null {
  if (word === null) return null
  const text = scope.expand(word)
  if (!/^\d{1,10}$/.test(text) || Number(text) >= 2 ** 32 - 1)
    throw new BuildError('dockerfile_invalid', `${text.slice(0, 40)} is not the number of a user or group.`)
  return Number(text)
}
