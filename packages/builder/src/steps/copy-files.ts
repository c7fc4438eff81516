import { Readable } from 'node:stream'
import { writeTar } from '@holt/tar'
import type { FileSources } from './file-sources.ts'
import type { CopyWork, Files } from './resolved-step.ts'
import type { StepRuntime } from './step-runtime.ts'

/** The mode of files whose text is in the Dockerfile, as in Docker. */
const TEXT_MODE = 0o644

/** Files on their way into a runtime. */
export interface OpenFiles {
  /**
   * True for one file, which may get the name of the destination. Otherwise names are relative to
   * the destination.
   */
  readonly singleFile: boolean
  /** True if the owners of another stage or image are kept. Otherwise root owns all files. */
  readonly keepOwners: boolean
  readonly unpack: boolean
  readonly body: Readable
}

/** The sources of files, and the signal that aborts. */
export interface FilesContext {
  readonly sources: FileSources
  readonly signal: AbortSignal
}

/** Runs a COPY or an ADD. */
export async function copyFiles(runtime: StepRuntime, work: CopyWork, context: FilesContext): Promise<void> {
  const { chown, chmod, parts } = work
  const several = parts.length > 1 && !work.destination.endsWith('/')
  const destination = several ? `${work.destination}/` : work.destination
  for (const files of parts) {
    const open = await openFiles(files, { ...context, parents: work.parents })
    await runtime.guest.trees.apply({ ...open, destination, chown, mode: chmod }, context.signal)
  }
}

/** Opens files that are read once. */
export async function openFiles(
  files: Files,
  { sources, signal, parents = false }: FilesContext & { readonly parents?: boolean },
): Promise<OpenFiles> {
  const plain = { keepOwners: false, unpack: false }
  if (files.type === 'context') {
    const { selection, unpack } = files
    return { ...plain, singleFile: selection.kind === 'file', unpack, body: streamOf(selection.tar()) }
  }
  if (files.type === 'runtime') {
    const { guest } = await sources.runtimeOf(files.from)
    const { singleFile, body } = await guest.trees.select(
      { sources: files.patterns, exclude: files.exclude, parents },
      signal,
    )
    return { ...plain, singleFile, keepOwners: true, body }
  }
  if (files.type === 'text') {
    const body = Buffer.from(files.content)
    const mtimeSecs = Math.floor(Date.now() / 1000)
    const file = { name: files.name, size: body.length, mode: TEXT_MODE, mtimeSecs, body: [body] }
    return { ...plain, singleFile: true, body: fileTar(file) }
  }
  const { name, mode, modifiedAtSecs, sizeBytes, body } = await sources.fetched(files)
  const file = { name, size: sizeBytes, mode, mtimeSecs: modifiedAtSecs ?? 0, body }
  return { ...plain, singleFile: true, unpack: files.unpack, body: fileTar(file) }
}

interface File {
  readonly name: string
  readonly size: number
  readonly mode: number
  readonly mtimeSecs: number
  readonly body: Iterable<Uint8Array> | AsyncIterable<Uint8Array>
}

/** Returns a tar stream of one file. */
function fileTar({ name, body, ...rest }: File): Readable {
  const chunks = async function* () {
    yield* body
  }
  const entry = async function* () {
    yield { type: 'file', path: name, uid: 0, gid: 0, mtimeNanos: 0, ...rest, body: chunks() } as const
  }
  return streamOf(writeTar(entry()))
}

/** Returns bytes as a stream for a request. */
export function streamOf(chunks: AsyncIterable<Uint8Array>): Readable {
  return Readable.from(chunks, { objectMode: false })
}
