import { BuildError } from '../build/contract.ts'

/** Bounds on the words of one file, or of the steps of one request, all together. */
interface WordLimits {
  /** Steps of pattern matching. */
  readonly steps: number
  /** Characters that variables and substitutions become, and of the environments that commands are given. */
  readonly characters: number
  /** Characters of the variables that are set at the same time; each counts `variableOverhead` more. */
  readonly variables: number
}

/** Four million steps take some fifty milliseconds. No process takes two mebibytes of variables (execve(2)), and 2000 commands may have 16 KiB each. */
export const wordLimits: WordLimits = { steps: 1 << 22, characters: 1 << 25, variables: 1 << 20 }

/** Counted for each variable beside its name and value: as much as putting it into an environment and its key costs. Some 8000 may be set. */
const variableOverhead = 128

/** Work that an account has been charged. */
export interface WordsSpent {
  readonly steps: number
  readonly characters: number
}

/**
 * Bounds the work that the words of one file are. Each method charges work before it is done and throws `BuildError` `dockerfile_invalid` when
 * there is not enough left. An account that is spent stays spent: every later charge throws as well.
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

  /** Charges characters that are made. */
  produce(characters: number): void {
    this.#requireLeft()
    this.#characters += characters
    const { characters: limit } = this.#limits
    if (this.#characters > limit)
      this.#refuse(`become more than ${limit} characters together`, charactersHint, { characters: limit })
  }

  /** Requires that variables of this size in all may be set. */
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
    const message = `The words of this file ${why}, so it was read no further.`
    this.#refusal = new BuildError('dockerfile_invalid', message, { hint, details: { limits } })
    throw this.#refusal
  }
}

const stepsHint =
  'Use patterns with fewer stars on shorter values, or work the value out before and give it as a build argument.'
const charactersHint = 'Put long values into fewer words, or into a file that COPY takes.'
const variablesHint = 'Keep long values in a file that COPY takes.'

/** The size of a variable, as accounts count it. */
export function variableSize(name: string, value: string): number {
  return name.length + value.length + variableOverhead
}
