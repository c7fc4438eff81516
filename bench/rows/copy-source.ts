import { randomBytes } from 'node:crypto'
import { mkdir, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The number of files in a directory of a tree. */
const filesOfDirectory = 200

/**
 * Makes a tree of `count` files of up to 8 KiB, or one file of 1 GiB. The bytes are random, so no
 * file system can compress or skip them.
 */
const script = `
import os, random, sys
path, count = sys.argv[1], int(sys.argv[2])
if count == 0:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as file:
        for _ in range(256):
            file.write(os.urandom(4 << 20))
else:
    pick = random.Random(1)
    block = os.urandom(16384)
    for number in range(count):
        directory = os.path.join(path, 'd%d' % (number // ${filesOfDirectory}))
        if number % ${filesOfDirectory} == 0:
            os.makedirs(directory)
        with open(os.path.join(directory, 'file-%d' % number), 'wb', buffering=0) as file:
            start = pick.randrange(8192)
            file.write(block[start:start + pick.randrange(1, 8192)])
`

/**
 * Returns the command that makes the source of a copy: a tree of `files` files, or one file if
 * `files` is null.
 */
export function makeSource(path: string, files: number | null): readonly string[] {
  return ['python3', '-c', script, path, String(files ?? 0)]
}

/**
 * Makes a source of the same shape on the host: other bytes, but the same number of files and mean
 * size.
 */
export async function makeSourceOnHost(path: string, files: number | null): Promise<void> {
  const block = randomBytes(4 << 20)
  if (files === null) {
    await using file = await open(path, 'w')
    for (let done = 0; done < 256; done += 1) await file.write(block)
    return
  }
  for (let number = 0; number < files; number += 1) {
    const directory = join(path, `d${Math.floor(number / filesOfDirectory)}`)
    if (number % filesOfDirectory === 0) await mkdir(directory, { recursive: true })
    // Steps of a prime number cover all sizes evenly.
    const size = 1 + ((number * 7919) % 8191)
    await writeFile(join(directory, `file-${number}`), block.subarray(number % 8192, (number % 8192) + size))
  }
}

/** Returns the command that copies and prints its own clock before and after. */
export function timedCopy(source: string, destination: string): readonly string[] {
  const shell = 'from=$EPOCHREALTIME; cp -a -- "$1" "$2" || exit; echo "$from $EPOCHREALTIME"'
  return ['bash', '-c', shell, 'timed-copy', source, destination]
}

/**
 * Returns the milliseconds between the two times that `timedCopy` prints. Throws if there are not
 * two.
 */
export function parseClock(output: string): number {
  const [from, to] = output.trim().split(/\s+/).map(Number)
  if (from === undefined || to === undefined || !Number.isFinite(to - from))
    throw new Error(`not two times: ${output.slice(0, 100)}`)
  return (to - from) * 1000
}
