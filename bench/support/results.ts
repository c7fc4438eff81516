import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RowFailure, RowReport } from './report.ts'

/** A result of a row, and the command that measured it. */
export interface Result {
  readonly command: string
  readonly result: RowReport | RowFailure
}

/** The directory of the results that the pages are made from. */
export const resultsDir = new URL('../../.holt/bench-results', import.meta.url).pathname

/** The results of measurements, one file for each row, from which the pages are made. */
export class Results {
  readonly #dir: string

  /** `dir` is made when something is written. */
  constructor(dir: string) {
    this.#dir = dir
  }

  /** Removes the results of rows. */
  async forget(rows: readonly string[]): Promise<void> {
    for (const row of rows) await rm(this.#path(row), { force: true })
  }

  /** Keeps the result of a row in place of an earlier one. */
  async keep(result: Result): Promise<void> {
    await mkdir(this.#dir, { recursive: true })
    await writeFile(this.#path(result.result.row), `${JSON.stringify(result)}\n`)
  }

  /** Returns the result of a row; null if there is none. */
  async read(row: string): Promise<Result | null> {
    try {
      return JSON.parse(await readFile(this.#path(row), 'utf8')) as Result
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
  }

  #path(row: string): string {
    return join(this.#dir, `${row}.json`)
  }
}
