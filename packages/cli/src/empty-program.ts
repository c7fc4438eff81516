import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { version } from './verb/version.ts'

/** The first page of the documentation of this release, package or clone. */
const readme = fileURLToPath(new URL('../../../README.md', import.meta.url))

const environment = `
Environment:
  HOLT_URL, HOLT_API_KEY   the address of the service, and the key; default: the credentials file in the state directory
  HOLT_STATE_DIR           the state directory (default /var/lib/holt)
  HOLT_PORT                the port of the service for \`holt up\` (default 4658); it also reads all settings of the service (docs/settings.md)
  NO_COLOR                 no colours

Exit codes: 0 success, 1 failure, 2 wrong usage. run, exec, shell and attach: the command's own, 124 timed out,
125 Holt itself failed, 126 the program cannot be executed, 127 it is not found.

Documentation: ${readme}`

/** Returns the program without its verbs. */
export function emptyProgram(): Command {
  return (
    new Command('holt')
      .description('Runs code that an agent wrote, safely, on your own machine.')
      .version(version, '-V, --version')
      .enablePositionalOptions()
      // src/usage prints errors of the command line, because it knows the words of other tools.
      .configureOutput({ outputError: () => undefined })
      .exitOverride()
      .addHelpText('after', environment)
  )
}
