/** A metric with its samples, as the text says. */
export interface ReadMetric {
  readonly type: string
  readonly help: string
  readonly samples: readonly ReadSample[]
}

/** One line with a value. */
export interface ReadSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const nameForm = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const labelForm = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y
const suffixes: Readonly<Record<string, readonly string[]>> = {
  counter: [''],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['', '_sum', '_count'],
}

/**
 * Reads the text format 0.0.4 by its rules
 * (https://prometheus.io/docs/instrumenting/exposition_formats/), and throws if one is broken.
 * Every line has one of three forms. The lines of a metric follow its type without a gap, and no
 * sample is there twice. Counters end in `_total`, and buckets add up.
 */
export function readMetrics(text: string): ReadonlyMap<string, ReadMetric> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const metrics = new Map<string, { type: string; help: string; samples: ReadSample[] }>()
  let current = ''
  for (const line of text.split('\n')) {
    if (line === '') continue
    const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (keyword === 'HELP') {
      if (metrics.has(name) || !nameForm.test(name)) throw new Error(`not the first of its metric: ${line}`)
      metrics.set(name, { type: '', help: rest, samples: [] })
      current = name
    } else if (keyword === 'TYPE') {
      const metric = metrics.get(name)
      if (metric === undefined || name !== current || metric.type !== '' || suffixes[rest] === undefined)
        throw new Error(`not a type where one belongs: ${line}`)
      metric.type = rest
    } else {
      const metric = metrics.get(current)
      const sample = readSample(line)
      if (metric === undefined || !suffixes[metric.type]?.some((suffix) => sample.name === current + suffix))
        throw new Error(`not a sample of ${current}: ${line}`)
      metric.samples.push(sample)
    }
  }
  for (const [name, metric] of metrics) checkMetric(name, metric)
  return metrics
}

function readSample(line: string): ReadSample {
  const [, name, inner = '', value = ''] = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  if (name === undefined) throw new Error(`neither comment nor sample: ${line}`)
  const number = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value)
  if (value === '' || (Number.isNaN(number) && value !== 'NaN')) throw new Error(`no number: ${line}`)
  const labels: Record<string, string> = {}
  labelForm.lastIndex = 0
  while (labelForm.lastIndex < inner.length) {
    const [, label, content = ''] = labelForm.exec(inner) ?? []
    if (label === undefined || Object.hasOwn(labels, label)) throw new Error(`labels that are none: ${line}`)
    labels[label] = content.replace(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char))
  }
  return { name, labels, value: number }
}

function checkMetric(name: string, { type, samples }: ReadMetric): void {
  const keys = samples.map(({ name: of, labels }) => JSON.stringify([of, Object.entries(labels).sort()]))
  if (new Set(keys).size < keys.length) throw new Error(`${name} has a sample twice`)
  if (type === 'counter' && !name.endsWith('_total')) throw new Error(`the counter ${name} is not named _total`)
  if (type === 'counter' && samples.some(({ value }) => value < 0)) throw new Error(`${name} is negative`)
  if (type !== 'histogram') return
  for (const count of samples.filter((sample) => sample.name === `${name}_count`)) {
    const isOfCount = ({ labels: { le: _, ...labels } }: ReadSample) =>
      Object.keys(labels).length === Object.keys(count.labels).length &&
      Object.entries(labels).every(([label, value]) => count.labels[label] === value)
    const buckets = samples.filter((sample) => sample.name === `${name}_bucket` && isOfCount(sample))
    const values = buckets.map(({ value }) => value)
    if (values.some((value, index) => value < (values[index - 1] ?? 0))) throw new Error(`${name} goes down`)
    if (buckets.at(-1)?.labels.le !== '+Inf' || values.at(-1) !== count.value) throw new Error(`${name} has no whole`)
  }
}
