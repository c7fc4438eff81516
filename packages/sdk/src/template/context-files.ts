import { HoltError } from '../errors/errors.ts'
import type { CallOptions, Transport } from '../transport/transport.ts'
import { type BlobEntry, blobArchive } from './blob-archive.ts'
import type { UploadedContext } from './context-upload.ts'
import { type IgnoreFile, parseIgnoreFile } from './ignore-file.ts'

/** A file of a context that is sent from memory, or from a browser. */
export interface ContextFile {
  /** The path in the context, with slashes: `src/app.py`. */
  readonly path: string
  readonly content: Blob | Uint8Array<ArrayBuffer> | string
  /** The permissions. Default: 0o755 for a script with `#!` and for an ELF program, else 0o644. */
  readonly mode?: number
  /** The time of the last change. Default: that of a `File`, else now. */
  readonly mtime?: Date
}

/** The options for sending files as a build's context. */
export interface UploadFilesOptions extends CallOptions {
  /**
   * The Dockerfile's path in the context. Rules in `PATH.dockerignore` precede those in
   * `.dockerignore`. Default: `Dockerfile`.
   */
  readonly dockerfile?: string
}

/** The permissions of directories, which browsers do not tell. */
const directoryMode = 0o755

/** Sends files as a build's context. Leaves out those that their .dockerignore excludes. */
export async function uploadFiles(
  transport: Transport,
  files: readonly ContextFile[],
  { signal, dockerfile = 'Dockerfile' }: UploadFilesOptions,
): Promise<UploadedContext> {
  const sent = await includedFiles(files, dockerfile)
  const archive = blobArchive([...directoriesOf(sent), ...(await Promise.all(sent.map(entryOf)))])
  const context = await transport.call('uploadContext', {
    bytes: archive,
    signal,
    idempotencyKey: crypto.randomUUID(),
    timeoutMs: null,
  })
  return { ...context, skipped: [] }
}

/**
 * Returns the files of a context that an ignore file among them does not exclude. A later file
 * replaces an earlier one of the same path.
 */
export async function includedFiles(
  files: readonly ContextFile[],
  dockerfile = 'Dockerfile',
): Promise<readonly ContextFile[]> {
  const byPath = new Map(files.map((file) => [checkedPath(file.path), file]))
  const ignore = await ignoreFileOf(byPath, dockerfile)
  return [...byPath.values()].filter(({ path }) => ignore?.ignores(path) !== true)
}

async function ignoreFileOf(files: ReadonlyMap<string, ContextFile>, dockerfile: string): Promise<IgnoreFile | null> {
  for (const place of [`${dockerfile}.dockerignore`, '.dockerignore']) {
    const file = files.get(place)
    if (file !== undefined) return parseIgnoreFile(await blobOf(file).text(), place)
  }
  return null
}

/** Returns a path of a context. Throws if it leads out of it. */
function checkedPath(path: string): string {
  const parts = path.split('/')
  if (!parts.some((part) => ['', '.', '..'].includes(part)) && !path.includes('\0')) return path
  throw new HoltError('invalid_request', `${JSON.stringify(path)} is not the path of a file in a context`, {
    hint: 'Give a relative path with slashes, such as src/app.py.',
  })
}

/** Returns the directories of files, each before its content. The context itself is first. */
function directoriesOf(files: readonly ContextFile[]): readonly BlobEntry[] {
  const paths = new Set(['./'])
  for (const { path } of files) {
    const parts = path.split('/')
    for (let depth = 1; depth < parts.length; depth += 1) paths.add(`${parts.slice(0, depth).join('/')}/`)
  }
  const mtimeSecs = files.reduce((newest, file) => Math.max(newest, changedAtSecs(file)), 0)
  return [...paths].map((path) => ({ path, content: null, mode: directoryMode, mtimeSecs }))
}

async function entryOf(file: ContextFile): Promise<BlobEntry> {
  const content = blobOf(file)
  const mode = file.mode ?? (await modeOf(content))
  return { path: file.path, content, mode: mode & 0o7777, mtimeSecs: changedAtSecs(file) }
}

/** Returns the mode for a file whose permissions are unknown: programs can be run. */
async function modeOf(content: Blob): Promise<number> {
  const head = new Uint8Array(await content.slice(0, 4).arrayBuffer())
  const isScript = head[0] === 0x23 && head[1] === 0x21
  const isElf = head[0] === 0x7f && head[1] === 0x45 && head[2] === 0x4c && head[3] === 0x46
  return isScript || isElf ? 0o755 : 0o644
}

function blobOf({ content }: ContextFile): Blob {
  return content instanceof Blob ? content : new Blob([content])
}

/** Returns the time of the last change in seconds since 1970. */
function changedAtSecs({ content, mtime }: ContextFile): number {
  const own = content instanceof File ? content.lastModified : Date.now()
  return Math.max(0, Math.floor((mtime?.getTime() ?? own) / 1000))
}
