import { unsupported, wrong } from './line-error.ts'
import type { Mount, RunInstruction } from './plan.ts'
import { type HeredocText, type LogicalLine, parseHeredoc } from './read-lines.ts'
import { type FindSource, readMount } from './read-mount.ts'
import { type Flag, readJsonForm, takeFlags } from './split-words.ts'

/** The maximum number of mounts of one RUN. */
const MAX_MOUNTS = 50

/** Reads RUN. Source: docs.docker.com, Dockerfile reference, "RUN". */
export function readRun(line: LogicalLine, find: FindSource): RunInstruction {
  const { flags, rest } = takeFlags(line.rest)
  const options = readFlags(flags, find)
  return { type: 'run', form: readForm(rest, line.heredocs), ...options }
}

function readForm(rest: string, heredocs: readonly HeredocText[]): RunInstruction['form'] {
  if (rest === '') throw wrong('RUN has no command.')
  const json = readJsonForm(rest)
  if (json === 'mixed') throw wrong('RUN in the JSON form takes strings only.')
  if (json !== null) {
    if (json.length === 0 || json[0] === '') throw wrong('RUN has no command.')
    if (json.some((word) => word.includes('\0'))) throw wrong('RUN has a NUL character.')
    return { type: 'exec', argv: json }
  }
  const [first, ...more] = heredocs
  if (first === undefined) return { type: 'shell', script: rest }
  if (more.length === 0 && parseHeredoc(rest) !== null) return { type: 'heredoc', script: first.content }
  // The shell parses the text beside a here-document, so it gets the documents too.
  const documents = heredocs.map(({ raw, name }) => `\n${raw}${name}`)
  return { type: 'shell', script: rest + documents.join('') }
}

function readFlags(flags: readonly Flag[], find: FindSource): { mounts: readonly Mount[]; noNetwork: boolean } {
  const mounts: Mount[] = []
  let noNetwork: boolean | null = null
  for (const { name, value } of flags) {
    switch (name) {
      case 'mount':
        mounts.push(readMount(needed(name, value), find))
        break
      case 'network':
        if (noNetwork !== null) throw wrong('RUN has --network twice.')
        noNetwork = readNetwork(needed(name, value))
        break
      case 'security':
        throw unsupported('RUN --security is not supported: steps have the rights of a runtime.', 'Remove the flag.')
      case 'device':
        throw unsupported('RUN --device is not supported: a runtime has no devices of the host.', 'Remove the flag.')
      default:
        throw unsupported(`RUN has no flag --${name}.`, 'The flags are --mount and --network=none.')
    }
  }
  if (mounts.length > MAX_MOUNTS) throw wrong(`RUN has more than ${MAX_MOUNTS} mounts.`)
  return { mounts, noNetwork: noNetwork ?? false }
}

function readNetwork(value: string): boolean {
  if (value === 'none') return true
  if (value === 'default') return false
  if (value === 'host') {
    throw unsupported(
      "RUN --network=host is not supported: a build never has the host's network.",
      'Remove the flag. The network_policy of the build decides what a step may reach.',
    )
  }
  throw wrong(`"${value}" is not a network of RUN.`, 'Use default or none.')
}

/** Returns the value of a flag that needs one. */
export function needed(name: string, value: string | null): string {
  if (value === null || value === '') throw wrong(`--${name} has no value.`)
  return value
}
