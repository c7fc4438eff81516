import type { Readable } from 'node:stream'
import type {
  ArchiveFormat,
  CopyFileInput,
  FileChanged,
  FileInfo,
  FileTransferred,
  MakeDirectoryInput,
  ReplaceInFilesInput,
  ReplaceResult,
  SearchFilesInput,
  SearchItem,
  SearchResult,
  TreeExtracted,
  WatchItem,
} from '@holt/protocol'
import { connected, connectedStream } from './connected.ts'
import type { FileContent } from './content/file-source.ts'
import { openContent, type ReadOptions } from './content/read-content.ts'
import { type WriteOptions, writeContent } from './content/write-content.ts'
import { HoltConnectionError, HoltError } from './errors.ts'
import { eventStream, readEvents, resumeItems } from './item-stream.ts'
import { withLocalErrors } from './local-error.ts'
import { type Paginated, paginate } from './pages.ts'
import type { CallOptions, RequestBytes, Transport } from './transport.ts'
import type { SyncOptions, SyncResult } from './tree/sync.ts'
import type { TransferOptions, TransferResult } from './tree/transfer.ts'

/** How files are searched. */
export type SearchOptions = Omit<SearchFilesInput, 'path'> & CallOptions

type Recursively = { readonly recursive?: boolean } & CallOptions

/**
 * What a tree can be made of: an archive's bytes, also as a Node stream. A function is called again
 * where the upload is tried again.
 */
export type ArchiveContent = RequestBytes | Readable

/** How an archive becomes a tree. */
export interface ExtractOptions extends CallOptions {
  /** Default: what its first bytes say. */
  readonly format?: ArchiveFormat
  /** Who owns what is made. Default: the template's user. */
  readonly user?: string
  /** Owners, set-id bits and system attributes as the archive has them. Default false. */
  readonly keep_owners?: boolean
  /** Replace what is at the destination. Default false. */
  readonly overwrite?: boolean
  /**
   * Into the directory that is there: files are replaced, directories keep what they have. Default
   * false.
   */
  readonly merge?: boolean
  /** Default 200,000. */
  readonly max_entries?: number
  /** What it may unpack to. Default: the disk; beyond 1 GiB also 200 times what is sent. */
  readonly max_bytes?: number
}

/** From where changes are told. */
export interface WatchOptions extends CallOptions {
  /** Everything below as well. Default false. */
  readonly recursive?: boolean
  /** Begin after the item with this cursor. Default: what changes from now on. */
  readonly cursor?: number
}

/** The files of one runtime. Paths are absolute paths inside it. */
export class Files {
  readonly #transport: Transport
  readonly #runtimeId: string
  constructor(transport: Transport, runtimeId: string) {
    this.#transport = transport
    this.#runtimeId = runtimeId
  }

  /** Reads a file's bytes. */
  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await new Response(await this.readStream(path, options)).arrayBuffer())
  }

  /** Reads a file as UTF-8. */
  async readText(path: string, options: ReadOptions = {}): Promise<string> {
    return new Response(await this.readStream(path, options)).text()
  }

  /**
   * Reads a file as a Web stream. It goes on where the connection breaks; a file that changes
   * meanwhile is a `conflict`.
   */
  async readStream(path: string, options: ReadOptions = {}): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    return openContent({ transport: this.#transport, runtimeId: this.#runtimeId, path, options })
  }

  /** Reads a file as a Node stream; the same as `readStream` otherwise. */
  async readNodeStream(path: string, options: ReadOptions = {}): Promise<Readable> {
    const { Readable } = await import('node:stream')
    return Readable.fromWeb((await this.readStream(path, options)) as never)
  }

  /**
   * Writes a file: the whole of it or nothing. Parents are made. Content in memory and a
   * `FileSource` (see `fileSource`) of 8 MiB or more go on where the connection breaks.
   */
  async write(path: string, content: FileContent, options: WriteOptions = {}): Promise<FileInfo> {
    return writeContent({ transport: this.#transport, runtimeId: this.#runtimeId, path, options }, content)
  }

  /**
   * Copies a file, or with `recursive` a tree, to exactly `destination`. With `overwrite` what is
   * there is replaced, never merged.
   */
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

  /** Makes a symlink that says `target`; parents are made. */
  async symlink(
    path: string,
    target: string,
    options: { readonly overwrite?: boolean } & CallOptions = {},
  ): Promise<FileInfo> {
    const { signal, ...how } = options
    return this.#transport.call('makeSymlink', { signal, params: this.#params, json: { path, target, ...how } })
  }

  /** Changes a mode (octal, for example `"0644"`), with `recursive` of everything below as well. */
  async chmod(path: string, mode: string, options: Recursively = {}): Promise<FileChanged> {
    const { signal, ...how } = options
    const json = { path, mode, ...how }
    return this.#transport.call('changeMode', { signal, params: this.#params, json, timeoutMs: null })
  }

  /**
   * Changes the owner to a user name, a uid, or `uid:gid`, with `recursive` of everything below as
   * well.
   */
  async chown(path: string, user: string, options: Recursively = {}): Promise<FileChanged> {
    const { signal, ...how } = options
    const json = { path, user, ...how }
    return this.#transport.call('changeOwner', { signal, params: this.#params, json, timeoutMs: null })
  }

  /** Searches a directory by name (`glob`) and by what lines hold (`content`). */
  async search(path: string, options: SearchOptions = {}): Promise<SearchResult> {
    const { signal, ...how } = options
    const json = { path, ...how }
    return this.#transport.call('searchFiles', { signal, params: this.#params, json, timeoutMs: null })
  }

  /** As `search`, but yields each match as it is found, and at the end an `end` item. */
  async *searchStream(path: string, options: SearchOptions = {}): AsyncGenerator<SearchItem, void, undefined> {
    const { signal, ...how } = options
    const response = await this.#transport.open('searchFiles', {
      signal,
      params: this.#params,
      json: { path, ...how },
      headers: { accept: eventStream },
    })
    const items = connected(readEvents<SearchItem>(response), signal)
    for await (const item of items) {
      yield item
      if (item.type === 'end') return
    }
    throw new HoltConnectionError('lost', 'The search broke off')
  }

  /**
   * Replaces a pattern in files: in `paths`, or in `path` and below it. Each file is replaced
   * atomically.
   */
  async replace(what: ReplaceInFilesInput, options: CallOptions = {}): Promise<ReplaceResult> {
    return this.#transport.call('replaceInFiles', { ...options, params: this.#params, json: what, timeoutMs: null })
  }

  /**
   * Reads a directory with everything below as tar or tar.gz, as a Web stream. A stream that breaks
   * off is not a whole archive.
   */
  async archive(
    path: string,
    options: CallOptions & { readonly format?: ArchiveFormat } = {},
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { signal, format } = options
    const query = { path, format }
    const { body } = await this.#transport.open('readArchive', { signal, params: this.#params, query })
    return body === null ? new Blob([]).stream() : connectedStream(body, signal)
  }

  /** Reads a directory with everything below as a Node stream; the same as `archive` otherwise. */
  async archiveNodeStream(
    path: string,
    options: CallOptions & { readonly format?: ArchiveFormat } = {},
  ): Promise<Readable> {
    const { Readable } = await import('node:stream')
    return Readable.fromWeb((await this.archive(path, options)) as never)
  }

  /**
   * Makes the directory `path` of a tar or tar.gz: all of it appears at once, or, where the archive
   * is refused or breaks off, nothing. What is there already is an `already_exists` error, unless
   * `overwrite` or `merge` says what becomes of it.
   */
  async extract(path: string, archive: ArchiveContent, options: ExtractOptions = {}): Promise<TreeExtracted> {
    const { signal, format, user, keep_owners, overwrite, merge, max_entries, max_bytes } = options
    return this.#transport.call('writeArchive', {
      signal,
      params: this.#params,
      query: {
        path,
        format,
        user,
        keep_owners,
        overwrite,
        merge,
        max_entries,
        max_bytes,
      },
      bytes: isNodeStream(archive) ? ReadableStream.from<Uint8Array>(archive) : archive,
      timeoutMs: null,
    })
  }

  /**
   * Yields what changes in a directory, as it happens, until it is gone. A broken connection is
   * made again after the last item; where that is too late, the item `overflow` says that changes
   * were lost and everything is to be looked at anew.
   */
  watch(path: string, options: WatchOptions = {}): AsyncGenerator<WatchItem, void, undefined> {
    const { signal, recursive, cursor = -1 } = options
    const open = (from: number) =>
      this.#transport.open('watchFiles', {
        signal,
        params: this.#params,
        query: { path, recursive, cursor: from < 0 ? undefined : from },
        headers: { accept: eventStream },
      })
    return resumeItems<WatchItem>({ open, cursor, resumeTimeoutMs: this.#transport.options.resumeTimeoutMs, signal })
  }

  /**
   * Copies a directory of this machine to exactly `remoteDir`. Modes, times, symlinks and hard
   * links are kept. It is put together beside the destination and moved into place, so a failure
   * leaves what was there.
   */
  async upload(localDir: string, remoteDir: string, options: TransferOptions = {}): Promise<TransferResult> {
    const { uploadTree } = await import('./tree/upload.ts')
    return withLocalErrors(() => uploadTree({ files: this, localDir, remoteDir, options }))
  }

  /**
   * Copies a directory of the runtime to exactly `localDir`. Modes, times, symlinks and hard links
   * are kept, but a symlink that leads out of the tree is not made: its name is in `skipped`. It is
   * put together beside the destination and moved into place.
   */
  async download(
    remoteDir: string,
    localDir: string,
    options: Omit<TransferOptions, 'user'> = {},
  ): Promise<TransferResult> {
    const { downloadTree } = await import('./tree/download.ts')
    return withLocalErrors(() => downloadTree({ files: this, remoteDir, localDir, options }))
  }

  /**
   * Makes the directory `remoteDir` what `localDir` of this machine is, sending only what is new or
   * changed by size, time and mode. What is only there stays, unless `delete` is true.
   */
  async sync(localDir: string, remoteDir: string, options: SyncOptions = {}): Promise<SyncResult> {
    const { syncTree } = await import('./tree/sync.ts')
    return withLocalErrors(() => syncTree({ files: this, localDir, remoteDir, options }))
  }

  get #params() {
    return { runtime_id: this.#runtimeId }
  }
}

function isNodeStream(content: ArchiveContent): content is Readable {
  return typeof content === 'object' && 'pipe' in content
}
