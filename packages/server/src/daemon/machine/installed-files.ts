import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The directory of the base templates' recipe. */
export const baseRecipeDir = fileURLToPath(new URL('../../../../../templates/base', import.meta.url))

/** The directory of the agent templates. */
export const agentTemplatesDir = fileURLToPath(new URL('../../../../../templates/agents', import.meta.url))

/** The directories of the other templates that are built on demand. */
export const otherTemplateDirs: readonly string[] = [
  // Each is written out, so that the bundler of a release finds it.
  new URL('../../../../../templates/code-interpreter', import.meta.url),
  new URL('../../../../../templates/desktop', import.meta.url),
].map((url) => fileURLToPath(url))

/** The path of the guest program in the build's output. */
export const builtGuest = fileURLToPath(new URL('../../../../../guest/holt-guest', import.meta.url))

/** The path of Holt's own runsc in the build's output. Null if it is not built. */
export const ownRunsc = ifThere(new URL('../../../../../runsc/runsc', import.meta.url))

/**
 * The npm client of a release, as a command. Null in a source tree, which uses the machine's npm.
 */
export const releasedNpm = commandOf(ifThere(new URL('../../../../../lib/npm/bin/npm-cli.js', import.meta.url)))

function ifThere(url: URL): string | null {
  return existsSync(url) ? fileURLToPath(url) : null
}

function commandOf(script: string | null): readonly [string, ...string[]] | null {
  return script === null ? null : [process.execPath, script]
}
