import { readCredentialsFile } from '@holt/sdk'
import type { Command } from 'commander'
import { isolationOption } from '../arguments/create-options.ts'
import { port } from '../arguments/parse.ts'
import { connect } from '../connection/connect.ts'
import { type ChangedSetting, compareSettings } from '../daemon/run-daemon-verb.ts'
import { environmentOf, startDaemon } from '../daemon/start-daemon.ts'
import {
  defaultPort,
  defaultStateDir,
  findDaemon,
  findUnit,
  lastUnit,
  logPath,
  logPlace,
  stateDir,
  wasStarted,
} from '../daemon/state.ts'
import { waitReady } from '../daemon/wait-ready.ts'
import { printJson, say, styled } from '../output/print.ts'
import { printable } from '../output/visible.ts'
import { ourCommand } from '../shell/our-command.ts'
import { shellWord } from '../shell/shell-word.ts'
import { Interrupts, interruptedExitCode } from '../verb/interrupts.ts'
import { act } from '../verb/verb.ts'

interface UpOptions {
  readonly port?: number
  readonly stateDir?: string
  readonly isolation?: string
  readonly e2b?: boolean
  readonly json?: boolean
}

const examples = `
Examples:
  holt up
  holt up --port 5000 --state-dir /srv/holt
  holt up --e2b && holt e2b env            (for programs written for E2B)
  holt up --isolation container   (the default of new runtimes, for code you trust)`

/**
 * The time limit of one request while the service starts, in milliseconds. Then the request is
 * repeated.
 */
const askTimeoutMs = 5_000

/** Adds `holt up`, which starts the service and waits until runtimes can be made. */
export function addUp(program: Command): void {
  const command = program
    .command('up')
    .description('start the service on this machine and wait until it is ready; does nothing if it already is')
    .option('-p, --port <port>', 'its port on the loopback address (default: HOLT_PORT, else 4658)', port)
    .option('--state-dir <path>', 'its state directory (default: HOLT_STATE_DIR, else /var/lib/holt)')
    .addOption(isolationOption())
    .option('--e2b', 'let programs that are written for E2B use it (default: HOLT_E2B, else off)')
    .option('--json', 'print its address and readiness as JSON')
    .addHelpText('after', examples)
  act(command, up)
}

async function up(options: UpOptions): Promise<number> {
  if (options.stateDir !== undefined) process.env.HOLT_STATE_DIR = options.stateDir
  const wanted = options.port ?? defaultPort()
  const startedAt = Date.now()
  const env = environmentOf(options)
  using interrupts = new Interrupts()
  const left = new AbortController()
  interrupts.passOn(async () => left.abort())
  const running = await findDaemon()
  const last = running === null && wasStarted() ? await changedSinceLastStart(env) : []
  // The start overwrites this record.
  const unitBefore = running === null ? await lastUnit() : null
  const started =
    running === null ? await startDaemon({ port: wanted, isolation: options.isolation, e2b: options.e2b }) : null
  if (started !== null) say(`Starting holtd (process ${started.pid}, log ${logPath()})`)

  let reasons: readonly string[] = []
  const readiness = await waitReady({
    signal: left.signal,
    onAnswer: (answer) => {
      reasons = answer.reasons
    },
    since: running === null ? startedAt : 0,
    connect: () => {
      const file = readCredentialsFile()
      const listensThere = file !== null && (started === null || new URL(file.url).port === String(wanted))
      return listensThere ? connectTo(file) : null
    },
    checkAlive: async () => {
      const end = started?.ended() ?? null
      if (started !== null && end !== null) throw new Error(`holtd ended ${end}:\n${await started.lastOutput()}`)
      if (started === null && (await findDaemon()) === null) throw new Error(`holtd has ended; see ${await logPlace()}`)
    },
  }).catch((error: unknown) => {
    if (left.signal.aborted) return null
    throw error
  })
  if (readiness === null) {
    const holt = ourCommand()
    const waits = reasons.map((reason) => ` It waits for: ${printable(reason)}`).join('')
    say(`holt: stopped waiting. The service continues.${waits}`)
    say(`holt: show its progress: ${holt} status. End it: ${holt} down`)
    return interruptedExitCode
  }
  const url = readCredentialsFile()?.url ?? ''
  const changed = running === null ? [] : (await compareSettings(env)).changed
  if (options.json === true)
    printJson({
      url,
      state_dir: stateDir(),
      ...readiness,
      changed_settings: changed,
      changed_since_last_start: last.map(({ name, running: last, here }) => ({ name, last, here })),
    })
  else tellNext(url, { ranAlready: running !== null, takesE2b: env.HOLT_E2B === 'on' })
  if (changed.length > 0) await tellChanged(changed)
  if (last.length > 0) tellChangedSince(last, unitBefore)
  return 0
}

/** Returns the settings that a start changes from the last one. Call it before the start. */
async function changedSinceLastStart(env: NodeJS.ProcessEnv): Promise<readonly ChangedSetting[]> {
  try {
    return (await compareSettings(env)).since_last_start
  } catch {
    return [] // A setting is wrong, which the start itself tells.
  }
}

/** Prints the settings that a start would change of a running service. */
async function tellChanged(changed: readonly ChangedSetting[]): Promise<void> {
  const unit = await findUnit()
  say('')
  say('It runs with other settings than those of this shell:')
  for (const { name, running, here } of changed) say(`  ${name}: ${shown(running)} there, ${shown(here)} here`)
  if (unit === null)
    say(`To apply the settings of this shell: ${ourCommand()} down && ${ourCommand()} up (runtimes keep running)`)
  else
    say(
      `To apply the settings of this shell, put them into the settings of its unit, then: systemctl restart ${unit} (runtimes keep running)`,
    )
}

/**
 * Prints the settings that a start has changed. Settings made only for the last start do not apply
 * to this one.
 */
function tellChangedSince(changed: readonly ChangedSetting[], unit: string | null): void {
  say('')
  say(`${styled('yellow', 'warning')}: the last start had other settings than this one:`)
  for (const { name, running, here } of changed) say(`  ${name}: ${shown(running)} then, ${shown(here)} now`)
  if (unit === null)
    say(
      `To go back to the settings of the last start, set them again, then: ${ourCommand()} down && ${ourCommand()} up (runtimes keep running)`,
    )
  else
    say(
      `The settings of the last start are those of its unit. To go back: ${ourCommand()} down && systemctl start ${unit} (runtimes keep running)`,
    )
}

function shown(value: string | null): string {
  return value === null ? 'not set' : printable(value)
}

function connectTo(credentials: { url: string; key: string }) {
  return connect({ url: credentials.url, apiKey: credentials.key, maxRetries: 0, timeoutSecs: askTimeoutMs / 1000 })
}

function tellNext(url: string, { ranAlready, takesE2b }: { ranAlready: boolean; takesE2b: boolean }): void {
  const holt = ourCommand()
  say(`${styled('green', '✓')} Holt ${ranAlready ? 'runs already' : 'is ready'} at ${styled('bold', url)}`)
  say('')
  if (stateDir() !== defaultStateDir) say(`  export HOLT_STATE_DIR=${shellWord(stateDir())}   # for the commands below`)
  say(`  ${holt} run -- python -c 'print(6 * 7)'   run something in a new runtime`)
  say(`  ${holt} create -n mine                    keep a runtime; then: ${holt} exec mine -- sh -c 'id; ls'`)
  if (takesE2b)
    say(`  eval "$(${holt} e2b env)"                   let programs for E2B find it; then: ${holt} e2b check`)
  say(`  ${holt} --help                            everything else`)
  if (holt !== 'holt') say(`  ln -s ${holt} /usr/local/bin/holt   to type just: holt`)
}
