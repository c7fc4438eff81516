import { call } from './api.ts'

/** A sample of the text format of Prometheus. */
interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The metrics of the service (https://prometheus.io/docs/instrumenting/exposition_formats/). */
async function readMetrics(): Promise<readonly Sample[]> {
  const { status, text } = await call('GET', '/metrics')
  if (status !== 200) throw new Error(text)
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      const pairs = [...labels.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, key, text]) => [key, text])
      return { name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }
    })
}

/** The sum of a metric over all samples that have these labels. */
export async function sumOf(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
  const samples = (await readMetrics()).filter(
    (one) => one.name === name && Object.entries(labels).every(([key, text]) => one.labels[key] === text),
  )
  return samples.reduce((sum, { value }) => sum + value, 0)
}
