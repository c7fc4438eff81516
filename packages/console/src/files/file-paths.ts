/** Returns the path of the directory that has a path. For `/` it is `/`. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

/** Returns the last part of a path. */
export function baseOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Returns the path of a name, or of a path with several parts, below a directory. */
export function pathIn(dir: string, name: string): string {
  return dir === '/' ? `/${name}` : `${dir}/${name}`
}

/** Returns the paths from `/` to a path. */
export function pathsTo(path: string): readonly string[] {
  const parts = path.split('/').filter((part) => part !== '')
  return ['/', ...parts.map((_, at) => `/${parts.slice(0, at + 1).join('/')}`)]
}

/** Returns the absolute path for a path that somebody typed in a directory. */
export function typedPath(dir: string, text: string): string {
  const whole = text.startsWith('/') ? text : `${dir}/${text}`
  const parts: string[] = []
  for (const part of whole.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

/** The longest name of a file in Linux, in bytes. */
const longestNameBytes = 255

/** Returns why a text cannot be the name of a file, or null if it can. */
export function nameProblem(name: string): string | null {
  if (name === '') return 'Enter a name.'
  if (name === '.' || name === '..') return `${name} is no name of a file.`
  if (name.includes('/')) return 'A name has no slash. To put it elsewhere, change the directory.'
  if (name.includes('\0') || !name.isWellFormed()) return 'A name is well-formed text without NUL.'
  if (new TextEncoder().encode(name).length > longestNameBytes) return `A name has at most ${longestNameBytes} bytes.`
  return null
}
