import { readFile } from 'node:fs/promises'
import { text as readAll } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import { dropUndefined } from '../arguments/create-options.ts'
import { addEnvironmentOptions, type EnvironmentOptions, environmentOf } from '../arguments/environment-options.ts'
import { findRuntime } from '../arguments/find-runtime.ts'
import { seconds } from '../arguments/parse.ts'
import { type PictureMode, pictureModes } from '../code/pictures.ts'
import { connect } from '../connection/connect.ts'
import { Interrupts } from '../verb/interrupts.ts'
import { act, holtFailedExitCode, UsageError } from '../verb/verb.ts'

/** The options for running code. */
export interface CodeOptions extends EnvironmentOptions {
  readonly language?: string
  readonly context?: string
  readonly timeout: number
  readonly pictures: PictureMode
  readonly pictureDir: string
  readonly json?: boolean
}

const examples = `
Examples:
  holt create -t code-interpreter -n mine
  holt code mine                              (asks for code; variables stay between lines)
  holt code mine script.py
  echo 'print(6 * 7)' | holt code mine
  holt code mine --language javascript app.js
  holt code mine --json script.py | jq .results
  holt code mine --picture-dir figures plot.py`

/** Adds the options for pictures. */
export function addPictureOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--pictures <mode>', 'show pictures in the terminal, save them as files, or leave them out')
        .choices(pictureModes)
        .default('auto' satisfies PictureMode),
    )
    .option('--picture-dir <path>', 'the directory of saved pictures', '.')
}

/** Adds `holt code`, which runs code that keeps its variables. */
export function addCode(program: Command): void {
  const command = program
    .command('code')
    .description('run code that keeps its variables: asked for, of a file, or of stdin')
    .argument('<runtime>', 'id, beginning of an id, or name')
    .argument('[file]', 'a file of this machine with code; -: stdin (default: ask for code at a terminal)')
    .option('-l, --language <language>', 'the language of the code (default: by the ending of the file, else python)')
    .option('--context <context>', 'the id of a context (default: the default one of the language)')
  addEnvironmentOptions(command)
  addPictureOptions(command)
    .option('--timeout <duration>', 'interrupt the code after this time: 90, 30m, 2h; 0: never', seconds, 0)
    .option('--json', "print the code's result as JSON instead of its output")
    .addHelpText('after', examples)
  act(command, useCode, { failure: holtFailedExitCode })
}

async function useCode(text: string, file: string | undefined, options: CodeOptions): Promise<number> {
  const { language, context, timeout, pictures, pictureDir: directory, json } = options
  if (language !== undefined && context !== undefined)
    throw new UsageError('Give one of --language and --context: a context has a language.')
  const env = environmentOf(options)
  const ofFile = context === undefined ? (language ?? languageOf(file)) : undefined
  const how = dropUndefined({ language: ofFile, context, env, timeout_secs: timeout })
  const shown = { pictures, directory }
  if (file === undefined && process.stdin.isTTY === true) {
    if (json === true) throw new UsageError('--json is for code of a file or of stdin.')
    const runtime = await findRuntime(connect(), text)
    const known = context === undefined ? null : await runtime.code.contexts.get(context)
    const { runRepl } = await import('../code/repl.ts')
    return runRepl({ runtime, language: known?.language ?? language ?? 'python', options: how, shown })
  }
  const code = await readCode(file ?? '-')
  using interrupts = new Interrupts()
  const runtime = await findRuntime(connect(), text)
  const { printCodeResult, runCodeAttached } = await import('../code/run-code.ts')
  const attached = { runtime, code, options: how, interrupts }
  // Awaited, so that signals are held back until the code has ended.
  return json === true ? await printCodeResult(attached) : await runCodeAttached(attached, shown)
}

/** The languages by the endings of files. */
const languages: Readonly<Record<string, string>> = {
  py: 'python',
  js: 'javascript',
  mjs: 'javascript',
  ts: 'typescript',
  sh: 'bash',
  bash: 'bash',
  r: 'r',
  java: 'java',
}

/** Returns the language of a file by its ending; undefined if the ending tells none. */
export function languageOf(file: string | undefined): string | undefined {
  return languages[/\.(\w+)$/.exec(file ?? '')?.[1]?.toLowerCase() ?? '']
}

/** Returns the code of a file of this machine, or of stdin for `-`. */
export async function readCode(file: string): Promise<string> {
  const code = file === '-' ? await readAll(process.stdin) : await readFile(file, 'utf8')
  if (code.trim() === '') throw new UsageError(file === '-' ? 'stdin has no code.' : `${file} has no code.`)
  return code
}
