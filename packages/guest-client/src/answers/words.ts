import { etagForm, SessionName, Text } from '@holt/protocol'
import { z } from 'zod'

// The value types of the guest's answers. Root inside a runtime can take the guest's place, so
// every answer is made of these alone.

/**
 * The longest path of an entry deep in a tree, in characters. A requested path has at most 4,095
 * bytes.
 */
const maxPathLength = 16_384

/** Four characters for each three bytes of a path. */
const maxBase64Length = 4 * Math.ceil(maxPathLength / 3)

/** The last millisecond of the year 9999: the last one that RFC 3339 can write. */
const lastMomentMs = 253_402_300_799_999

/** A number that counts something. */
export const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)

/** A moment in milliseconds since 1970. */
export const momentMs = z.number().int().min(0).max(lastMomentMs)

/** The time of a file, which programs inside set as they like. */
export const fileTimeMs = z.number().int().min(-8.64e15).max(8.64e15)

/** A process id. */
export const pid = z.number().int().min(0).max(2_147_483_647)

/** A user or group id. */
export const ownerId = z.number().int().min(0).max(4_294_967_295)

/** A port of TCP. */
export const port = z.number().int().min(1).max(65_535)

/** The exit code of a process, as a shell reports it. */
export const exitCode = z.number().int().min(0).max(255)

/** A line or a sentence for people. It may have control characters: clients show them visibly. */
export const sentence = Text.max(16_384)

/** An argument or a command line. The kernel allows at most 128 KiB for each. */
export const argument = Text.max(256 * 1024)

/** The label of a process, chosen by the host. */
export const label = Text.max(1024)

/** The id of a process, chosen by the host. */
export const processId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/)

/** The id of a runtime. */
export const runtimeId = z.string().regex(/^[a-z0-9]{1,64}$/)

/** The name of a session: the protocol's own pattern. */
export const sessionName = SessionName

/** The id of an upload, chosen by the client. */
export const uploadId = z.string().regex(/^[A-Za-z0-9_-]{8,64}$/)

/** The version of a guest. */
export const version = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$/)

/** A signal, named as in signal(7). `SIG` and a number is a signal without a name. */
export const signal = z.string().regex(/^SIG(?:[A-Z0-9]{1,8}|RTMIN\+\d{1,2})$/)

/**
 * A user or a group: a number, or a name without spaces, control characters and shell
 * metacharacters; for a process also `user:group`.
 */
export const owner = z.string().regex(/^[\p{L}\p{N}_.@+-]{1,256}\$?(?::[\p{L}\p{N}_.@+-]{1,256}\$?)?$/u)

/** A strong entity tag (RFC 9110, 8.8.3). */
export const etag = z.string().regex(etagForm)

/** A file mode of four octal digits. */
export const mode = z.string().regex(/^[0-7]{4}$/)

/** A mode as ls(1) writes it, without the type. */
export const permissions = z.string().regex(/^[r-][w-][xsS-][r-][w-][xsS-][r-][w-][xtT-]$/)

/** The types of files. */
export const fileType = z.enum(['file', 'directory', 'symlink', 'fifo', 'socket', 'device'])

/** The directory of a process. A shell reports it verbatim, so it may have doubled slashes. */
export const directory = Text.max(maxPathLength).startsWith('/')

/** The target of a symlink, which may be any text. */
export const linkTarget = Text.min(1).max(maxPathLength)

/** A canonical path: absolute, without empty parts, `.` and `..`. */
export const path = Text.max(maxPathLength).refine(isCanonical, 'must be a canonical path')

/** The bytes of a path that is not UTF-8. */
export const rawPath = z
  .base64()
  .max(maxBase64Length)
  .refine((text) => {
    const bytes = Buffer.from(text, 'base64').toString('latin1')
    return !bytes.includes('\0') && isCanonical(bytes)
  }, 'must be the bytes of a canonical path')

/**
 * Returns true if `path` is the text of the bytes in `raw`. Each byte that is not UTF-8 is U+FFFD;
 * decoders differ in how many.
 */
export function isTextOf(path: string, raw: string | undefined): boolean {
  return raw === undefined || shortened(Buffer.from(raw, 'base64').toString('utf8')) === shortened(path)
}

function shortened(text: string): string {
  return text.replace(/\uFFFD+/g, '\uFFFD')
}

/** Returns the last part of a canonical path; `/` for the root. */
export function lastPartOf(path: string): string {
  return path === '/' ? '/' : path.slice(path.lastIndexOf('/') + 1)
}

/** Returns true if `path` is `base`, a canonical path, or below it. */
export function isWithin(base: string, path: string): boolean {
  return path === base || path.startsWith(base === '/' ? '/' : `${base}/`)
}

function isCanonical(path: string): boolean {
  if (!path.startsWith('/')) return false
  return path === '/' || !/\/(?:\.{0,2})(?:\/|$)/.test(path)
}
