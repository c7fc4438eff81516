import { join } from 'node:path'
import { publishedClients } from '@holt/testkit'
import { service } from './facts.ts'
import { nodeBinary } from './service-process.ts'

/** The directory of the programs that use the published clients. */
const programs = join(import.meta.dirname, '../e2b')

const [javascript, python] = await Promise.all([publishedClients('javascript-sdk'), publishedClients('python-sdk')])

/**
 * Both published clients. Each program of a test exists for both. `argumentsOf` returns its file,
 * and the arguments before its own.
 */
export const e2bClients = [
  {
    language: 'JavaScript',
    command: nodeBinary(),
    argumentsOf: (program: string) => [
      join(programs, `${program}.mjs`),
      join(javascript, 'node_modules/e2b/dist/index.mjs'),
    ],
  },
  {
    language: 'Python',
    command: join(python, 'bin/python'),
    argumentsOf: (program: string) => [join(programs, `${program.replaceAll('-', '_')}.py`)],
  },
] as const

/** Returns the environment of a client: nothing but what its user sets. */
export function clientEnvironment(): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    E2B_API_KEY: service.key,
    E2B_API_URL: service.url,
    E2B_SANDBOX_URL: service.url,
  }
}
