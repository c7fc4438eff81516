import { BuilderError } from '../errors.ts'

/** The files of an image that name its users, or null if the image has none. */
export interface UserFiles {
  readonly passwd: string | null
  readonly group: string | null
}

/**
 * Reads USER of an image: `name|uid[:group|gid]` (OCI image-spec, config.md). Returns a name in
 * /etc/passwd, or numbers. An empty USER is root. Throws `image_invalid` for an unknown name,
 * because no command could ever run as that user.
 */
export function findUser(user: string, files: UserFiles): string {
  const [name = '', group, ...rest] = (user === '' ? 'root' : user).split(':')
  if (rest.length > 0 || user.includes('\0')) throw unknown('user', user)
  const known = isNumber(name) ? null : fieldsOf(files.passwd, name, 7)
  // An image without /etc/passwd still has root.
  const uid = isNumber(name) ? name : name === 'root' ? '0' : known?.[2]
  if (uid === undefined || !isNumber(uid)) throw unknown('user', name)
  if (group === undefined) return known === null ? uid : name
  const gid = isNumber(group) ? group : fieldsOf(files.group, group, 4)?.[2]
  if (gid === undefined || !isNumber(gid)) throw unknown('group', group)
  return `${uid}:${gid}`
}

/** Returns the fields of the first line of a name in passwd(5) or group(5). */
function fieldsOf(file: string | null, name: string, count: 7 | 4): readonly string[] | null {
  const lines = file?.split('\n').map((line) => line.split(':')) ?? []
  return lines.find((fields) => fields[0] === name && fields.length === count) ?? null
}

/**
 * Returns true for the number of a user or group. It is below 2^32 - 1, which means "unchanged" to
 * the kernel.
 */
function isNumber(text: string): boolean {
  return /^\d{1,10}$/.test(text) && Number(text) < 2 ** 32 - 1
}

function unknown(kind: 'user' | 'group', name: string): BuilderError {
  const file = kind === 'user' ? '/etc/passwd' : '/etc/group'
  const shown = JSON.stringify(name.slice(0, 80))
  return new BuilderError('image_invalid', `The image's USER names the ${kind} ${shown}, which its ${file} does not.`)
}
