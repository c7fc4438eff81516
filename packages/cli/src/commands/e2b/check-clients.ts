import type { Command } from 'commander'
import { checkConnection } from '../../e2b/check-connection.ts'
import { checkPackages } from '../../e2b/check-packages.ts'
import { checkSandbox } from '../../e2b/check-sandbox.ts'
import { clientSettings } from '../../e2b/client-settings.ts'
import { type Finding, lineOf } from '../../e2b/finding.ts'
import { print, printJson } from '../../output/print.ts'
import { act } from '../../verb/verb.ts'

const examples = `
Examples:
  eval "$(holt e2b env)"; holt e2b check
  E2B_DOMAIN=holt.localhost:8443 E2B_API_KEY=e2b_... holt e2b check
  holt e2b check --json`

/** Adds `holt e2b check`, which does what a program for E2B does and reports what is missing. */
export function addCheck(group: Command): void {
  const command = group
    .command('check')
    .description(
      "test this shell's variables for E2B's clients: names, trust, key, a sandbox, and the installed packages",
    )
    .option('--json', 'print the checks as JSON')
    .addHelpText('after', examples)
  act(command, async ({ json }: { json?: boolean }) => {
    const findings: Finding[] = []
    const note = (found: readonly Finding[]) => {
      findings.push(...found)
      if (json !== true) for (const finding of found) print(lineOf(finding))
      return found.every(({ status }) => status !== 'fix')
    }
    const { settings, findings: first } = clientSettings(process.env)
    let goesOn = note(first)
    if (goesOn && settings !== null) goesOn = note(await checkConnection(settings, process.env))
    if (goesOn && settings !== null) goesOn = note(await checkSandbox(settings))
    // The packages would only repeat what failed.
    if (goesOn) note(await checkPackages(process.env))
    if (json === true) printJson({ checks: findings })
    return findings.some(({ status }) => status === 'fix') ? 1 : 0
  })
}
