import type { BuildHandle } from '@holt/sdk'
import { type Command, Option } from 'commander'
import { addBuildOptions, type BuildOptions } from '../../arguments/build-options.ts'
import { type ProgressKind, progressKinds } from '../../build/choose-view.ts'
import { followBuild } from '../../build/follow-build.ts'
import { prepareBuild } from '../../build/prepare-build.ts'
import { connect } from '../../connection/connect.ts'
import { print, printJson, say } from '../../output/print.ts'
import { Interrupts, interruptedExitCode } from '../../verb/interrupts.ts'
import { act } from '../../verb/verb.ts'

const examples = `
COPY and ADD read DIR (default: .), without the files that its .dockerignore excludes. If the Dockerfile reads no files, nothing is sent. The
present template of that name stays in use until the build is ready. Ctrl-C cancels the build.

Examples:
  holt template build -t web .
  holt template build -t web:v2 -f deploy/Dockerfile . --build-arg VERSION=2 --secret id=npm,src=.npmrc
  holt template build -t web . --start-cmd 'gunicorn app:app' --ready-cmd 'curl -fs localhost:8000' --disk 8 --memory 2
  holt template build -t tools --from-image python:3.12-slim --run 'pip install ruff' --copy ruff.toml:/etc/
  echo 'FROM alpine:3.20' | holt template build -t small -f -
  id=$(holt template build -t web . --detach); holt template logs -f $id`

/** The options for showing a build. */
export interface ShowOptions {
  readonly detach?: boolean
  readonly progress?: ProgressKind
  readonly json?: boolean
}

/** Adds the options for showing a build. */
export function addShowOptions(command: Command): Command {
  return command
    .option('-d, --detach', 'do not wait: print the id of the build')
    .addOption(
      new Option('--progress <kind>', 'the form of progress (default: live on a terminal, else plain)').choices([
        ...progressKinds,
      ]),
    )
    .option('--json', 'print the build as JSON')
}

/** Adds `holt template build`. */
export function addTemplateBuild(group: Command): void {
  const command = group
    .command('build')
    .description('build a template from a Dockerfile, an image, another template or a snapshot')
    .argument('[directory]', 'the build context', '.')
  act(addShowOptions(addBuildOptions(command)).addHelpText('after', examples), buildTemplate)
}

async function buildTemplate(directory: string, options: BuildOptions & ShowOptions): Promise<number> {
  using interrupts = new Interrupts()
  const holt = connect()
  const stop = new AbortController()
  interrupts.passOn(async () => stop.abort())
  let build: BuildHandle
  try {
    const body = await prepareBuild(holt, directory, options, stop.signal)
    stop.signal.throwIfAborted()
    // From here on the build is known, so an interrupt cancels it.
    build = await holt.builds.create(body)
  } catch (error) {
    if (!stop.signal.aborted) throw error
    say('holt: interrupted before the build started')
    return interruptedExitCode
  }
  // Awaited here, because the signals are held back until this function returns.
  return await showBuild(build, interrupts, options)
}

/** Shows a build until its end, or prints its facts if the options say so. */
export async function showBuild(build: BuildHandle, interrupts: Interrupts, options: ShowOptions): Promise<number> {
  const { detach = false, json = false, progress } = options
  if (!detach) return followBuild(build, { interrupts, progress, json })
  if (json) printJson(build)
  else print(build.build_id)
  return 0
}
