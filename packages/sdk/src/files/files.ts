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
import type { FileContent } from '../content/file-source.ts'
import { type FileVersion, openContent, type ReadOptions, readVersion } from '../content/read-content.ts'
import { type WriteOptions, writeContent } from '../content/write-content.ts'
import { HoltConnectionError, HoltError } from '../errors/errors.ts'
import { withLocalErrors } from '../errors/local-error.ts'
import { connected, connectedStream } from '../transport/connected.ts'
import { eventStream, readEvents, resumeItems } from '../transport/item-stream.ts'
import { type Paginated, paginate } from '../transport/pages.ts'
import { streamOf } from '../transport/stream-of.ts'
import type { CallOptions, RequestBytes, Transport } from '../transport/transport.ts'
import type { TransferOptions, TransferResult } from '../tree/transfer.ts'
import type { SyncOptions, SyncResult } from './sync.ts'

/** The options of a search. */
export type SearchOptions = Omit<SearchFilesInput, 'path'> & CallOptions

type Recursively = { readonly recursive?: boolean } & CallOptions

/**
 * The source of a tree: an archive's bytes, also as a Node stream. A function is called again for
 * each retry of the upload.
 */
export type ArchiveContent = RequestBytes | Readable

/** The options for unpacking an archive. */
export interface ExtractOptions extends CallOptions {
  /** The format. Default: detected from the first bytes. */
  readonly format?: ArchiveFormat
  /** The owner of the created files. Default: the template's user. */
  readonly user?: string
  /** True if owners, set-id bits and system attributes of the archive are kept. Default false. */
  readonly keep_owners?: boolean
  /** True if the destination is replaced. Default false. */
  readonly overwrite?: boolean
  /**
   * True if the archive is merged into an existing directory. Files are replaced, and directories
   * keep their other content. Default false.
   */
  readonly merge?: boolean
  /** The maximum number of entries of the archive. Default 200,000. */
  readonly max_entries?: number
  /**
   * The maximum number of bytes of the unpacked content. Default: the disk; beyond 1 GiB also 200
   * times the bytes sent.
   */
  readonly max_bytes?: number
}

/** The options of a watch. */
export interface WatchOptions extends CallOptions {
  /** True if everything below is watched as well. Default false. */
  readonly recursive?: boolean
  /** The cursor after which the items begin. Default: only new changes. */
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
   * Reads a file's bytes with the etag of their version. A `write` with this etag as `ifMatch`
   * overwrites nobody else's change.
   */
  async readVersion(path: string, options: ReadOptions = {}): Promise<FileVersion> {
    return readVersion({ transport: this.#transport, runtimeId: this.#runtimeId, path, options })
  }

  /**
   * Reads a file as a Web stream. After a broken connection it continues. A file that changes
   * meanwhile is a `conflict`.
   */
  async readStream(path: string, options: ReadOptions = {}): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    return openContent({ transport: this.#transport, runtimeId: this.#runtimeId, path, options })
  }

  /** Reads a file as a Node stream. Otherwise it is the same as `readStream`. */
  async readNodeStream(path: string, options: ReadOptions = {}): Promise<Readable> {
    const { Readable } = await import('node:stream')
    return Readable.fromWeb((await this.readStream(path, options)) as never)
  }

  /**
   * Writes a whole file or nothing. Missing parents are made. Content in memory and a `FileSource`
   * (see `fileSource`) of 8 MiB or more continue after a broken connection.
   */
  async write(path: string, content: FileContent, options: WriteOptions = {}): Promise<FileInfo> {
    return writeContent({ transport: this.#transport, runtimeId: this.#runtimeId, path, options }, content)
  }

  /**
   * Copies a file, or with `recursive` a tree, to exactly `destination`. With `overwrite` the
   * destination is replaced, never merged.
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
      idempotencyKey: crypto.randomUUID(),
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
      idempotencyKey: crypto.randomUUID(),
      timeoutMs: null,
    })
  }

  /** Returns the facts about a path. Symlinks are not followed. */
  async stat(path: string, options: CallOptions = {}): Promise<FileInfo> {
    return this.#transport.call('statFile', { ...options, params: this.#params, query: { path } })
  }

  /** Returns true if a path exists, even as a dangling symlink. */
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

  /** Lists a directory, sorted by path. `depth` is the number of levels. */
  list(
    path: string,
    options: CallOptions & { readonly depth?: number; readonly limit?: number } = {},
  ): Paginated<FileInfo> {
    const { signal, depth, limit } = options
    return paginate((cursor) =>
      this.#transport.call('listFiles', { signal, params: this.#params, query: { path, depth, limit, cursor } }),
    )
  }

  /** Makes a directory and, unless `parents` is false, its missing parents. */
  async makeDirectory(path: string, options: Omit<MakeDirectoryInput, 'path'> & CallOptions = {}): Promise<FileInfo> {
    const { signal, ...how } = options
    const idempotencyKey = crypto.randomUUID()
    return this.#transport.call('makeDirectory', {
      signal,
      params: this.#params,
      json: { path, ...how },
      idempotencyKey,
    })
  }

  /** Removes a file, or with `recursive` a tree. Links are never followed. */
  async remove(path: string, options: { readonly recursive?: boolean } & CallOptions = {}): Promise<void> {
    const { signal, ...how } = options
    await this.#transport.call('removeFile', { signal, params: this.#params, json: { path, ...how }, timeoutMs: null })
  }

  /** Makes a symlink to `target`. Missing parents are made. */
  async symlink(
    path: string,
    target: string,
    options: { readonly overwrite?: boolean } & CallOptions = {},
  ): Promise<FileInfo> {
    const { signal, ...how } = options
    const idempotencyKey = crypto.randomUUID()
    return this.#transport.call('makeSymlink', {
      signal,
      params: this.#params,
      json: { path, target, ...how },
      idempotencyKey,
    })
  }

  /**
   * Changes a mode (octal, for example `"0644"`). With `recursive` it changes everything below as
   * well.
   */
  async chmod(path: string, mode: string, options: Recursively = {}): Promise<FileChanged> {
    const { signal, ...how } = options
    const json = { path, mode, ...how }
    return this.#transport.call('changeMode', { signal, params: this.#params, json, timeoutMs: null })
  }

  /**
   * Changes the owner to a user name, a uid, or `uid:gid`. With `recursive` it changes everything
   * below as well.
   */
  async chown(path: string, user: string, options: Recursively = {}): Promise<FileChanged> {
    const { signal, ...how } = options
    const json = { path, user, ...how }
    return this.#transport.call('changeOwner', { signal, params: this.#params, json, timeoutMs: null })
  }

  /** Searches a directory by name (`glob`) and by the content of lines (`content`). */
  async search(path: string, options: SearchOptions = {}): Promise<SearchResult> {
    const { signal, ...how } = options
    const json = { path, ...how }
    return this.#transport.call('searchFiles', { signal, params: this.#params, json, timeoutMs: null })
  }

  /**
   * Searches as `search` does, but yields each match as it is found, and an `end` item at the end.
   */
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
    throw new HoltConnectionError('lost', 'The search was interrupted')
  }

  /**
   * Replaces a pattern in files: in `paths`, or in `path` and below it. Each file is replaced
   * atomically.
   */
  async replace(what: ReplaceInFilesInput, options: CallOptions = {}): Promise<ReplaceResult> {
    return this.#transport.call('replaceInFiles', { ...options, params: this.#params, json: what, timeoutMs: null })
  }

  /**
   * Replaces an exact text in one text file, atomically. The text must occur exactly
   * `expected_count` times (default 1). Otherwise nothing changes, and the error is a `conflict`.
   * Both texts have at most 64 KiB.
   */
  async edit(
    path: string,
    oldText: string,
    newText: string,
    options: { readonly expected_count?: number } & CallOptions = {},
  ): Promise<ReplaceResult> {
    const { signal, expected_count = 1 } = options
    return this.replace({ paths: [path], pattern: oldText, replacement: newText, expected_count }, { signal })
  }

  /**
   * Reads a directory with everything below as tar or tar.gz, as a Web stream. A stream that breaks
   * is not a whole archive.
   */
  async archive(
    path: string,
    options: CallOptions & { readonly format?: ArchiveFormat } = {},
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { signal, format } = options
    const query = { path, format }
    return connectedStream(await this.#transport.open('readArchive', { signal, params: this.#params, query }), signal)
  }

  /**
   * Reads a directory with everything below as a Node stream. Otherwise it is the same as
   * `archive`.
   */
  async archiveNodeStream(
    path: string,
    options: CallOptions & { readonly format?: ArchiveFormat } = {},
  ): Promise<Readable> {
    const { Readable } = await import('node:stream')
    return Readable.fromWeb((await this.archive(path, options)) as never)
  }

  /**
   * Makes the directory `path` from a tar or tar.gz. It appears all at once, or not at all if the
   * archive is refused or breaks. An existing path is an `already_exists` error, unless `overwrite`
   * or `merge` is set.
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
      bytes: isNodeStream(archive) ? streamOf<Uint8Array>(archive) : archive,
      creates: overwrite !== true && merge !== true,
      timeoutMs: null,
    })
  }

  /**
   * Yields the changes in a directory as they happen, until the directory is gone. After a broken
   * connection it reconnects and continues after the last item. If that is too late, the item
   * `overflow` reports that changes were lost and everything must be read again.
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
   * links are kept. It is assembled beside the destination and moved into place, so a failure
   * leaves the old content.
   */
  async upload(localDir: string, remoteDir: string, options: TransferOptions = {}): Promise<TransferResult> {
    const { uploadTree } = await import('./upload.ts')
    return withLocalErrors(() => uploadTree({ files: this, localDir, remoteDir, options }))
  }

  /**
   * Copies a directory of the runtime to exactly `localDir`. Modes, times, symlinks and hard links
   * are kept. A symlink that leads out of the tree is not made; its name is in `skipped`. The tree
   * is assembled beside the destination and moved into place.
   */
  async download(
    remoteDir: string,
    localDir: string,
    options: Omit<TransferOptions, 'user'> = {},
  ): Promise<TransferResult> {
    const { downloadTree } = await import('./download.ts')
    return withLocalErrors(() => downloadTree({ files: this, remoteDir, localDir, options }))
  }

  /**
   * Makes the directory `remoteDir` equal to `localDir` of this machine. Sends only entries that
   * are new, or changed in size, time or mode. Entries that exist only in the runtime stay, unless
   * `delete` is true.
   */
  async sync(localDir: string, remoteDir: string, options: SyncOptions = {}): Promise<SyncResult> {
    const { syncTree } = await import('./sync.ts')
    return withLocalErrors(() => syncTree({ files: this, localDir, remoteDir, options }))
  }

  get #params() {
    return { runtime_id: this.#runtimeId }
  }
}

function isNodeStream(content: ArchiveContent): content is Readable {
  return typeof content === 'object' && 'pipe' in content
}
