import { writtenOut } from '@holt/sdk'

/**
 * Returns a text as one word of a shell. Characters that nobody would see, or that a terminal would
 * interpret, are written out in quotes of the form `$'\u202e'`, which bash and zsh read.
 */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text
  const escaped = text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
  const shown = writtenOut(escaped)
  return shown === escaped ? `'${text.replaceAll("'", `'\\''`)}'` : `$'${shown}'`
}
