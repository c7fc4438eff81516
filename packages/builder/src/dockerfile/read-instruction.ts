import { closestMatch } from 'leven'
import { shown, wrong } from './line-error.ts'
import type { Instruction } from './plan.ts'
import { readCopy } from './read-copy.ts'
import type { Escape } from './read-directives.ts'
import type { LogicalLine } from './read-lines.ts'
import type { FindSource } from './read-mount.ts'
import { readRun } from './read-run.ts'
import { readArgs, readExpose, readPairs, readShell, readWhole } from './read-settings.ts'

/**
 * Reads an instruction within a stage, except `FROM` and ignored instructions. Throws `LineError`.
 */
export function readInstruction(
  line: LogicalLine,
  { escapeChar, find }: { readonly escapeChar: Escape; readonly find: FindSource },
): Instruction {
  const common = { line: line.line, text: line.text }
  const { keyword, rest } = line
  switch (keyword) {
    case 'RUN':
      return { ...common, ...readRun(line, find) }
    case 'COPY':
    case 'ADD':
      return { ...common, ...readCopy(line, find) }
    case 'ENV':
      return { ...common, type: 'env', pairs: readPairs(keyword, rest, escapeChar) }
    case 'LABEL':
      return { ...common, type: 'label', pairs: readPairs(keyword, rest, escapeChar) }
    case 'ARG':
      return { ...common, ...readArgs(rest, escapeChar) }
    case 'WORKDIR':
      return { ...common, type: 'workdir', path: readWhole(keyword, rest) }
    case 'USER':
      return { ...common, type: 'user', user: readWhole(keyword, rest) }
    case 'SHELL':
      return { ...common, ...readShell(rest) }
    case 'EXPOSE':
      return { ...common, ...readExpose(rest) }
    default:
      throw unknown(keyword)
  }
}

/** All instructions, including the ignored ones. */
const keywords = [
  ...['FROM', 'RUN', 'COPY', 'ADD', 'ENV', 'LABEL', 'ARG', 'WORKDIR', 'USER', 'SHELL', 'EXPOSE', 'CMD', 'ENTRYPOINT'],
  ...['HEALTHCHECK', 'ONBUILD', 'STOPSIGNAL', 'VOLUME', 'MAINTAINER'],
]
/** The maximum length of a misspelt instruction. */
const maxKeyword = 16

function unknown(keyword: string): Error {
  const length = keyword.length
  const nearest = closestMatch(keyword, keywords, { maxDistance: length < 5 ? 1 : 2 })
  const question = length > maxKeyword || nearest === undefined ? '' : ` Did you mean ${nearest}?`
  return wrong(
    `${shown(keyword, 40)} is not an instruction.${question}`,
    'Correct it. To continue a line, end the line before it with the escape character.',
  )
}
