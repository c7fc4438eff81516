import type { BigIntStats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { digestFile } from '../files/digest-file.ts'
import { hasCode, syncPath } from '../files/durable-files.ts'
import type { CheckpointManifest } from './manifest.ts'

type Files = CheckpointManifest['files']

/** Makes the runner's files in a directory durable, and returns their list. */
export async function sealFiles(dir: string): Promise<Files> {
  const names = (await readdir(dir)).sort()
  return Promise.all(
    names.map(async (name) => {
      const path = join(dir, name)
      const [digest, { size }] = await Promise.all([digestFile(path), lstat(path), syncPath(path)])
      return { name, sizeBytes: size, digest }
    }),
  )
}

/**
 * Returns a stamp that changes if the files change. A write moves the time of change, which no
 * program can set.
 */
export async function stampOf(dir: string, files: Files): Promise<string> {
  const stats = await Promise.all(files.map(({ name }) => lookAt(join(dir, name))))
  return stats.map((found) => `${found?.ino} ${found?.size} ${found?.mtimeNs} ${found?.ctimeNs}`).join('\n')
}

/**
 * Returns the reason why the files in a directory differ from the list, or null if they match.
 * Reads every file completely.
 */
export async function findDamage(dir: string, files: Files): Promise<string | null> {
  const found = await Promise.all(files.map((file) => findDamageOf(dir, file)))
  return found.find((why) => why !== null) ?? null
}

/**
 * Returns the reason if a runner's file is not in the list, or null. A runner would read such a
 * file without being asked to.
 */
export async function findForeign(dir: string, files: Files): Promise<string | null> {
  const known = new Set(files.map(({ name }) => name))
  const foreign = (await readdir(dir)).find((name) => name.endsWith('.img') && !known.has(name))
  return foreign === undefined ? null : `${foreign} is not a file of it`
}

async function findDamageOf(dir: string, { name, sizeBytes, digest }: Files[number]): Promise<string | null> {
  const found = await lookAt(join(dir, name))
  if (found === null || !found.isFile()) return `${name} is not there`
  if (found.size !== BigInt(sizeBytes)) return `${name} is not ${sizeBytes} bytes long`
  return (await digestFile(join(dir, name))) === digest ? null : `${name} does not have its digest`
}

async function lookAt(path: string): Promise<BigIntStats | null> {
  try {
    return await lstat(path, { bigint: true })
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  }
}
