/**
 * The lines of a page that belong to a row, as an earlier run of `bench/render.ts` wrote them. The
 * page keeps them for a row that this clone has no result of.
 */
export class PageOfRows {
  readonly #summary: readonly string[]
  readonly #missed: readonly string[]
  readonly #full: string

  constructor({ summary, missed, full }: { summary: string; missed: string; full: string }) {
    this.#summary = summary.split('\n')
    this.#missed = missed.split('\n')
    this.#full = full
  }

  /** Returns the lines of the short table. */
  summary(id: string): readonly string[] {
    return ofRow(this.#summary, id)
  }

  /** Returns the lines of the table of missed targets. */
  missed(id: string): readonly string[] {
    return ofRow(this.#missed, id)
  }

  /** Returns the run that measured the row, without the names of rows; null if there is none. */
  run(id: string): string | null {
    for (const line of this.#summary) {
      const [, rows = '', run = null] = /^- ((?:B\d+, )*B\d+): (measured .*)$/.exec(line) ?? []
      if (rows.split(', ').includes(id)) return run
    }
    return null
  }

  /** Returns the lines about what was not measured. */
  gaps(id: string): readonly string[] {
    const about = [`- Not measured: ${id}.`, `- Without a baseline: ${id}, `]
    return this.#summary.filter((line) => about.some((start) => line.startsWith(start)))
  }

  /** Returns all results of the row with their heading; empty if there are none. */
  full(id: string): readonly string[] {
    const part = this.#full.split(/^(?=### )/m).find((text) => text.startsWith(`### ${id}: `))
    return part === undefined ? [] : [...part.trimEnd().split('\n'), '']
  }
}

function ofRow(lines: readonly string[], id: string): readonly string[] {
  return lines.filter((line) => line.startsWith(`| ${id} |`))
}
