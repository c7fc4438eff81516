import { spawn } from 'node:child_process'
import { shareOf } from '@holt/testkit'
import { setup as printSeed } from '@holt/testkit/print-seed'
import type { TestProject } from 'vitest/node'
import type { ServiceFacts } from './facts.ts'
import { setup } from './global-setup.ts'
import type { RigFacts } from './rig/records.ts'

/**
 * Runs a program of another language against the real service of the first lane:
 * `node e2e/support/run-with-service.ts PROGRAM ARGUMENT...`. It exits with the program's status.
 */
const [program, ...args] = process.argv.slice(2)
if (program === undefined) throw new Error('FIX: name the program to run')

printSeed()
const provided = new Map<string, unknown>()
const project = { provide: (name: string, value: unknown) => provided.set(name, value) }
const stop = await setup(project as unknown as TestProject)
try {
  const [service] = provided.get('services') as readonly ServiceFacts[]
  const [rig] = provided.get('rigs') as readonly RigFacts[]
  if (service === undefined || rig === undefined) throw new Error('no service was started')
  process.exitCode = await run(program, args, environmentOf(service, rig))
} finally {
  await stop()
}

/**
 * Returns the variables that name the service, its Internet, and the classes of isolation that it
 * has. A short run has one of two classes: most tests of a client say the same in both.
 */
function environmentOf({ url, key, unavailable }: ServiceFacts, rig: RigFacts): NodeJS.ProcessEnv {
  const classes = Object.entries(unavailable).flatMap(([name, reason]) => (reason === null ? [name] : []))
  return {
    ...process.env,
    HOLT_URL: url,
    HOLT_API_KEY: key,
    HOLT_TEST_RIG: JSON.stringify(rig),
    HOLT_TEST_CLASSES: shareOf(classes, 1 / 2, 'class of the clients').join(','),
  }
}

async function run(command: string, rest: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(command, rest, { stdio: 'inherit', env })
  // The program ends first, and then the service.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  const [code] = await new Promise<[number | null]>((resolve, reject) => {
    child.once('error', reject).once('close', (status) => resolve([status]))
  })
  return code ?? 1
}
