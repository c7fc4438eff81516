import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { googleKey, reader } from '../../../packages/builder/test/support/registry.ts'
import { startImageRegistries } from './image-registries.ts'

/**
 * Runs a program with registries of images, which the variables of its environment name:
 * `run-with-registries.ts PROGRAM ARGUMENT...`. It exits with the program's status.
 */
const [program, ...args] = process.argv.slice(2)
if (program === undefined) throw new Error('FIX: name the program to run')

await using registries = await startImageRegistries()
const child = spawn(program, args, {
  stdio: 'inherit',
  env: {
    ...process.env,
    HOLT_REGISTRY_MIRRORS: `docker.io=http://${registries.mirror}`,
    COVERAGE_PRIVATE_IMAGE: registries.privateImage,
    COVERAGE_LOGIN: `${reader.username}:${reader.password}`,
    COVERAGE_GOOGLE_KEY: googleKey,
  },
})
// The program ends first, and then the registries.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
const [code] = (await once(child, 'exit')) as [number | null]
process.exitCode = code ?? 1
