/** The number in a row's id, by which rows are ordered: 12 of `B12`. */
const numberOf = (id: string) => Number(/\d+/.exec(id)?.[0] ?? 0)

/** Puts newly measured rows into the short table in place of what it had of them; the other rows stay. */
export function updateSummary(old: string, measured: string): string {
  const [was, now] = [partsOf(old), partsOf(measured)]
  const ids = new Set(now.lines.map(idOf))
  const lines = [...was.lines.filter((line) => !ids.has(idOf(line))), ...now.lines]
  lines.sort((one, other) => numberOf(idOf(one)) - numberOf(idOf(other)))
  return [...now.head, ...lines, '', ...updateNotes(was.notes, now.notes)].join('\n')
}

/** Puts newly measured rows into the long page in place of what it had of them; the other rows stay. */
export function updateFull(old: string, measured: string): string {
  const [was, now] = [sectionsOf(old), sectionsOf(measured)]
  const sections = [...new Map([...was.sections, ...now.sections])]
  sections.sort(([one], [other]) => numberOf(one) - numberOf(other))
  const notes = updateNotes(was.notes, now.notes)
  return [notes.join('\n'), '', ...sections.map(([, text]) => `${text.trim()}\n`)].join('\n')
}

/** A note says by which command rows were measured; a newer one by the same command takes its place. */
function updateNotes(was: readonly string[], now: readonly string[]): string[] {
  const commands = new Set(now.map(commandOf))
  return [...was.filter((note) => !commands.has(commandOf(note))), ...now]
}

function commandOf(note: string): string {
  return /`([^`]+)`/.exec(note)?.[1] ?? note
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
