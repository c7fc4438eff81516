import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Template } from '@holt/sdk'
import type { Stage } from '../support/stage.ts'

const directory = join(import.meta.dirname, '../../templates/code-interpreter')

/** The name of the template whose runtimes have a code interpreter. */
export const codeTemplate = 'bench-code'

/** Builds the template code-interpreter without the packages for science, which are large. */
export async function buildCodeTemplate({ holt, signal }: Stage): Promise<void> {
  const { build_network, start_cmd, ready_cmd, ready_timeout_secs } = JSON.parse(
    readFileSync(join(directory, 'template.json'), 'utf8'),
  )
  await Template(codeTemplate)
    .fromDockerfile(join(directory, 'Dockerfile'))
    .buildArg('PACKAGES', 'kernels')
    .networkPolicy(build_network)
    .startCmd(start_cmd)
    .readyCmd(ready_cmd, { timeoutSecs: ready_timeout_secs })
    .cpu(2)
    .memory('1GiB')
    .disk('6GiB')
    .buildAndWait({ holt, signal })
}

/** Removes the template, if it exists. */
export async function removeCodeTemplate({ holt }: Stage): Promise<void> {
  await holt.templates.delete(codeTemplate).catch(() => undefined) // It was never built.
}
