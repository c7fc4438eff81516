import { markdownTable } from './table.ts'

/**
 * The figures that a visitor reads first. `what` and `baseline` select a line of the short table.
 */
const headlines: readonly { row: string; what: string; baseline?: RegExp; says: string }[] = [
  { row: 'B1', what: 'create, gvisor', says: 'create a runtime' },
  { row: 'B1', what: 'create + true, gvisor', baseline: /^runsc run/, says: 'create a runtime and run a command' },
  { row: 'B5', what: 'command, container, 1 client', baseline: /^runc exec/, says: 'run a command, class `container`' },
  { row: 'B7', what: 'copy of a tree of 20,000 files, gvisor', says: 'copy 20,000 files inside' },
  { row: 'B11', what: 'CPU time of 100 idle in 30 s', says: 'CPU time of 100 idle runtimes in 30 s' },
]

/** A line of the short table that a visitor reads first. */
export interface Headline {
  readonly says: string
  readonly holt: string
  /** Empty without a baseline. */
  readonly baseline: string
  /** Holt divided by the baseline; null without one. */
  readonly ratio: number | null
}

/** Returns the headlines that a short table (`summarySection`) has, in their order. */
export function headlinesOf(summary: string): readonly Headline[] {
  const [head = [], ...lines] = summary
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  const cell = (line: readonly string[], name: string) => line[head.indexOf(name)] ?? ''
  return headlines.flatMap(({ row, what, baseline = /^/, says }) => {
    const found = lines.find(
      (line) => cell(line, 'row') === row && cell(line, 'what') === what && baseline.test(cell(line, 'baseline')),
    )
    if (found === undefined) return []
    const ratio = Number.parseFloat(cell(found, 'x baseline'))
    const beside = cell(found, 'baseline')
    return [
      {
        says,
        holt: cell(found, 'Holt'),
        baseline: beside === '-' ? '' : beside,
        ratio: Number.isNaN(ratio) ? null : ratio,
      },
    ]
  })
}

/** Returns the table of the README. */
export function headlineTable(shown: readonly Headline[]): string {
  return markdownTable(
    ['what', 'Holt', 'beside it, in the same run', 'ratio'],
    shown.map(({ says, holt, baseline, ratio }) => [says, holt, baseline, ratio === null ? '' : `${ratio}x`]),
  )
}

/**
 * Returns an SVG with a pair of bars for each headline that has a baseline. Their lengths are
 * ratios.
 */
export function headlineChart(shown: readonly Headline[]): string {
  const compared = shown.flatMap((line) => (line.ratio === null ? [] : [{ ...line, ratio: line.ratio }]))
  const [left, full, step, width] = [290, 300, 52, 900]
  const longest = Math.max(1, ...compared.map(({ ratio }) => ratio))
  const bar = (ratio: number) => Math.max(2, (ratio / longest) * full)
  const groups = compared.map(({ says, holt, baseline, ratio }, at) => {
    const y = 16 + at * step
    return `  <text x="${left - 12}" y="${y + 21}" text-anchor="end">${says.replaceAll('`', '')}</text>
  <rect x="${left}" y="${y}" width="${bar(ratio)}" height="14" rx="2" fill="#2da44e"/>
  <text x="${left + bar(ratio) + 8}" y="${y + 11}">Holt ${holt}</text>
  <rect x="${left}" y="${y + 18}" width="${bar(1)}" height="14" rx="2" fill="#8c959f"/>
  <text x="${left + bar(1) + 8}" y="${y + 29}">${baseline}</text>`
  })
  const height = 16 + compared.length * step
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="Holt beside bare tools, shorter is better">
  <rect width="100%" height="100%" fill="#ffffff"/>
  <g font-family="system-ui, sans-serif" font-size="12" fill="#24292f">
${groups.join('\n')}
  </g>
</svg>
`
}
