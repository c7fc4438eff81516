import type { Context } from '../context/open-context.ts'
import { gitRefusal, isAddress, isGitSource } from '../dockerfile/git-source.ts'
import { isMode, modeHint } from '../dockerfile/mode.ts'
import type { CopyInstruction, Heredoc } from '../dockerfile/plan.ts'
import { BuildError } from '../errors.ts'
import type { CopyWork, Files } from './resolved-step.ts'
import { pathOf, type StepContext } from './step-context.ts'

/**
 * Resolves the files that COPY and ADD copy. Files of the context are identified by their content,
 * those of stages and images by their inputs.
 */
export async function resolveCopy(
  instruction: CopyInstruction,
  stepContext: StepContext,
): Promise<{ readonly work: CopyWork; readonly key: unknown }> {
  const { scope } = stepContext
  const words = instruction.sources.map((source) => scope.expand(source))
  if (instruction.add && words.some(isGitSource))
    throw new BuildError('unsupported_setting', gitRefusal.message, { hint: gitRefusal.fix })
  const addresses = instruction.add ? words.filter(isAddress) : []
  const patterns = words.filter((word) => !addresses.includes(word))
  const parts: Files[] = []
  const keys: unknown[] = []
  const take = ({ files, key }: { readonly files: Files | readonly Files[]; readonly key: unknown }) => {
    for (const each of [files].flat()) parts.push(each)
    keys.push(key)
  }
  if (patterns.length > 0) take(await resolveFiles(instruction, patterns, stepContext))
  for (const url of addresses) take(await resolveAddress(instruction, url, stepContext))
  for (const heredoc of instruction.heredocs) take(resolveText(heredoc, stepContext))
  const work: CopyWork = {
    type: 'copy',
    parts,
    destination: pathOf(scope.expand(instruction.destination), scope.workdir),
    chown: expandOrNull(instruction.chown, stepContext),
    chmod: checkedMode(expandOrNull(instruction.chmod, stepContext)),
    parents: instruction.parents,
  }
  const { type, destination, chown, chmod, parents } = work
  return { work, key: [type, keys, destination, chown, chmod, parents] }
}

async function resolveFiles(
  instruction: CopyInstruction,
  patterns: readonly string[],
  { scope, sources }: StepContext,
): Promise<{ readonly files: readonly Files[]; readonly key: unknown }> {
  const { from, parents } = instruction
  const exclude = instruction.exclude.map((word) => scope.expand(word))
  const unpack = instruction.add && instruction.unpack !== false
  if (from.type === 'context') return contextFiles(sources.context(), { patterns, exclude, parents, unpack })
  const files = { type: 'runtime', from, patterns, exclude } as const
  return { files: [files], key: ['runtime', await sources.keyOf(from), patterns, exclude] }
}

/**
 * Returns the files of the context. For ADD, which unpacks each archive by itself, every match is a
 * selection of its own.
 */
async function contextFiles(
  context: Context,
  {
    patterns,
    exclude,
    parents,
    unpack,
  }: {
    readonly patterns: readonly string[]
    readonly exclude: readonly string[]
    readonly parents: boolean
    readonly unpack: boolean
  },
): Promise<{ readonly files: readonly Files[]; readonly key: unknown }> {
  const selection = await context.select(patterns, { exclude, parents })
  const key = ['context', selection.digest, unpack]
  if (!unpack) return { files: [{ type: 'context', selection, unpack }], key }
  const files: Files[] = []
  for (const { path, type } of selection.matches) {
    const one = await context.select([path], { exclude, literal: true })
    files.push({ type: 'context', selection: one, unpack: type !== 'directory' })
  }
  return { files, key }
}

async function resolveAddress(
  { checksum, unpack }: CopyInstruction,
  url: string,
  { scope, sources }: StepContext,
): Promise<{ readonly files: Files; readonly key: unknown }> {
  const wanted = checksum === null ? null : scope.expand(checksum).replace(/^sha256:/, '')
  const sha256 = wanted ?? (await sources.digestOf(url))
  const files = { type: 'address', url, sha256, unpack: unpack === true } as const
  return { files, key: files }
}

function resolveText(
  { name, content, expand }: Heredoc,
  { scope }: StepContext,
): { readonly files: Files; readonly key: unknown } {
  const files = { type: 'text', name, content: expand ? scope.expandText(content) : content } as const
  return { files, key: files }
}

function expandOrNull(word: string | null, { scope }: StepContext): string | null {
  return word === null ? null : scope.expand(word)
}

function checkedMode(mode: string | null): string | null {
  if (mode !== null && !isMode(mode))
    throw new BuildError('dockerfile_invalid', `--chmod=${mode.slice(0, 40)} is not a mode.`, { hint: modeHint })
  return mode
}
