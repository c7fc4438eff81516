import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from './service-process.ts'

/** A fenced block of commands on a page. */
export interface DocBlock {
  /** The page and the line of the fence, as `docs/ports.md:9`. */
  readonly place: string
  readonly commands: string
  /** The reason why no test runs it, from the comment before it; null where the test runs it. */
  readonly notRun: string | null
  /** The machine of the page that it is for, from the end of the comment; null if it names none. */
  readonly machine: string | null
}

/** A page and its blocks, in order. */
export interface DocPage {
  readonly name: string
  readonly blocks: readonly DocBlock[]
}

/** Returns the README and the pages below `docs/` that have blocks of commands. */
export function docPages(): readonly DocPage[] {
  const names = ['README.md', ...globSync('docs/*.md', { cwd: repository }).toSorted()]
  return names
    .map((name) => ({ name, blocks: blocksOf(name, readFileSync(join(repository, name), 'utf8')) }))
    .filter(({ blocks }) => blocks.length > 0)
}

/**
 * A fence of commands with what stands in it, and before it perhaps a comment `<!-- not run: REASON
 * -->`. The reason may end with the machine for which the block is: `, on the MACHINE`.
 */
const fenced =
  /^(?:<!-- not run: (?<reason>[^\n]+?)(?:, on the (?<machine>\w+))? -->\n+)?```(?:sh|bash|console)\n(?<commands>.*?)^```$/gms

/** Returns the blocks of commands of a page. */
export function blocksOf(name: string, page: string): readonly DocBlock[] {
  return [...page.matchAll(fenced)].map(({ index, groups }) => {
    const line = page.slice(0, page.indexOf('```', index)).split('\n').length
    const { commands = '', reason: notRun = null, machine = null } = groups ?? {}
    return { place: `${name}:${line}`, commands, notRun, machine }
  })
}
