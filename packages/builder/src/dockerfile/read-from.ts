import { isSamePlatform, type Platform } from '../image/platform.ts'
import { isImageReference } from '../image/reference.ts'
import { type ExpandOptions, expandWord, type Lookup } from './expand-word.ts'
import { shown, unsupported, wrong } from './line-error.ts'
import type { CopySource, StageBase } from './plan.ts'
import { needed } from './read-run.ts'
import { splitPlain, takeFlags } from './split-words.ts'

/** The parts of a FROM line. */
export interface From {
  readonly base: StageBase
  /** The name in small letters, or null without AS. */
  readonly name: string | null
}

/** The definitions that FROM can refer to. */
export interface FromScope {
  readonly lookup: Lookup
  readonly words: ExpandOptions
  readonly platform: Platform
  /** Returns the number of an earlier stage by its name in small letters. */
  readonly findStage: (name: string) => number | undefined
}

const templateReference = /^holt\/([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?)$/

/** Reads FROM. Source: docs.docker.com, Dockerfile reference, "FROM". */
export function readFrom(text: string, scope: FromScope): From {
  const { flags, rest } = takeFlags(text)
  for (const { name, value } of flags) {
    if (name !== 'platform') throw unsupported(`FROM has no flag --${name}.`, 'The only flag is --platform.')
    checkPlatform(expandWord(needed(name, value), scope.lookup, scope.words), scope.platform)
  }
  const [word = '', as, name, ...more] = splitPlain(rest)
  if (word === '') throw wrong('FROM names no image.')
  if (more.length > 0 || (as !== undefined && (as.toUpperCase() !== 'AS' || name === undefined))) {
    throw wrong('FROM takes an image, and after it only AS and a name.')
  }
  if (name !== undefined && !/^[a-z][a-z0-9_.-]{0,127}$/i.test(name)) {
    throw wrong(`"${shown(name, 80)}" is not a stage name.`, 'Use letters, digits and _.-, and begin with a letter.')
  }
  const reference = expandWord(word, scope.lookup, scope.words)
  if (reference === '')
    throw wrong(`${shown(word, 80)} is empty, so FROM names no image.`, 'Give its ARG a default before the first FROM.')
  return { base: baseOf(reference, scope), name: name?.toLowerCase() ?? null }
}

function baseOf(reference: string, { findStage }: FromScope): StageBase {
  const index = findStage(reference.toLowerCase())
  if (index !== undefined) return { type: 'stage', index }
  if (reference === 'scratch') return { type: 'scratch' }
  return outsideOf(reference)
}

/** Returns a template or an image by its name. */
export function outsideOf(reference: string): Extract<CopySource, { type: 'image' | 'template' }> {
  const template = templateReference.exec(reference)?.[1]
  if (template !== undefined) return { type: 'template', reference: template }
  if (reference.startsWith('holt/'))
    throw wrong(`"${shown(reference, 80)}" is not a template name.`, 'Write it like holt/base-small or holt/NAME:TAG.')
  if (!isImageReference(reference)) throw wrong(`"${shown(reference, 80)}" is not an image name.`)
  return { type: 'image', reference }
}

function checkPlatform(wanted: string, host: Platform): void {
  if (isSamePlatform(wanted, host)) return
  throw unsupported(
    `The platform ${shown(wanted, 40)} is not this machine's, which is ${host.os}/${host.arch}.`,
    'Remove --platform, or build on a machine of that platform.',
  )
}
