import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { FileInfo } from '@holt/protocol'
import { HoltError } from '../errors/errors.ts'
import { type EntryFilter, type LocalEntry, readLocalTree } from '../tree/local-tree.ts'
import { planSync, type RemoteTree, type SyncPlan } from '../tree/plan-sync.ts'
import { FewAtOnce, type TransferOptions } from '../tree/transfer.ts'
import type { Files } from './files.ts'
import { sendEntries } from './upload.ts'

/** Options that make a directory of a runtime the same as a local one. */
export interface SyncOptions extends Omit<TransferOptions, 'overwrite'> {
  /** True if remote entries that do not exist here are removed. Default false. */
  readonly delete?: boolean
  /**
   * Returns true for a path, relative to the directory, that takes part. An excluded directory
   * excludes its content. Default: everything.
   */
  readonly keeps?: EntryFilter
  /**
   * True if files of the same size are compared by SHA-256 instead of their times. It reads them
   * all. Default false.
   */
  readonly checksum?: boolean
  /** True if the changes are only computed. Default false. */
  readonly dryRun?: boolean
}

/** The changes that were made, or would be with `dryRun`. Paths are relative. */
export interface SyncResult {
  readonly sent: readonly string[]
  readonly removed: readonly string[]
  readonly unchanged: number
  /** The bytes of the files that were sent. */
  readonly bytes: number
  /**
   * Local entries that cannot be sent, with the reason. `delete` does not remove them remotely
   * either.
   */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[]
}

/** The largest depth of a list. */
const deepest = 64
const pageSize = 10_000
const comparedAtOnce = 8

/**
 * Sends new and changed local entries as one archive that is merged into the remote directory; see
 * `Files.sync`.
 */
export async function syncTree(job: {
  readonly files: Files
  readonly localDir: string
  readonly remoteDir: string
  readonly options: SyncOptions
}): Promise<SyncResult> {
  const { files, localDir, remoteDir, options } = job
  const { signal, keeps = () => true, dryRun = false } = options
  const { entries: local, skipped } = await readLocalTree(localDir, { keeps, keepsHardLinks: false })
  const here = new Set(skipped.map(({ path }) => path))
  signal?.throwIfAborted()
  const remote = await readRemoteTree(files, remoteDir, signal)
  const equal = options.checksum === true ? await compareContent(job, local, remote) : null
  const plan = planSync(local, remote ?? new Map(), {
    deletes: options.delete === true,
    // Local entries that cannot be sent take no part, so they are not removed remotely.
    keeps: (path, isDirectory) => !here.has(path) && keeps(path, isDirectory),
    isSame: (entry, other) => (equal === null ? hasSameTime(entry, other) : equal.has(entry.path)),
  })
  if (!dryRun) await carryOut(job, plan, remote === null ? local : plan.send)
  return {
    sent: plan.send.map(({ path }) => path),
    removed: [...plan.makeRoom.filter((path) => remote?.get(path)?.type === 'directory'), ...plan.remove],
    unchanged: plan.unchanged,
    bytes: plan.send.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    skipped,
  }
}

async function carryOut(
  { files, localDir, remoteDir, options }: Parameters<typeof syncTree>[0],
  plan: SyncPlan,
  entries: readonly LocalEntry[],
): Promise<void> {
  const { signal } = options
  const remove = async (path: string) => files.remove(join(remoteDir, path), { recursive: true, signal })
  for (const path of plan.makeRoom) await remove(path)
  if (entries.length > 0) await sendEntries({ files, localDir, remoteDir, entries, how: { merge: true }, options })
  for (const path of plan.remove) await remove(path)
}

/** Returns the remote tree; null if it does not exist yet. */
async function readRemoteTree(
  files: Files,
  remoteDir: string,
  signal: AbortSignal | undefined,
): Promise<RemoteTree | null> {
  const tree = new Map<string, FileInfo>()
  const prefix = remoteDir === '/' ? '/' : `${remoteDir}/`
  try {
    for await (const entry of files.list(remoteDir, { signal, depth: deepest, limit: pageSize })) {
      // Local names are UTF-8, so another name cannot match one.
      if (entry.path.startsWith(prefix) && entry.path_base64 === undefined)
        tree.set(entry.path.slice(prefix.length), entry)
    }
    return tree
  } catch (error) {
    if (error instanceof HoltError && error.code === 'path_not_found') return null
    throw error
  }
}

/** Compares times in milliseconds, the precision of the service. */
function hasSameTime({ modifiedAtNs }: LocalEntry, { modified_at }: FileInfo): boolean {
  const wholeMs = modifiedAtNs / 1_000_000n - (modifiedAtNs < 0n && modifiedAtNs % 1_000_000n !== 0n ? 1n : 0n)
  return BigInt(Date.parse(modified_at)) === wholeMs
}

/** Returns the paths of files with the same content on both sides. */
async function compareContent(
  { files, localDir, options }: Parameters<typeof syncTree>[0],
  local: readonly LocalEntry[],
  remote: RemoteTree | null,
): Promise<Set<string>> {
  const equal = new Set<string>()
  const comparing = new FewAtOnce(comparedAtOnce)
  for (const { path, type, sizeBytes } of local) {
    const other = remote?.get(path)
    if (type !== 'file' || other?.type !== 'file' || other.size_bytes !== sizeBytes) continue
    await comparing.add(async () => {
      const [here, there] = await Promise.all([
        digestOf(createReadStream(join(localDir, path))),
        digestOf(await files.readStream(other.path, { signal: options.signal })),
      ])
      if (here === there) equal.add(path)
    })
  }
  await comparing.end()
  return equal
}

async function digestOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const part of content) hash.update(part)
  return hash.digest('hex')
}
