import { BuildError } from '../errors.ts'

/** Limits on all words of one file, or of the steps of one request. */
interface WordLimits {
  /** Steps of pattern matching. */
  readonly steps: number
  /** Expanded characters of variables and substitutions, and of the environments of commands. */
  readonly characters: number
  /** Characters of the variables set at the same time. Each adds `variableOverhead`. */
  readonly variables: number
}

/**
 * Four million steps take about fifty milliseconds. No process accepts two mebibytes of variables
 * (execve(2)), and 2000 commands may have 16 KiB each.
 */
export const wordLimits: WordLimits = { steps: 1 << 22, characters: 1 << 25, variables: 1 << 20 }

/**
 * The size that each variable adds to its name and value. It stands for the cost of its key and of
 * adding it to an environment. About 8000 variables fit.
 */
const variableOverhead = 128

/** Work charged to an account. */
export interface WordsSpent {
  readonly steps: number
  readonly characters: number
}

/**
 * Bounds the work on the words of one file. Each method charges work before it is done, and throws
 * `BuildError` `dockerfile_invalid` if not enough is left. An exhausted account stays exhausted:
 * every later charge throws as well.
 */
export class WordAccount {
  readonly #limits: WordLimits
  #steps: number
  #characters: number
  #refusal: BuildError | null = null

  constructor(spent: WordsSpent = { steps: 0, characters: 0 }, limits: WordLimits = wordLimits) {
    this.#limits = limits
    this.#steps = spent.steps
    this.#characters = spent.characters
  }

  get isSpent(): boolean {
    return this.#refusal !== null
  }

  get spent(): WordsSpent {
    return { steps: this.#steps, characters: this.#characters }
  }

  /** Charges steps of pattern matching. */
  readonly spend = (steps: number): void => {
    this.#requireLeft()
    this.#steps += steps
    const { steps: limit } = this.#limits
    if (this.#steps > limit)
      this.#refuse(`take more than ${limit} steps of pattern matching`, stepsHint, { steps: limit })
  }

  /** Charges characters that an expansion creates. */
  produce(characters: number): void {
    this.#requireLeft()
    this.#characters += characters
    const { characters: limit } = this.#limits
    if (this.#characters > limit)
      this.#refuse(`become more than ${limit} characters together`, charactersHint, { characters: limit })
  }

  /** Throws if variables of this total size may not be set at once. */
  hold(size: number): void {
    this.#requireLeft()
    const { variables: limit } = this.#limits
    if (size > limit)
      this.#refuse(`set more than ${limit} characters of ARG and ENV at the same time`, variablesHint, {
        variables: limit,
      })
  }

  #requireLeft(): void {
    if (this.#refusal !== null) throw this.#refusal
  }

  #refuse(why: string, hint: string, limits: Partial<WordLimits>): never {
    const message = `The words of this file ${why}, so the rest was not read.`
    this.#refusal = new BuildError('dockerfile_invalid', message, { hint, details: { limits } })
    throw this.#refusal
  }
}

const stepsHint =
  'Use patterns with fewer stars on shorter values, or compute the value first and give it as a build argument.'
const charactersHint = 'Put long values into fewer words, or into a file that COPY takes.'
const variablesHint = 'Keep long values in a file that COPY takes.'

/** Returns the size of a variable, as accounts count it. */
export function variableSize(name: string, value: string): number {
  return name.length + value.length + variableOverhead
}
