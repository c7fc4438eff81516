import { resolve } from 'node:path'
import type { Runtime, SyncResult } from '@holt/sdk'
import type { Command } from 'commander'
import { findRuntime } from '../arguments/find-runtime.ts'
import { parseRemote } from '../arguments/location.ts'
import { connect } from '../connection/connect.ts'
import { amount, TransferLine } from '../copy/transfer-line.ts'
import { reportError } from '../errors/report-error.ts'
import { print, printJson, say } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { followChanges } from '../sync/follow-changes.ts'
import { ignoring } from '../sync/ignore-rules.ts'
import { Interrupts } from '../verb/interrupts.ts'
import { act, UsageError } from '../verb/verb.ts'

const examples = `
Sync goes one way: files that are new or changed here (size, time or mode) are sent. Files that are only there stay unless --delete is given. A file .holtignore at the
top of DIR excludes files, with the patterns of .gitignore.

Examples:
  holt sync ./project mine:/workspace/project
  holt sync ./project mine:/workspace/project --watch --gitignore
  holt sync ./project mine:/workspace/project --delete --exclude '*.log' --dry-run`

interface Options {
  readonly watch?: boolean
  readonly delete?: boolean
  readonly exclude: readonly string[]
  readonly gitignore?: boolean
  readonly checksum?: boolean
  readonly dryRun?: boolean
  readonly user?: string
  readonly json?: boolean
}

/** Adds `holt sync`, which makes a directory of a runtime equal to a local one and keeps it so. */
export function addSync(program: Command): void {
  const command = program
    .command('sync')
    .description('make a directory of a runtime equal to a local one')
    .argument('<directory>', 'a local directory')
    .argument('<location>', 'RUNTIME:/PATH')
    .option('-w, --watch', 'continue to send local changes, until Ctrl-C')
    .option('--delete', 'remove files that are not here')
    .option('--exclude <pattern>', 'a pattern to exclude on both sides, as in .gitignore; repeatable', collect, [])
    .option('--gitignore', 'exclude the files that .gitignore files name, and .git')
    .option('--checksum', 'compare the content of files of the same size, not their times')
    .option('-n, --dry-run', 'only print the actions')
    .option('-u, --user <user>', "the owner of new files (default: the template's user)")
    .option('--json', 'print the result as JSON; with --watch, one object per line')
    .addHelpText('after', examples)
  act(command, async (directory: string, locationText: string, options: Options) => {
    if (options.watch === true && options.dryRun === true) throw new UsageError('Give one of --watch and --dry-run')
    const { runtime: name, path } = parseRemote(locationText)
    const runtime = await findRuntime(connect(), name)
    const job = { runtime, from: resolve(directory), to: path.replace(/(?<=.)\/+$/, ''), options }
    const first = await syncOnce(job)
    report(first, options)
    return options.watch === true ? stay(job, first) : 0
  })
}

interface Job {
  readonly runtime: Runtime
  readonly from: string
  readonly to: string
  readonly options: Options
}

interface Round extends SyncResult {
  readonly durationMs: number
}

async function syncOnce({ runtime, from, to, options }: Job, signal?: AbortSignal): Promise<Round> {
  const { exclude, gitignore = false, checksum = false, dryRun = false, user } = options
  const startMs = performance.now()
  const line = new TransferLine('Sending')
  try {
    const result = await runtime.files.sync(from, to, {
      keeps: ignoring(from, { patterns: exclude, gitignore }),
      delete: options.delete === true,
      checksum,
      dryRun,
      onProgress: (progress) => line.update(progress),
      ...(user === undefined ? {} : { user }),
      ...(signal === undefined ? {} : { signal }),
    })
    return { ...result, durationMs: Math.round(performance.now() - startMs) }
  } finally {
    line.clear()
  }
}

/**
 * Follows local changes until Ctrl-C, and returns the exit code. A failed round is reported, and
 * the next one does its remaining work.
 */
async function stay(job: Job, first: Round): Promise<number> {
  const stop = new AbortController()
  using interrupts = new Interrupts()
  interrupts.passOn(async () => stop.abort())
  say(`holt: following ${printable(job.from)}; Ctrl-C ends it`)
  let sent = 0
  let removed = 0
  const look = async () => {
    try {
      const whole = await syncOnce(job, stop.signal)
      const round = { ...whole, skipped: whole.skipped.filter(({ path }) => !told.has(path)) }
      for (const { path } of round.skipped) told.add(path)
      sent += round.sent.length
      removed += round.removed.length
      if (round.sent.length + round.removed.length + round.skipped.length > 0) report(round, job.options)
    } catch (error) {
      if (!stop.signal.aborted) reportError(error)
    }
  }
  const told = new Set(first.skipped.map(({ path }) => path))
  await followChanges(job.from, { look, signal: stop.signal })
  say(`holt: ended; followed changes: ${sent} sent, ${removed} removed`)
  return interrupts.endCode
}

function report(round: Round, { json = false, watch = false, dryRun = false }: Options): void {
  const { sent, removed, unchanged, skipped, bytes, durationMs } = round
  if (json) {
    const what = { sent, removed, unchanged, skipped, size_bytes: bytes, duration_ms: durationMs }
    if (watch) print(JSON.stringify(what))
    else printJson(what)
    return
  }
  if (dryRun) {
    for (const path of sent) print(`send    ${printable(path)}`)
    for (const path of removed) print(`remove  ${printable(path)}`)
  }
  for (const { path, reason } of skipped) say(`holt: left out ${printable(path)}: ${reason}`)
  const [send, remove] = dryRun ? ['would send', 'would remove'] : ['sent', 'removed']
  say(
    `holt: ${send} ${sent.length} (${amount(bytes)}), ${remove} ${removed.length}, ${unchanged} unchanged, ${(durationMs / 1000).toFixed(1)} s`,
  )
}

function collect(text: string, before: readonly string[]): readonly string[] {
  return [...before, text]
}
