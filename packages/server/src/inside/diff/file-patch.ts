import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { gitPath } from './git-path.ts'
import { type CompareTime, textHunks } from './text-hunks.ts'

/** A file or a symlink on one side of a patch. */
export interface PatchSide {
  /** The mode as git has it. */
  readonly mode: '100644' | '100755' | '120000'
  /** The content of a file, or the target of a symlink. */
  readonly content: Buffer
}

/** Both sides of a patch. Null stands for a side without a file. */
export interface PatchSides {
  readonly before: PatchSide | null
  readonly after: PatchSide | null
}

const zeroHash = '0'.repeat(40)

/** Returns true for content that a patch can show as text. */
export function isText(content: Buffer): boolean {
  return !content.includes(0) && isUtf8(content)
}

/**
 * Returns the patch of one path in git's format. Both contents are text. A file that became a
 * symlink, or the reverse, is deleted and created.
 */
export function filePatch(path: Buffer, { before, after }: PatchSides, time: CompareTime): string {
  if (before !== null && after !== null && isLink(before) !== isLink(after))
    return filePatch(path, { before, after: null }, time) + filePatch(path, { before: null, after }, time)
  const head = [`diff --git ${gitPath('a/', path)} ${gitPath('b/', path)}`, ...modeLines(before, after)]
  const isEqual = before !== null && after !== null && before.content.equals(after.content)
  if (isEqual) return joinLines(head)
  const mode = before !== null && after !== null && before.mode === after.mode ? ` ${before.mode}` : ''
  head.push(`index ${hashOf(before)}..${hashOf(after)}${mode}`)
  const hunks = textHunks(textOf(before), textOf(after), time)
  if (hunks === '') return joinLines(head)
  head.push(`--- ${named('a/', path, before)}`, `+++ ${named('b/', path, after)}`)
  return joinLines(head) + hunks
}

function modeLines(before: PatchSide | null, after: PatchSide | null): string[] {
  if (before === null) return [`new file mode ${after?.mode}`]
  if (after === null) return [`deleted file mode ${before.mode}`]
  return before.mode === after.mode ? [] : [`old mode ${before.mode}`, `new mode ${after.mode}`]
}

/**
 * Returns the line for the name of a side. Git ends a name with a space by a tab, because other
 * tools end it at the space (`diff.c`).
 */
function named(prefix: string, path: Buffer, side: PatchSide | null): string {
  if (side === null) return '/dev/null'
  const name = gitPath(prefix, path)
  return name.includes(' ') && !name.startsWith('"') ? `${name}\t` : name
}

/** Returns the name of git's blob of a content. */
function hashOf(side: PatchSide | null): string {
  if (side === null) return zeroHash
  return createHash('sha1').update(`blob ${side.content.length}\0`).update(side.content).digest('hex')
}

function isLink({ mode }: PatchSide): boolean {
  return mode === '120000'
}

function textOf(side: PatchSide | null): string {
  return side === null ? '' : side.content.toString('utf8')
}

function joinLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('')
}
