import { BuilderError } from '../errors.ts'

/** The files of an image that name its users; null where there is none. */
export interface UserFiles {
  readonly passwd: string | null
  readonly group: string | null
}

/**
 * Reads USER of an image: `name|uid[:group|gid]` (OCI image-spec, config.md). Answers a name that
 * /etc/passwd has, or numbers; no USER is root. A name that the image does not know is refused: no
 * command could ever run as that user.
 */
export function findUser(user: string, files: UserFiles): string {
  const [name = '', group, ...rest] = (user === '' ? 'root' : user).split(':')
  if (rest.length > 0 || user.includes('\0')) throw unknown('user', user)
  const known = isNumber(name) ? null : fieldsOf(files.passwd, name, 7)
  // An image without /etc/passwd has root all the same.
  const uid = isNumber(name) ? name : name === 'root' ? '0' : known?.[2]
  if (uid === undefined || !isNumber(uid)) throw unknown('user', name)
  if (group === undefined) return known === null ? uid : name
  const gid = isNumber(group) ? group : fieldsOf(files.group, group, 4)?.[2]
  if (gid === undefined || !isNumber(gid)) throw unknown('group', group)
  return `${uid}:${gid}`
}

/** The fields of the first line that a name has in passwd(5) or group(5). */
function fieldsOf(file: string | null, name: string, count: 7 | 4): readonly string[] | null {
  const lines = file?.split('\n').map((line) => line.split(':')) ?? []
  return lines.find((fields) => fields[0] === name && fields.length === count) ?? null
}

/** Users and groups are below 2^32 - 1, which means "unchanged" to the kernel. */
function isNumber(text: string): boolean {
  return /^\d{1,10}$/.test(text) && Number(text) < 2 ** 32 - 1
}

function unknown(kind: 'user' | 'group', name: string): BuilderError {
  const file = kind === 'user' ? '/etc/passwd' : '/etc/group'
  const shown = JSON.stringify(name.slice(0, 80))
  return new BuilderError('image_invalid', `The image's USER names the ${kind} ${shown}, which its ${file} does not.`)
}
