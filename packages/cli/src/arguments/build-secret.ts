import { readFile } from 'node:fs/promises'
import { UsageError } from '../verb/verb.ts'

/**
 * Returns the values of build secrets by their ids. A value comes from a file or a variable, never
 * from an argument, which every process list shows.
 */
export async function secretValues(texts: readonly string[]): Promise<Record<string, string>> {
  const values: Record<string, string> = {}
  for (const text of texts) {
    const secret = parseBuildSecret(text)
    values[secret.id] = await readValue(secret)
  }
  return values
}

interface BuildSecret {
  readonly id: string
  readonly src?: string
  readonly env?: string
}

const fields = ['id', 'src', 'source', 'env', 'type']

/** Reads `id=ID[,src=FILE|,env=NAME]`, in the form of `docker build --secret`. */
export function parseBuildSecret(text: string): BuildSecret {
  const given: Record<string, string> = {}
  for (const part of text.split(',')) {
    const at = part.indexOf('=')
    const name = part.slice(0, Math.max(at, 0))
    if (!fields.includes(name) || at === part.length - 1) throw wrong(text)
    given[name === 'source' ? 'src' : name] = part.slice(at + 1)
  }
  const { id, src, env, type } = given
  if (id === undefined || (src !== undefined && env !== undefined)) throw wrong(text)
  // In docker build, `type=env,src=NAME` means the same as `env=NAME`.
  if (type === 'env') return { id, env: env ?? src ?? id }
  if (type !== undefined && (type !== 'file' || env !== undefined)) throw wrong(text)
  return { id, ...(src === undefined ? {} : { src }), ...(env === undefined ? {} : { env }) }
}

function wrong(text: string): UsageError {
  return new UsageError(`--secret ${text}: it must be id=ID, id=ID,src=FILE or id=ID,env=NAME`)
}

/**
 * Reads the value. Without a source it is the variable of that name, else the file of that name.
 */
async function readValue({ id, src, env }: BuildSecret): Promise<string> {
  const variable = env ?? (src === undefined ? id : undefined)
  const value = variable === undefined ? undefined : process.env[variable]
  if (value !== undefined) return value
  if (env !== undefined) throw new UsageError(`--secret id=${id}: the variable ${env} is not set here`)
  try {
    return await readFile(src ?? id, 'utf8')
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'is not there' : 'cannot be read'
    throw new UsageError(`--secret id=${id}: the file ${src ?? id} ${why}`)
  }
}
