import type { Readable } from 'node:stream'
import { ConnectError, type FileContent, type FileFacts, type FileKind, type Files } from '@holt/e2b'
import type { GuestContent, GuestEntry } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import { within } from '../../foundation/wire/call.ts'
import { exactLength } from '../../inside/files/exact-length.ts'
import { answerTimeoutMs, treeTimeoutMs } from '../../inside/files/guest-timeouts.ts'
import type { InsideVisit } from './inside-visit.ts'

/** The beginning of the names of the extended attributes that hold the metadata of files. */
export const attributePrefix = 'user.e2b.'

/** The maximum number of entries of one page of the guest, and of a whole list. */
const pageEntries = 10_000
const maxEntries = 100_000

/** The bytes of an entry in an answer besides the texts that a program inside chooses. */
const entryBytes = 300

/** Returns the files of a runtime. */
export function sandboxFiles(inside: InsideVisit, keep: (bytes: number) => boolean): Files {
  const homes = inside.guest.homes({ attributePrefix })
  const soon = (gone: AbortSignal) => within({ gone }, answerTimeoutMs)
  const placeOf = (account: string, path: string) => ({ account, path: inside.pathOf(path) })
  return {
    stat: async ({ account: named, path }, signal) => {
      const account = inside.accountOf(named)
      return factsOf(await inside.ask(account, homes.stat(placeOf(account, path), soon(signal))))
    },
    list: async ({ account: named, path }, depth, signal) => {
      const account = inside.accountOf(named)
      const { path: root } = await inside.ask(account, homes.stat(placeOf(account, path), soon(signal)))
      return listAll(inside, { account, root, depth, keep }, signal)
    },
    makeDirectory: async ({ account: named, path }, signal) => {
      const account = inside.accountOf(named)
      try {
        const { created, entry } = await homes.makeDirectory(placeOf(account, path), soon(signal))
        return { isNew: created, facts: factsOf(entry) }
      } catch (error) {
        if (error instanceof HoltError && (error.code === 'already_exists' || error.code === 'not_a_directory'))
          throw new ConnectError('invalid_argument', error.message, { cause: error })
        return inside.ask(account, Promise.reject(error))
      }
    },
    rename: async ({ account: named, source, destination }, gone) => {
      const account = inside.accountOf(named)
      const request = { account, source: inside.pathOf(source), destination: inside.pathOf(destination) }
      try {
        return factsOf(await homes.rename(request, within({ gone }, treeTimeoutMs)))
      } catch (error) {
        if (error instanceof HoltError && otherRenameFailures.has(error.code))
          throw new ConnectError('internal', error.message, { cause: error })
        return inside.ask(account, Promise.reject(error))
      }
    },
    remove: async ({ account: named, path }, gone) => {
      const account = inside.accountOf(named)
      await inside.ask(account, homes.remove(placeOf(account, path), within({ gone }, treeTimeoutMs)))
    },
    read: async ({ account: named, path, range, ifRange }, signal) => {
      const account = inside.accountOf(named)
      const request = { ...placeOf(account, path), range, ifRange }
      return contentOf(await inside.ask(account, homes.read(request, signal)))
    },
    write: async ({ account: named, path, metadata }, body: Readable, signal) => {
      const account = inside.accountOf(named)
      const request = { ...placeOf(account, path), attributes: metadata, body }
      const { entry } = await inside.ask(account, homes.write(request, signal))
      return factsOf(entry)
    },
  }
}

/** The faults of a rename that have no code of their own for clients. */
const otherRenameFailures: ReadonlySet<string> = new Set(['is_directory', 'not_a_directory', 'directory_not_empty'])

interface Listing {
  readonly account: string
  readonly root: string
  readonly depth: number
  keep(bytes: number): boolean
}

/** Reads all pages of a list. Throws `resource_exhausted` if it is too long for one answer. */
async function listAll(
  inside: InsideVisit,
  { account, root, depth, keep }: Listing,
  signal: AbortSignal,
): Promise<readonly FileFacts[]> {
  const homes = inside.guest.homes({ attributePrefix })
  const all: FileFacts[] = []
  for (let after: string | null = null; ; ) {
    const page = { path: root, depth, limit: pageEntries, after }
    const { entries, more } = await inside.ask(account, homes.list(page, within({ gone: signal }, answerTimeoutMs)))
    const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0)
    const last = entries.at(-1)
    if (all.length + entries.length > maxEntries || (more && last === undefined) || !keep(bytes))
      throw new ConnectError('resource_exhausted', 'The list is too long for one answer. Ask for less depth.')
    for (const entry of entries) all.push(factsOf(entry))
    if (!more || last === undefined) return all
    after = afterOf(root, last)
  }
}

/** Returns about how many bytes an entry takes, once here and once in the answer. */
function bytesOf({ path, resolved_target = '', user, group, attributes = {} }: GuestEntry): number {
  const texts = [path, resolved_target, user, group, ...Object.entries(attributes).flat()]
  return texts.reduce((sum, text) => sum + 2 * text.length, entryBytes)
}

/** Returns the place of an entry in a list, as the guest takes it. */
function afterOf(root: string, { path, path_base64 }: GuestEntry): string {
  const bytes = path_base64 === undefined ? Buffer.from(path) : Buffer.from(path_base64, 'base64')
  const below = bytes.subarray(root === '/' ? 1 : Buffer.byteLength(root) + 1)
  return [...below].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

/** Returns a guest's file as the clients' messages have it. */
function factsOf(entry: GuestEntry): FileFacts {
  const { path, type, mode, resolved_target: target, target_type: targetType } = entry
  return {
    path,
    kind: kindOf(type),
    sizeBytes: entry.size_bytes,
    mode: Number.parseInt(mode, 8) & 0o777,
    permissions: entry.permissions,
    owner: entry.user,
    group: entry.group,
    modifiedAt: timeOf(entry.modified_at_ms),
    target:
      target === undefined ? null : { path: target, kind: targetType === undefined ? 'other' : kindOf(targetType) },
    metadata: entry.attributes ?? null,
  }
}

function kindOf(type: GuestEntry['type']): FileKind {
  return type === 'file' || type === 'directory' || type === 'symlink' ? type : 'other'
}

/** The years 1 to 9999, which RFC 3339 can express. A program inside may set any other. */
const earliestMs = -62_135_596_800_000
const latestMs = 253_402_300_799_999

function timeOf(ms: number): Date {
  return new Date(Math.min(latestMs, Math.max(earliestMs, ms)))
}

function contentOf({ status, headers, body }: GuestContent): FileContent {
  const { 'x-holt-mode': _, 'last-modified': modified, ...known } = headers
  const told = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined))
  // HTTP can express years of four digits.
  const isDate = modified !== undefined && /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} /.test(modified)
  const length = headers['content-length']
  return {
    status,
    headers: { ...told, ...(isDate ? { 'last-modified': modified } : {}) } as Readonly<Record<string, string>>,
    body: length === undefined ? body : exactLength(body, Number(length)),
  }
}
