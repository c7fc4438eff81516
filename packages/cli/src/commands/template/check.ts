import { dirname } from 'node:path'
import type { CheckedLine, DockerfileCheck } from '@holt/sdk'
import type { Command } from 'commander'
import { dropUndefined } from '../../arguments/create-options.ts'
import { environmentVariable } from '../../arguments/parse.ts'
import { readDockerfile } from '../../build/prepare-build.ts'
import { connect } from '../../connection/connect.ts'
import { printJson, say, styled } from '../../output/print.ts'
import { type Column, printTable } from '../../output/table.ts'
import { printable } from '../../output/visible.ts'
import { act } from '../../verb/verb.ts'

const examples = `
Nothing is built. It exits with 1 if a line is refused.

Examples:
  holt template check .
  holt template check -f deploy/Dockerfile --target prod
  holt template check --json . | jq '.lines[] | select(.verdict != "supported")'`

interface CheckOptions {
  readonly file?: string
  readonly target?: string
  readonly buildArg?: Record<string, string>
  readonly json?: boolean
}

/** Adds `holt template check`, which shows the effect of each line of a Dockerfile in a build. */
export function addTemplateCheck(group: Command): void {
  const command = group
    .command('check')
    .description('show for each line of a Dockerfile whether a build follows, ignores or refuses it')
    .argument('[directory]', 'the directory of the Dockerfile', '.')
    .option('-f, --file <file>', 'the Dockerfile (default: DIR/Dockerfile); -: stdin')
    .option('--target <stage>', 'the stage to stop at')
    .option('--build-arg <NAME=VALUE>', 'the value of an ARG; repeatable', environmentVariable)
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', examples)
  act(command, async (directory: string, options: CheckOptions) => {
    const { text } = await readDockerfile(directory, options.file)
    const { target, buildArg: build_args } = options
    const check = await connect().templates.check(dropUndefined({ dockerfile: text, target, build_args }))
    if (options.json === true) printJson(check)
    else report(check, options.file ?? dirname(`${directory}/x`))
    return check.ok ? 0 : 1
  })
}

const columns: readonly Column<CheckedLine>[] = [
  ['LINE', ({ line, end_line }) => (line === end_line ? String(line) : `${line}-${end_line}`)],
  ['VERDICT', ({ verdict }) => verdict],
  ['INSTRUCTION', ({ text }) => (text.length > 60 ? `${text.slice(0, 59)}…` : text)],
  ['WHY', ({ reason, fix }) => [reason, fix].filter((one) => one !== null).join(' ')],
]

function report({ ok, lines, warnings, images, templates }: DockerfileCheck, where: string): void {
  printTable(lines, columns)
  for (const warning of warnings) say(`${styled('yellow', 'warning')}: ${printable(warning)}`)
  const from = [...images, ...templates]
  if (from.length > 0) say(`made from ${from.map(printable).join(', ')}`)
  const count = (verdict: CheckedLine['verdict']) => lines.filter((line) => line.verdict === verdict).length
  const summary = `${count('supported')} supported, ${count('ignored')} ignored, ${count('refused')} refused`
  say(ok ? `${styled('green', '✓')} ${summary}` : `${styled('red', '✗')} ${summary}: ${where} would not be built`)
}
