import { HoltError } from '../errors/errors.ts'

/** A Dockerfile: its text, its path and its context, if any. */
export interface DockerfileSource {
  readonly text: string
  /** The path; null for a text. */
  readonly path: string | null
  /** The directory that COPY and ADD read; null for none. */
  readonly context: string | null
}

/**
 * Returns true for a Dockerfile's text, false for a path. A text has several lines, or begins as a
 * Dockerfile does.
 */
export function isDockerfileText(textOrPath: string): boolean {
  return textOrPath.includes('\n') || /^\s*(?:FROM|ARG)\s|^\s*#/i.test(textOrPath)
}

/** Reads a Dockerfile. The default context of a file is its directory. */
export async function readDockerfile(textOrPath: string, context: string | undefined): Promise<DockerfileSource> {
  if (isDockerfileText(textOrPath)) return { text: textOrPath, path: null, context: context ?? null }
  const { readFile } = await import('node:fs/promises')
  const { dirname } = await import('node:path')
  try {
    const text = await readFile(textOrPath, 'utf8')
    return { text, path: textOrPath, context: context ?? dirname(textOrPath) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new HoltError('path_not_found', `There is no Dockerfile ${textOrPath}`, {
      hint: 'Give the path of a Dockerfile, or its text. A text has several lines, or begins with FROM.',
    })
  }
}

/**
 * Returns true if a Dockerfile may read its context: it has a COPY, an ADD or a mount. Returns true
 * in doubtful cases, such as a line of a heredoc that begins with such a word.
 */
export function readsContext(text: string): boolean {
  const joined = text.replace(/[\\`][ \t]*\r?\n/g, '')
  return /^\s*(?:COPY|ADD)\s|--mount/im.test(joined)
}
