import type { BuildHost, CacheMount } from '../contract/build-contract.ts'
import { type FilesContext, type OpenFiles, openFiles, streamOf } from './copy-files.ts'
import type { ResolvedMount, RunWork } from './resolved-step.ts'
import type { StepRuntime } from './step-runtime.ts'

/** The context for making mounts. */
export interface MountsContext extends FilesContext {
  readonly host: BuildHost
  /** The values of the build secrets. */
  readonly secrets: Readonly<Record<string, string>>
}

/** The active mounts of one command. */
export interface UsedMounts extends AsyncDisposable {
  /** True if a secret is among them. */
  readonly usedSecrets: boolean
  /** Stores the content of caches for later builds. */
  keep(): Promise<void>
  /** Removes the mounts and restores the paths below them. */
  clear(): Promise<void>
}

interface HeldCache {
  readonly cache: CacheMount
  readonly target: string
}

/**
 * Creates a command's mounts: directories and files at their targets, for as long as the command
 * runs.
 */
export async function useMounts(runtime: StepRuntime, work: RunWork, context: MountsContext): Promise<UsedMounts> {
  const { guest } = runtime
  const { signal } = context
  await using owned = new AsyncDisposableStack()
  const caches: HeldCache[] = []
  const any = work.mounts.length > 0 || work.script !== null
  for (const [index, mount] of work.mounts.entries()) {
    const at = { id: `m${index}`, target: mount.target }
    if (mount.type === 'tmpfs') await guest.mounts.add([{ ...at, kind: 'directory', mode: '1777' }], signal)
    else if (mount.type === 'secret') {
      const { uid, gid } = mount
      const content = Buffer.from(context.secrets[mount.id] ?? '')
      await guest.mounts.add([{ ...at, kind: 'file', mode: octal(mount.mode), uid, gid, content }], signal)
    } else if (mount.type === 'bind')
      await fill(runtime, mount.target, { at, open: await openFiles(mount.files, context) }, signal)
    else {
      const cache = owned.use(await openCache(mount, context))
      await fillCache(runtime, mount, { at, cache, context })
      if (!mount.readOnly) caches.push({ cache, target: mount.target })
    }
  }
  if (work.script !== null) {
    const { path, text } = work.script
    const content = Buffer.from(text)
    await guest.mounts.add([{ id: 'script', target: path, kind: 'file', mode: '0755', content }], signal)
  }
  const kept = owned.move()
  return {
    usedSecrets: work.mounts.some(({ type }) => type === 'secret'),
    keep: async () => {
      for (const { cache, target } of caches) {
        const exclude = mountedBelow(target, work)
        const { body } = await guest.trees.select({ sources: [escaped(target)], exclude }, signal)
        await cache.write(body)
      }
    },
    clear: async () => {
      if (any) await guest.mounts.clear(signal)
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

/**
 * Returns patterns of the other mounts of a command below a directory, such as a secret. Their
 * content does not belong to the directory.
 */
export function mountedBelow(directory: string, { mounts, script }: Pick<RunWork, 'mounts' | 'script'>): string[] {
  const targets = [...mounts.map(({ target }) => target), ...(script === null ? [] : [script.path])]
  return targets
    .filter((target) => target.startsWith(`${directory}/`))
    .map((path) => escaped(path.slice(directory.length + 1).replace(/\/$/, '')))
}

interface Place {
  readonly id: string
  readonly target: string
}

async function fill(
  { guest }: StepRuntime,
  target: string,
  { at, open }: { readonly at: Place; readonly open: OpenFiles },
  signal: AbortSignal,
): Promise<void> {
  await guest.mounts.add([{ ...at, kind: open.singleFile ? 'file' : 'directory', mode: '0755' }], signal)
  await guest.trees.apply({ ...open, destination: target, chown: null, mode: null }, signal)
}

type CacheMountOf = Extract<ResolvedMount, { type: 'cache' }>

function openCache({ id, sharing }: CacheMountOf, { host, signal }: MountsContext): Promise<CacheMount> {
  return host.cache.openMount(id, { locked: sharing === 'locked', signal })
}

async function fillCache(
  { guest }: StepRuntime,
  { target, mode, uid, gid, files }: CacheMountOf,
  { at, cache, context }: { readonly at: Place; readonly cache: CacheMount; readonly context: MountsContext },
): Promise<void> {
  const { signal } = context
  await guest.mounts.add([{ ...at, kind: 'directory', mode: octal(mode ?? 0o755), uid, gid }], signal)
  const held = cache.read()
  const open: OpenFiles | null =
    held !== null
      ? { singleFile: false, keepOwners: true, unpack: false, body: streamOf(held) }
      : files === null
        ? null
        : await openFiles(files, context)
  if (open === null) return
  await guest.trees.apply({ ...open, destination: `${target}/`, chown: null, mode: null }, signal)
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}

/** Returns a pattern that matches only this path. */
function escaped(path: string): string {
  return path.replace(/[\\*?[]/g, '\\$&')
}
