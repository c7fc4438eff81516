import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The program that searches. */
export const findBytes = new URL('../probe/find-bytes.py', import.meta.url).pathname

/** The files below a directory of the host that have one of the texts in them. */
export async function filesWith(directory: string, texts: readonly string[]): Promise<string[]> {
  const { stdout } = await run('python3', [findBytes, directory, ...texts])
  return JSON.parse(stdout) as string[]
}
