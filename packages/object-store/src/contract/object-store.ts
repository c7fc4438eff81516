/**
 * The contract of an object store: named byte sequences, each written once as a whole.
 *
 * Common to all verbs:
 * - A failure is an `ObjectStoreError`. Its `kind` determines the caller's options.
 * - A verb that is aborted through its signal rejects with the signal's reason.
 * - Every wait has a bound. A store that does not answer is `unavailable` after some retries.
 * - A change that was acknowledged is durable, and `get` and `head` see it at once. `list` may see
 *   it later.
 */
export interface ObjectStore {
  /**
   * Writes an object. Readers see the old object or the new one, never a part. Fails with
   * `precondition_failed` if `ifAbsent` is set and the object exists. After `unavailable` the
   * object may have been written. Of several writers with `ifAbsent`, one succeeds.
   */
  put(key: string, body: ObjectBody, options?: PutOptions): Promise<void>

  /**
   * Opens an object, or a range of it. Fails with `not_found` if it does not exist. The body is
   * read at the pace of its consumer. A connection that breaks is opened again at the same byte;
   * an object that was replaced meanwhile is `damaged`. A consumer that stops early closes it.
   */
  get(key: string, options?: GetOptions): Promise<OpenObject>

  /** Returns the facts of an object; null if it does not exist. */
  head(key: string, options?: CallOptions): Promise<ObjectFacts | null>

  /** Removes an object. A missing object is success. */
  delete(key: string, options?: CallOptions): Promise<void>

  /** Returns the objects whose keys begin with `prefix`, in no order that callers may rely on. */
  list(prefix: string, options?: CallOptions): AsyncIterable<ListedObject>

  /**
   * Removes what writers left that ended before their object was complete. `before` is the time of
   * their beginning; choose one that no running writer can have.
   */
  removeUnfinished(before: Date, options?: CallOptions): Promise<void>

  /** Closes idle connections. Verbs that run continue. */
  close(): void
}

/**
 * The content of an object. A sequence of unknown length is written in parts, and at most some
 * parts are in memory at once.
 */
export type ObjectBody = Uint8Array | AsyncIterable<Uint8Array>

export interface CallOptions {
  readonly signal?: AbortSignal
}

export interface PutOptions extends CallOptions {
  /** True to write only if no object has the key. */
  readonly ifAbsent?: boolean
}

export interface GetOptions extends CallOptions {
  /** The bytes to read; absent: all. */
  readonly range?: ByteRange
}

/** Bytes from `start` up to, and without, `end`. Both must lie within the object. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** An object that is being read. */
export interface OpenObject {
  /** The size of the whole object in bytes. */
  readonly sizeBytes: number
  /** The bytes of the object or of the range. Can be read once. */
  readonly body: AsyncIterable<Uint8Array>
}

export interface ObjectFacts {
  readonly sizeBytes: number
  /** The time of the last write, by the clock of the store. */
  readonly modifiedAt: Date
}

export interface ListedObject extends ObjectFacts {
  readonly key: string
}
