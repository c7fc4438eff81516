import { readFile } from 'node:fs/promises'

/** One line of `/proc/self/mountinfo` (`proc(5)`). */
export interface Mount {
  readonly root: string
  readonly point: string
  readonly options: readonly string[]
  readonly type: string
  readonly source: string
  readonly superOptions: readonly string[]
}

/** Parses `/proc/self/mountinfo`. Lines of another form are left out. */
export function parseMountInfo(text: string): Mount[] {
  return text.split('\n').flatMap((line) => {
    const [head, tail] = line.split(' - ', 2)
    const left = head?.split(' ') ?? []
    const right = tail?.split(' ') ?? []
    const [root, point, options] = [left[3], left[4], left[5]]
    const [type, source, superOptions] = right
    if (root === undefined || point === undefined || options === undefined) return []
    if (type === undefined || source === undefined || superOptions === undefined) return []
    return [
      {
        root: unescapeOctal(root),
        point: unescapeOctal(point),
        options: options.split(','),
        type,
        source: unescapeOctal(source),
        superOptions: superOptions.split(','),
      },
    ]
  })
}

/** Returns the mounts that this process sees. */
export async function readMounts(): Promise<Mount[]> {
  return parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'))
}

/** Decodes space, tab, newline and backslash, which are written as three octal digits. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}
