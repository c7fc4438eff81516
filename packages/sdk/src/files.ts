import {
  type CopyFileInput,
  type FileInfo,
  type FileTransferred,
  HoltError,
  type MakeDirectoryInput,
} from '@holt/protocol'
import type { Commands } from './commands.ts'
import { type Paginated, paginate } from './pages.ts'
import type { CallOptions, RequestBytes, Transport } from './transport.ts'
import type { TransferOptions, TransferResult } from './tree/transfer.ts'

/** What a file can be written from. A function is called again where the write is tried again; a plain stream is sent once. */
export type FileContent = RequestBytes

/** How a file is written. */
export interface WriteOptions extends CallOptions {
  /** Octal, for example `"0644"`. Default: kept where the file exists. */
  readonly mode?: string
  /** Who owns a new file. Default: the template's user. */
  readonly user?: string
  /** False: an existing file is an `already_exists` error. Default true. */
  readonly overwrite?: boolean
}

/** Which bytes of a file are read: `start` inclusive, `end` exclusive. */
export interface ReadOptions extends CallOptions {
  readonly start?: number
  readonly end?: number
}

/** The files of one runtime. Paths are absolute paths inside it. */
export class Files {
  readonly #transport: Transport
  readonly #runtimeId: string
  readonly #commands: Commands
  constructor(transport: Transport, runtimeId: string, commands: Commands) {
    this.#transport = transport
    this.#runtimeId = runtimeId
    this.#commands = commands
  }

  /** Reads a file's bytes. */
  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await (await this.#open(path, options)).arrayBuffer())
  }

  /** Reads a file as UTF-8. */
  async readText(path: string, options: ReadOptions = {}): Promise<string> {
    return (await this.#open(path, options)).text()
  }

  /** Reads a file as a stream. */
  async readStream(path: string, options: ReadOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return (await this.#open(path, options)).body ?? new Blob([]).stream()
  }

  /** Writes a file: the whole of it or nothing. Parents are made. */
  async write(path: string, content: FileContent, options: WriteOptions = {}): Promise<FileInfo> {
    const { signal, mode, user, overwrite = true } = options
    return this.#transport.call('writeFile', {
      signal,
      params: this.#params,
      query: { path, mode, user },
      bytes: content,
      headers: overwrite ? {} : { 'if-none-match': '*' },
      timeoutMs: null,
    })
  }

  /** Copies a file, or with `recursive` a tree, to exactly `destination`. With `overwrite` what is there is replaced, never merged. */
  async copy(
    source: string,
    destination: string,
    options: Omit<CopyFileInput, 'source' | 'destination'> & CallOptions = {},
  ): Promise<FileTransferred> {
    const { signal, ...how } = options
    return this.#transport.call('copyFile', {
      signal,
      params: this.#params,
      json: { source, destination, ...how },
      timeoutMs: null,
    })
  }

  /** Moves a file or a tree to exactly `destination`. */
  async move(
    source: string,
    destination: string,
    options: { readonly overwrite?: boolean } & CallOptions = {},
  ): Promise<FileTransferred> {
    const { signal, ...how } = options
    return this.#transport.call('moveFile', {
      signal,
      params: this.#params,
      json: { source, destination, ...how },
      timeoutMs: null,
    })
  }

  /** What is at a path. A symlink is not followed. */
  async stat(path: string, options: CallOptions = {}): Promise<FileInfo> {
    return this.#transport.call('statFile', { ...options, params: this.#params, query: { path } })
  }

  /** Whether there is anything at a path, a dangling symlink included. */
  async exists(path: string, options: CallOptions = {}): Promise<boolean> {
    try {
      await this.stat(path, options)
      return true
    } catch (error) {
      if (error instanceof HoltError && (error.code === 'path_not_found' || error.code === 'not_a_directory'))
        return false
      throw error
    }
  }

  /** Lists a directory, sorted by path; `depth` says how many levels down. */
  list(
    path: string,
    options: CallOptions & { readonly depth?: number; readonly limit?: number } = {},
  ): Paginated<FileInfo> {
    const { signal, depth, limit } = options
    return paginate((cursor) =>
      this.#transport.call('listFiles', { signal, params: this.#params, query: { path, depth, limit, cursor } }),
    )
  }

  /** Makes a directory and, unless `parents` is false, what is missing above it. */
  async makeDirectory(path: string, options: Omit<MakeDirectoryInput, 'path'> & CallOptions = {}): Promise<FileInfo> {
    const { signal, ...how } = options
    return this.#transport.call('makeDirectory', { signal, params: this.#params, json: { path, ...how } })
  }

  /** Removes a file, or with `recursive` a tree. Links are never followed. */
  async remove(path: string, options: { readonly recursive?: boolean } & CallOptions = {}): Promise<void> {
    const { signal, ...how } = options
    await this.#transport.call('removeFile', { signal, params: this.#params, json: { path, ...how }, timeoutMs: null })
  }

  /**
   * Copies a directory of this machine to exactly `remoteDir`. Modes and symlinks are kept. It is put together beside the
   * destination and moved into place, so a failure leaves what was there.
   */
  async upload(localDir: string, remoteDir: string, options: TransferOptions = {}): Promise<TransferResult> {
    const { uploadTree } = await import('./tree/upload.ts')
    return uploadTree({ files: this, commands: this.#commands, localDir, remoteDir, options })
  }

  /**
   * Copies a directory of the runtime to exactly `localDir`. Modes and symlinks are kept, but a symlink that leads out of
   * the tree is not made: its name is in `skipped`. It is put together beside the destination and moved into place.
   */
  async download(
    remoteDir: string,
    localDir: string,
    options: Omit<TransferOptions, 'user'> = {},
  ): Promise<TransferResult> {
    const { downloadTree } = await import('./tree/download.ts')
    return downloadTree({ files: this, remoteDir, localDir, options })
  }

  #open(path: string, options: ReadOptions): Promise<Response> {
    const { signal, start = 0, end } = options
    const last = end === undefined ? '' : end - 1
    const headers: Record<string, string> = start === 0 && end === undefined ? {} : { range: `bytes=${start}-${last}` }
    return this.#transport.open('readFile', { signal, params: this.#params, query: { path }, headers })
  }

  get #params() {
    return { runtime_id: this.#runtimeId }
  }
}
