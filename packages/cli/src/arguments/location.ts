import { UsageError } from '../verb/verb.ts'

/** One end of a copy: a local path, a path inside a runtime, or the standard stream. */
export type Location =
  | { readonly type: 'local'; readonly path: string }
  | { readonly type: 'remote'; readonly runtime: string; readonly path: string }
  | { readonly type: 'stream' }

/**
 * Reads one end of a copy. `NAME:/path` is inside a runtime. A local path with a colon is written
 * `./NAME:...`.
 */
export function parseLocation(text: string): Location {
  if (text === '-') return { type: 'stream' }
  const remote = /^([A-Za-z0-9-]+):(.*)$/s.exec(text)
  if (remote?.[1] === undefined || remote[2] === undefined) return { type: 'local', path: text }
  if (!remote[2].startsWith('/')) throw new UsageError(`A path inside a runtime must be absolute: ${remote[1]}:/...`)
  return { type: 'remote', runtime: remote[1], path: remote[2] }
}

/** Reads a place inside a runtime: `NAME:/path`. */
export function parseRemote(text: string): Extract<Location, { type: 'remote' }> {
  const location = parseLocation(text)
  if (location.type === 'remote') return location
  throw new UsageError(`It must be inside a runtime: RUNTIME:/PATH, not ${text}`)
}

/**
 * Returns the path at which a copy arrives. It is exactly the destination or, with a slash at its
 * end, inside it under the source's own name.
 */
export function arrival(destination: string, sourceName: string): string {
  return destination.endsWith('/') ? `${destination}${sourceName}` : destination
}
