import type { Foundation } from '../foundation/foundation.ts'
import { type Artifacts, artifactsOf, fetchFiles, type RuntimeFiles } from './artifacts.ts'

/**
 * The time that a request waits for files of another host, in milliseconds. The fetch continues
 * afterwards, so a later request finds them.
 */
const fetchTimeoutMs = 60_000

/** The parts of the service that fetch and keep files. */
interface FilesKept extends Pick<Foundation, 'holds' | 'closing'> {
  readonly artifacts: Artifacts
}

/**
 * Runs `run` with the files of a runtime on this machine. They stay until it ends, and afterwards
 * if a row refers to them. On a machine that is in no fleet they are there already. `until` ends
 * the wait for files of another host. Default: a minute.
 */
export async function withFiles<Result>(
  { artifacts, holds, closing }: FilesKept,
  { holder, until, ...files }: RuntimeFiles & { readonly holder: string; readonly until?: AbortSignal },
  run: () => Promise<Result>,
): Promise<Result> {
  if (!artifacts.isShared) return run()
  for (const { id } of artifactsOf(files)) holds.hold(holder, id)
  try {
    await fetchFiles(artifacts, files, AbortSignal.any([closing, until ?? AbortSignal.timeout(fetchTimeoutMs)]))
    return await run()
  } finally {
    holds.release(holder)
  }
}
