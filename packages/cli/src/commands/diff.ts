import type { DiffEntry, FileDiff, Runtime } from '@holt/sdk'
import type { Command } from 'commander'
import { findRuntime } from '../arguments/find-runtime.ts'
import { connect } from '../connection/connect.ts'
import { diffStat } from '../output/diff-stat.ts'
import { isGone, print, printJson, say, styledData, writeBytes } from '../output/print.ts'
import { printable, visibleOutput } from '../output/visible.ts'
import { act, UsageError } from '../verb/verb.ts'

const examples = `
Without --patch, each line has the kind of change and the path: A added, M modified, D removed, T another type, m mode or owner.
The patch is for git apply in a copy of PATH. It has files and symlinks of at most 1 MiB, and names other files in comments.

Examples:
  holt diff mine
  holt diff mine /workspace --patch | git apply
  holt diff mine /workspace --stat
  holt snapshot create mine --name before --record-files && holt diff mine --since before
  holt diff my-fork --since image
  holt diff mine --json | jq -r '.data[] | select(.change == "added").path'`

interface DiffCommandOptions {
  readonly since?: string
  readonly patch?: boolean
  readonly stat?: boolean
  readonly json?: boolean
}

/** Adds `holt diff`, which shows the files that have changed in a runtime. */
export function addDiff(program: Command): void {
  const command = program
    .command('diff')
    .description('show the files that have changed since a runtime began')
    .argument('<runtime>', 'id, beginning of an id, or name')
    .argument('[path]', 'only changes at this path and below it', '/')
    .option(
      '-s, --since <snapshot>',
      'a snapshot, or image (default: its fork or memory snapshot if taken with --record-files, else image)',
    )
    .option('-p, --patch', "print a patch in git's format")
    .option('--stat', 'print the number of changed lines of each file')
    .option('--json', 'print the changes as JSON; with --patch also the patch')
    .addHelpText('after', examples)
  act(
    command,
    async (name: string, path: string, { since, patch = false, stat = false, json = false }: DiffCommandOptions) => {
      if (stat && (patch || json)) throw new UsageError('Give only one of --stat, --patch and --json.')
      const runtime = await findRuntime(connect(), name)
      const wanted = { path, patch: patch || stat, ...(since !== undefined && { since }) }
      if (json) printJson(await wholeDiff(runtime, wanted))
      else for await (const page of pages(runtime, wanted)) await show(page, { patch, stat })
      return 0
    },
  )
}

interface Wanted {
  readonly path: string
  readonly patch: boolean
  readonly since?: string
}

/** Yields the pages of a diff. */
async function* pages(runtime: Runtime, wanted: Wanted): AsyncGenerator<FileDiff> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: FileDiff = await runtime.diff({ ...wanted, ...(cursor === undefined ? {} : { cursor }) })
    yield page
    if (isGone(process.stdout)) return
    cursor = page.next_cursor
  }
}

/** Returns all pages of a diff as one. */
async function wholeDiff(runtime: Runtime, wanted: Wanted): Promise<FileDiff> {
  const all: FileDiff[] = []
  for await (const page of pages(runtime, wanted)) all.push(page)
  const last = all.at(-1) as FileDiff
  return {
    ...last,
    data: all.flatMap(({ data }) => data),
    patch: wanted.patch ? all.map(({ patch }) => patch ?? '').join('') : null,
    patch_complete: wanted.patch ? all.every(({ patch_complete }) => patch_complete === true) : null,
  }
}

async function show(
  page: FileDiff,
  { patch, stat }: { readonly patch: boolean; readonly stat: boolean },
): Promise<void> {
  if (stat) for (const line of diffStat(page)) print(line)
  else if (patch) await showPatch(page.patch ?? '')
  else for (const entry of page.data) print(lineOf(entry))
  if (patch && page.patch_complete === false)
    say('holt: the patch is incomplete; holt diff without --patch lists every change')
  if (page.next_cursor === null && page.truncated) say('holt: entries with paths of more than 4,096 bytes are left out')
}

type Style = Parameters<typeof styledData>[0]

const marks: Readonly<Record<DiffEntry['change'], readonly [string, Style]>> = {
  added: ['A', 'green'],
  modified: ['M', 'yellow'],
  removed: ['D', 'red'],
  type_changed: ['T', 'magenta'],
  attributes: ['m', 'cyan'],
}

function lineOf({ change, path, type, previous_type }: DiffEntry): string {
  const [mark, style] = marks[change]
  return styledData(style, `${mark}  ${printable(path)}${(type ?? previous_type) === 'directory' ? '/' : ''}`)
}

/** Prints a patch: its exact bytes, or with colours on a terminal. */
async function showPatch(patch: string): Promise<void> {
  if (process.stdout.isTTY !== true) return writeBytes(process.stdout, Buffer.from(patch))
  for (const line of patch.split('\n').slice(0, -1)) print(coloured(visibleOutput(line)))
}

function coloured(line: string): string {
  if (/^(?:diff --git|index|---|\+\+\+|old mode|new mode|new file|deleted file|#) /.test(line))
    return styledData('bold', line)
  if (line.startsWith('@@ ')) return styledData('cyan', line)
  if (line.startsWith('+')) return styledData('green', line)
  return line.startsWith('-') ? styledData('red', line) : line
}
