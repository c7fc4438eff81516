import { unsupported, wrong } from './line-error.ts'
import type { CopySource, Mount } from './plan.ts'

/** Returns the source that a `from` names. */
export type FindSource = (name: string) => CopySource

/** The fields that each kind of mount may have. */
const fieldsOf = {
  bind: ['target', 'source', 'from', 'readonly'],
  cache: ['target', 'source', 'from', 'readonly', 'id', 'sharing', 'mode', 'uid', 'gid'],
  tmpfs: ['target', 'size'],
  secret: ['target', 'source', 'id', 'env', 'required', 'mode', 'uid', 'gid', 'readonly'],
} as const satisfies Record<Mount['type'], readonly string[]>

const aliases: Readonly<Record<string, string>> = {
  src: 'source',
  dst: 'target',
  destination: 'target',
  ro: 'readonly',
}
const known = new Set<string>([...Object.values(fieldsOf).flat(), 'type', 'readwrite'])

/**
 * Reads the value of `RUN --mount=`. Source: docs.docker.com, Dockerfile reference, "RUN --mount".
 */
export function readMount(text: string, find: FindSource): Mount {
  const fields = readFields(text)
  const type = (fields.get('type') ?? 'bind').toLowerCase()
  if (type === 'ssh')
    throw unsupported(
      'RUN --mount=type=ssh is not supported.',
      'Fetch with a token in a build secret: `--mount=type=secret`.',
    )
  if (!isMountType(type)) throw wrong(`"${type}" is not a mount type.`, 'The types are bind, cache, tmpfs and secret.')
  const allowed: readonly string[] = fieldsOf[type]
  for (const name of fields.keys()) {
    if (name !== 'type' && !allowed.includes(name)) throw wrong(`A mount of type ${type} has no "${name}".`)
  }
  switch (type) {
    case 'bind':
      return {
        type,
        target: targetOf(fields),
        from: sourceOf(fields, find) ?? { type: 'context' },
        source: fields.get('source') ?? '/',
        readOnly: flag(fields, 'readonly', true),
      }
    case 'tmpfs':
      return { type, target: targetOf(fields), sizeBytes: sizeOf(fields) }
    case 'cache':
      return cacheMount(fields, find)
    case 'secret':
      return secretMount(fields)
  }
}

type Fields = ReadonlyMap<string, string>

function cacheMount(fields: Fields, find: FindSource): Mount {
  const target = targetOf(fields)
  const sharing = (fields.get('sharing') ?? 'shared').toLowerCase()
  if (sharing !== 'shared' && sharing !== 'private' && sharing !== 'locked') {
    throw wrong(`"${sharing}" is not a sharing mode of a cache.`, 'Use shared, private or locked.')
  }
  return {
    type: 'cache',
    target,
    id: fields.get('id') ?? target,
    from: sourceOf(fields, find),
    source: fields.get('source') ?? '/',
    sharing,
    ...ownerOf(fields),
    readOnly: flag(fields, 'readonly', false),
  }
}

function secretMount(fields: Fields): Mount {
  const target = fields.get('target') ?? null
  const id = fields.get('id') ?? fields.get('source') ?? target?.replace(/^.*\//s, '') ?? ''
  if (id === '') throw wrong('A mount of type secret has neither id nor target.', 'Name the build secret: `id=NAME`.')
  return {
    type: 'secret',
    id,
    target,
    env: fields.get('env') ?? null,
    required: flag(fields, 'required', false),
    ...ownerOf(fields),
  }
}

function readFields(text: string): Fields {
  const fields = new Map<string, string>()
  for (const item of splitCsv(text)) {
    const equals = item.indexOf('=')
    const given = (equals === -1 ? item : item.slice(0, equals)).toLowerCase()
    const name = (Object.hasOwn(aliases, given) ? aliases[given] : undefined) ?? (given === 'rw' ? 'readwrite' : given)
    if (!known.has(name)) throw wrong(`"${given}" is not a field of a mount.`)
    if (equals === -1 && name !== 'readonly' && name !== 'readwrite' && name !== 'required') {
      throw wrong(`The field "${item}" of a mount has no value.`)
    }
    const value = equals === -1 ? 'true' : item.slice(equals + 1)
    if (name === 'readwrite') fields.set('readonly', String(!boolean(name, value)))
    else fields.set(name, value)
  }
  return fields
}

/** Splits fields at commas. A field in double quotes may contain them. */
function splitCsv(text: string): string[] {
  const items: string[] = []
  let item = ''
  let quoted = false
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? ''
    if (char === '"' && quoted && text[at + 1] === '"') {
      item += char
      at += 1
    } else if (char === '"') quoted = !quoted
    else if (char === ',' && !quoted) {
      items.push(item)
      item = ''
    } else item += char
  }
  if (quoted) throw wrong('A mount has a " that is not closed.')
  return [...items, item]
}

function targetOf(fields: Fields): string {
  const target = fields.get('target') ?? ''
  if (target === '') throw wrong('The mount has no target.', 'Add `target=/path`.')
  return target
}

/** Returns the source of the files, which is fixed before variables are known. */
function sourceOf(fields: Fields, find: FindSource): CopySource | null {
  const from = fields.get('from')
  return from === undefined ? null : find(from)
}

function ownerOf(fields: Fields): { mode: string | null; uid: string | null; gid: string | null } {
  const mode = fields.get('mode') ?? null
  if (mode !== null && !mode.includes('$') && !/^0?o?[0-7]{1,4}$/.test(mode))
    throw wrong(`"${mode}" is not an octal mode.`)
  const [uid = null, gid = null] = [fields.get('uid'), fields.get('gid')]
  for (const id of [uid, gid]) {
    if (id !== null && !id.includes('$') && !/^\d{1,10}$/.test(id)) throw wrong(`"${id}" is not a numeric id.`)
  }
  return { mode, uid, gid }
}

function sizeOf(fields: Fields): number | null {
  const text = fields.get('size')
  if (text === undefined) return null
  const match = /^(\d{1,12}(?:\.\d{1,6})?) ?([kmgt]?)(?:i?b)?$/i.exec(text)
  if (match === null) throw wrong(`"${text}" is not a size.`, 'Write it like 64m or 1g.')
  const power = ' kmgt'.indexOf((match[2] || ' ').toLowerCase())
  const size = Math.floor(Number(match[1]) * 1024 ** power)
  if (!Number.isSafeInteger(size)) throw wrong(`"${text}" is too large a size.`)
  return size
}

function flag(fields: Fields, name: string, standard: boolean): boolean {
  const value = fields.get(name)
  return value === undefined ? standard : boolean(name, value)
}

/** Parses a boolean as Go does. */
export function boolean(name: string, value: string): boolean {
  if (/^(?:1|t|T|TRUE|true|True)$/.test(value)) return true
  if (/^(?:0|f|F|FALSE|false|False)$/.test(value)) return false
  throw wrong(`The value "${value}" of ${name} is neither true nor false.`)
}

function isMountType(type: string): type is Mount['type'] {
  return type in fieldsOf
}
