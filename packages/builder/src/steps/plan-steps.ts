import type { SimpleStep } from '../contract/build-contract.ts'
import { quoteWord } from '../dockerfile/expand-word.ts'
import { shown } from '../dockerfile/line-error.ts'
import type { BuildPlan, Instruction, StageBase } from '../dockerfile/plan.ts'
import { platformArgs } from '../dockerfile/platform-args.ts'
import { BuildError } from '../errors.ts'
import { hostPlatform } from '../image/platform.ts'

/**
 * Returns the plan of a base with steps on top. Variables in the words are expanded as in a
 * Dockerfile (`/opt/bin:$PATH`, and `\$` is a dollar). Quotes and spaces are literal. The `line` of
 * an instruction is the number of its step.
 */
export function planSteps(base: StageBase, steps: readonly SimpleStep[]): BuildPlan {
  const instructions = steps.map((step, index) => toInstruction(step, index + 1))
  return {
    stages: [{ index: 0, name: null, base, line: 1, instructions }],
    ignored: [],
    warnings: [],
    lines: [],
    globalArgs: Object.setPrototypeOf(Object.fromEntries(platformArgs(hostPlatform(), null)), null),
    escape: '\\',
    spent: { steps: 0, characters: 0 },
  }
}

function toInstruction(step: SimpleStep, line: number): Instruction {
  if ('run' in step) {
    const form = { type: 'shell', script: step.run } as const
    return { line, text: shown(`RUN ${step.run}`), type: 'run', form, mounts: [], noNetwork: false }
  }
  if ('copy' in step) return copyOf(step.copy, line)
  if ('env' in step) {
    const pairs = Object.entries(step.env).map(([name, value]) => ({ name: quoteWord(name), value: wordOf(value) }))
    return { line, text: shown(`ENV ${Object.keys(step.env).join(' ')}`), type: 'env', pairs }
  }
  if ('workdir' in step) {
    return { line, text: shown(`WORKDIR ${step.workdir}`), type: 'workdir', path: wordOf(step.workdir) }
  }
  return { line, text: shown(`USER ${step.user}`), type: 'user', user: wordOf(step.user) }
}

function copyOf(copy: Extract<SimpleStep, { copy: unknown }>['copy'], line: number): Instruction {
  const sources = typeof copy.source === 'string' ? [copy.source] : copy.source
  const address = sources.find((source) => /^[a-z]+:\/\//i.test(source))
  if (address !== undefined) {
    throw new BuildError('dockerfile_invalid', `Step ${line}: a copy step cannot fetch a URL: ${shown(address)}.`, {
      hint: 'Fetch it in a run step, or use a dockerfile with ADD.',
    })
  }
  // Several sources can only go into a directory.
  const destination = sources.length > 1 && !copy.destination.endsWith('/') ? `${copy.destination}/` : copy.destination
  return {
    line,
    text: shown(`COPY ${[...sources, destination].join(' ')}`),
    type: 'copy',
    add: false,
    from: { type: 'context' },
    sources: sources.map(wordOf),
    heredocs: [],
    destination: wordOf(destination),
    chown: copy.chown === undefined ? null : wordOf(copy.chown),
    chmod: copy.chmod ?? null,
    checksum: null,
    parents: false,
    exclude: [],
    unpack: null,
  }
}

/** Returns a word in which only variables have a meaning. */
function wordOf(text: string): string {
  return text.replace(/\\\$|[\\'"]/g, (part) => (part === '\\$' ? part : `\\${part}`))
}
