import { BuildError } from '../errors.ts'
import type { ResolvedStep, RunWork } from './resolved-step.ts'
import { runStepCommand } from './run-step-command.ts'
import type { StageContext } from './stage-runner.ts'
import type { StepRuntime } from './step-runtime.ts'
import { useMounts } from './use-mounts.ts'

/** The context of a RUN in its stage. */
interface RunContext extends StageContext {
  readonly disk: { readonly diskMiB: number; readonly baseBytes: number }
}

/** Runs a RUN with its mounts. Returns true if the runtime has seen values of build secrets. */
export async function runStep(
  runtime: StepRuntime,
  { number, text, work }: ResolvedStep & { readonly work: RunWork },
  context: RunContext,
): Promise<boolean> {
  const { host, redactor, secrets, disk, signal } = context
  await haveDirectory(runtime, work, signal)
  if (work.noNetwork) await runtime.closeNetwork(signal)
  else await runtime.openNetwork(signal)
  const log = (message: string) => host.report.log({ level: 'info', step: number, message })
  const variables = Object.fromEntries(work.variables.map(({ id, name }) => [name, secrets[id] ?? '']))
  await using mounts = await useMounts(runtime, work, context)
  try {
    await runStepCommand(runtime, work, { number, text, variables, redactor, disk, log, signal })
  } catch (error) {
    // Files that a failed command has fetched need not be fetched again.
    if (error instanceof BuildError && error.code === 'step_failed') await mounts.keep()
    throw error
  }
  await mounts.keep()
  await mounts.clear()
  return mounts.usedSecrets || work.variables.length > 0
}

/** Creates the working directory of a command if the image has none, as container engines do. */
async function haveDirectory(runtime: StepRuntime, { workdir }: RunWork, signal: AbortSignal): Promise<void> {
  if (workdir === '/') return
  await runtime.guest.files.makeDirectory({ path: workdir, parents: true, mode: '0755', user: '0' }, signal)
}
