import { BuilderError } from '../errors.ts'

const MAX_PATH_BYTES = 4096
const MAX_NAME_BYTES = 255

/** The meaning of an entry of a layer (OCI image-spec, layer.md). */
export type LayerPath =
  | { readonly type: 'entry'; readonly names: readonly string[] }
  | { readonly type: 'whiteout'; readonly names: readonly string[] }
  | { readonly type: 'opaque'; readonly names: readonly string[] }
  | { readonly type: 'ignored' }

/**
 * Returns the components of a path in a layer, one character per byte, so that names that are not
 * UTF-8 are kept. `/a`, `./a` and `a` are the same. Throws for `..`, which has no meaning in a
 * layer.
 */
export function layerNames(path: Uint8Array | string): readonly string[] {
  const bytes =
    typeof path === 'string' ? Buffer.from(path, 'utf8') : Buffer.from(path.buffer, path.byteOffset, path.byteLength)
  if (bytes.length > MAX_PATH_BYTES || bytes.includes(0)) throw refused(path, 'is too long or contains NUL')
  const names = bytes
    .toString('latin1')
    .split('/')
    .filter((name) => name !== '' && name !== '.')
  if (names.includes('..')) throw refused(path, 'contains ".."')
  if (names.some((name) => name.length > MAX_NAME_BYTES)) throw refused(path, 'has a name that is too long')
  return names
}

/** Parses the path of an entry, including the prefixes of whiteouts. */
export function readLayerPath(path: Uint8Array | string): LayerPath {
  const names = layerNames(path)
  const last = names.at(-1) ?? ''
  if (!last.startsWith('.wh.')) return { type: 'entry', names }
  const parent = names.slice(0, -1)
  if (last === '.wh..wh..opq') return { type: 'opaque', names: parent }
  // Other names of this form are internal to AUFS.
  if (last.startsWith('.wh..wh.')) return { type: 'ignored' }
  const hidden = last.slice('.wh.'.length)
  if (hidden === '' || hidden === '.' || hidden === '..') throw refused(path, 'is a whiteout that names nothing')
  return { type: 'whiteout', names: [...parent, hidden] }
}

/** Returns the error for a layer that no honest tool writes. */
export function refused(path: Uint8Array | string, why: string): BuilderError {
  const text = typeof path === 'string' ? path : Buffer.from(path).toString('utf8')
  return new BuilderError('image_invalid', `A layer holds a path that ${why}: ${JSON.stringify(text.slice(0, 200))}.`)
}
