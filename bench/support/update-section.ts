/** Returns the number in a row's id, by which rows are sorted: 12 for `B12`. */
const numberOf = (id: string) => Number(/\d+/.exec(id)?.[0] ?? 0)

/**
 * Replaces the newly measured rows of the short table, and keeps the other rows. Throws if the two
 * tables have different columns.
 */
export function updateSummary(old: string, measured: string): string {
  const [was, now] = [partsOf(old), partsOf(measured)]
  if (was.lines.length > 0 && was.head[0] !== now.head[0])
    throw new Error(`the table has the columns ${was.head[0]}, not ${now.head[0]}: measure every row`)
  const ids = new Set(now.lines.map(idOf))
  const lines = [...was.lines.filter((line) => !ids.has(idOf(line))), ...now.lines]
  lines.sort((one, other) => numberOf(idOf(one)) - numberOf(idOf(other)))
  const notes = notesThatCount([...was.notes, ...now.notes], lines.map(idOf))
  return [...now.head, ...lines, '', ...notes].join('\n')
}

/** Replaces the newly measured rows of the long page, and keeps the other rows. */
export function updateFull(old: string, measured: string): string {
  const [was, now] = [sectionsOf(old), sectionsOf(measured)]
  const sections = [...new Map([...was.sections, ...now.sections])]
  sections.sort(([one], [other]) => numberOf(one) - numberOf(other))
  const ids = sections.map(([id]) => id)
  const notes = notesThatCount([...was.notes, ...now.notes], ids)
  return [notes.join('\n'), '', ...sections.map(([, text]) => `${text.trim()}\n`)].join('\n')
}

/**
 * Returns the notes that still apply to a row, oldest first. Each note names the command that
 * measured rows, and only the last measurement of a row counts.
 */
function notesThatCount(notes: readonly string[], ids: readonly string[]): string[] {
  const told = new Set<string>()
  const counts = notes.toReversed().filter((note) => {
    const named = /`([^`]+)`/.exec(note)?.[1]?.match(/\bB\d+\b/g) ?? ids
    const untold = named.filter((id) => !told.has(id))
    for (const id of untold) told.add(id)
    return untold.length > 0
  })
  return counts.toReversed()
}

function idOf(line: string): string {
  return line.split('|')[1]?.trim() ?? ''
}

function partsOf(section: string): { head: string[]; lines: string[]; notes: string[] } {
  const all = section.split('\n').filter((line) => line.trim() !== '')
  const table = all.filter((line) => line.startsWith('|'))
  return { head: table.slice(0, 2), lines: table.slice(2), notes: all.filter((line) => !line.startsWith('|')) }
}

function sectionsOf(page: string): { notes: string[]; sections: [id: string, text: string][] } {
  const [intro = '', ...rest] = page.split(/^(?=### )/m)
  const sections = rest.map((text): [string, string] => [/^### (\w+)/.exec(text)?.[1] ?? '', text])
  return { notes: intro.split('\n').filter((line) => line.trim() !== ''), sections }
}
