import type { Files } from '@holt/sdk'
import { saveBlob } from '../parts/save-blob.ts'

/** The maximum number of bytes of a download that the browser collects before it saves them. */
export const collectedBytes = 256 * 2 ** 20

/** The download is larger than what the browser collects. */
export class TooLargeToCollect extends Error {
  constructor() {
    super('This is too large to be collected in the browser.')
    this.name = 'TooLargeToCollect'
  }
}

/** A file or a directory that is saved on the own machine. */
export interface Saved {
  readonly path: string
  /** True for a directory, which is saved as tar.gz. */
  readonly isTree: boolean
  readonly signal: AbortSignal
  readonly onProgress: (bytes: number) => void
}

/** Collects a download, and saves it as the browser does. Throws `TooLargeToCollect`. */
export async function saveCollected(files: Files, name: string, saved: Saved): Promise<void> {
  const stream = counted(await open(files, saved), saved.onProgress, collectedBytes)
  saveBlob(name, await new Response(stream).blob())
}

/** Saves a download in a file, as it arrives. */
export async function saveStreamed(files: Files, place: FileSystemFileHandle, saved: Saved): Promise<void> {
  const writable = await place.createWritable()
  // A download that fails closes the file without a change.
  await counted(await open(files, saved), saved.onProgress).pipeTo(writable, { signal: saved.signal })
}

function open(files: Files, { path, isTree, signal }: Saved): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  return isTree ? files.archive(path, { signal, format: 'tar.gz' }) : files.readStream(path, { signal })
}

function counted(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onProgress: (bytes: number) => void,
  most = Number.POSITIVE_INFINITY,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let bytes = 0
  return stream.pipeThrough(
    new TransformStream({
      transform: (chunk, controller) => {
        bytes += chunk.length
        if (bytes > most) throw new TooLargeToCollect()
        onProgress(bytes)
        controller.enqueue(chunk)
      },
    }),
  )
}

/** The way of browsers that can save a stream: Chromium's, for example. */
type Picker = (options: { readonly suggestedName: string }) => Promise<FileSystemFileHandle>

/** Returns the function that asks where to save a stream; null if the browser has none. */
export function savePicker(): Picker | null {
  const { showSaveFilePicker } = window as { readonly showSaveFilePicker?: Picker }
  return showSaveFilePicker === undefined ? null : (options) => showSaveFilePicker.call(window, options)
}
