import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Holt, type Isolation, readCredentialsFile } from '@holt/sdk'
import { differences, digestsHere, digestsInside } from './compare-trees.ts'
import { Steps, unexpected } from './steps.ts'

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const holtCommand = here('../../packages/cli/bin/holt')
const project = '/workspace/project'
const original = '/workspace/original'
const fixed = 'splitbill/split.py'
/** Keeps the trees free of compiled files, so that they can be compared. */
const env = { PYTHONDONTWRITEBYTECODE: '1' }

const steps = new Steps()
try {
  await startHolt()
  await doTheJob()
  steps.tellEnd(here('result'), holtCommand)
} catch (error) {
  steps.tellFailure(error)
  process.exitCode = 1
}

/** Starts the service as a person would. */
async function startHolt(): Promise<void> {
  await steps.take('Start Holt', async () => {
    const child = spawn(holtCommand, ['up', '--json'], { stdio: ['inherit', 'ignore', 'inherit'] })
    const [exitCode] = (await once(child, 'exit')) as [number | null]
    if (exitCode !== 0) throw unexpected(`holt up exited with ${exitCode}`)
  })
  steps.note(readCredentialsFile()?.url ?? '')
}

/** The main job: a stranger's project is tested, repaired and fetched back, inside a runtime. */
async function doTheJob(): Promise<void> {
  const credentials = readCredentialsFile()
  if (credentials === null) throw unexpected('holt up left no credentials')
  const holt = new Holt({ url: credentials.url, apiKey: credentials.key })
  const isolation = process.env.HOLT_ISOLATION as Isolation | undefined
  const sent = await digestsHere(here('project'))

  const runtime = await steps.take('Create a runtime from base-small', () =>
    holt.runtimes.create({
      template: 'base-small',
      timeout_secs: 900,
      metadata: { example: 'quickstart' },
      ...(isolation ? { isolation } : {}),
    }),
  )
  try {
    steps.note(`${runtime.runtime_id}, ${runtime.isolation}, ${runtime.cpu} vCPU, ${runtime.memory_mib} MiB`)
    await steps.take(`Upload the project: a Python package of ${sent.size} files`, () =>
      runtime.files.upload(here('project'), project),
    )
    await steps.take('Copy the tree inside the runtime', () =>
      runtime.files.copy(project, original, { recursive: true }),
    )

    const before = await steps.take('Run its test suite: it fails', async () => {
      const result = await runtime.commands.run(['python', '-m', 'unittest'], { cwd: project, env })
      if (result.exit_code === 1 && /^FAILED \(/m.test(result.stderr)) return result
      throw unexpected(`the tests should fail with exit code 1, not ${result.exit_code}`, result.stderr)
    })
    steps.note(lastLine(before.stderr))

    await steps.take('Apply the fix', async () => {
      const patch = await readFile(here('project.patch'), 'utf8')
      const result = await runtime.commands.run(['git', 'apply', '-'], { cwd: project, stdin: patch })
      if (result.exit_code !== 0) throw unexpected('the patch does not apply', result.stderr)
    })

    const after = await steps.take('Run the test suite again: it passes', async () => {
      const result = await runtime.commands.run(['python', '-m', 'unittest'], { cwd: project, env })
      if (result.exit_code === 0 && /^OK$/m.test(result.stderr)) return result
      throw unexpected(`the tests should pass, not exit with ${result.exit_code}`, result.stderr)
    })
    steps.note(after.stderr.match(/^Ran .*$/m)?.[0] ?? '')

    const probe = await steps.take('Try to reach the Internet from inside: nothing answers', async () => {
      const result = await runtime.commands.run(['python', '-'], {
        stdin: await readFile(here('reach-out.py'), 'utf8'),
      })
      if (result.exit_code === 0 && /^tried [1-9]\d*, reached 0$/m.test(result.stdout)) return result
      throw unexpected('the Internet must not be reachable from inside', result.stdout + result.stderr)
    })
    steps.note(lastLine(probe.stdout))

    await steps.take('Compare: the copied tree is untouched, and the project differs in one file', async () => {
      const [copied, repaired] = [await digestsInside(runtime, original), await digestsInside(runtime, project)]
      const changed = differences(sent, repaired)
      if (differences(sent, copied).length > 0)
        throw unexpected('the copied tree has changed', differences(sent, copied).join('\n'))
      if (changed.join() !== fixed) throw unexpected(`only ${fixed} should differ`, changed.join('\n'))
    })

    await steps.take('Fetch the result back', async () => {
      await runtime.files.download(project, here('result'), { overwrite: true })
      const wrong = differences(await digestsInside(runtime, project), await digestsHere(here('result')))
      if (wrong.length > 0) throw unexpected('what came back is not what is inside', wrong.join('\n'))
    })
    steps.note(join('examples', 'quickstart', 'result', fixed))
  } catch (error) {
    // What went wrong first is what has to be told; a runtime that stays ends by its own deadline.
    await runtime.delete().catch(() => undefined)
    throw error
  }
  await steps.take('Delete the runtime', () => runtime.delete())
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1) ?? ''
}
