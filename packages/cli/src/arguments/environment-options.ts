import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { type Command, InvalidArgumentError } from 'commander'
import { environmentVariable } from './parse.ts'

/** The options for environment variables. */
export interface EnvironmentOptions {
  readonly env?: Record<string, string>
  readonly envFile?: Record<string, string>
}

/** Adds `--env` and `--env-file`. `whose` ends the description of a variable. */
export function addEnvironmentOptions(command: Command, whose = ''): Command {
  return command
    .option(
      '-e, --env <KEY=VALUE>',
      `environment variable${whose}; KEY alone takes its value from this shell; repeatable`,
      environmentVariable,
    )
    .option(
      '--env-file <file>',
      'read variables from a local file, as in .env; --env overrides them; repeatable',
      variablesOf,
    )
}

/** Returns the variables of both options; undefined if neither was given. */
export function environmentOf({ env, envFile }: EnvironmentOptions): Record<string, string> | undefined {
  return env === undefined && envFile === undefined ? undefined : { ...envFile, ...env }
}

/**
 * Reads a file of variables: `KEY=VALUE` lines, with quotes and comments as in Node
 * (`util.parseEnv`). The later of two files wins.
 */
function variablesOf(path: string, before: Readonly<Record<string, string>> = {}): Record<string, string> {
  try {
    // The values are strings. The type includes undefined for missing names.
    return { ...before, ...(parseEnv(readFileSync(path, 'utf8')) as Record<string, string>) }
  } catch (error) {
    throw new InvalidArgumentError(`It cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}
