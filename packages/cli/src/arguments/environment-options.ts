import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { type Command, InvalidArgumentError } from 'commander'
import { environmentVariable } from './parse.ts'

/** The environment variables that options give. */
export interface EnvironmentOptions {
  readonly env?: Record<string, string>
  readonly envFile?: Record<string, string>
}

/** Adds `--env` and `--env-file`. `whose` ends the description of a variable. */
export function addEnvironmentOptions(command: Command, whose = ''): Command {
  return command
    .option(
      '-e, --env <KEY=VALUE>',
      `environment variable${whose}; KEY alone passes on its value here; repeat`,
      environmentVariable,
    )
    .option(
      '--env-file <file>',
      'the variables of a file here, as in .env; --env goes before them; repeat',
      variablesOf,
    )
}

/** The variables of both options; undefined where neither was given. */
export function environmentOf({ env, envFile }: EnvironmentOptions): Record<string, string> | undefined {
  return env === undefined && envFile === undefined ? undefined : { ...envFile, ...env }
}

/**
 * Reads a file of variables: `KEY=VALUE` lines, quotes and comments as Node reads them
 * (`util.parseEnv`). The later of two files goes before the earlier.
 */
function variablesOf(path: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  try {
    // Its values are strings: undefined stands in the type for names that are not there.
    return { ...before, ...(parseEnv(readFileSync(path, 'utf8')) as Record<string, string>) }
  } catch (error) {
    throw new InvalidArgumentError(`It cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}
