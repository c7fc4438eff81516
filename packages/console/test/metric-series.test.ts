import type { RuntimeSample } from '@holt/sdk'
import { expect, test } from 'vitest'
import { seriesOf } from '../src/metrics/metric-series.ts'

const sampleAt = (second: number, sent: number, rate: number | null = 0.5): RuntimeSample => ({
  at: new Date(second * 1000).toISOString(),
  cpu: { used_usec: 0, rate },
  memory: { used_bytes: 100 },
  disk: { used_bytes: 10 },
  processes: null,
  network: { sent_bytes: sent, received_bytes: 0 },
})

test('counters become rates, and a time without samples a gap', () => {
  const samples = [sampleAt(0, 0, null), sampleAt(10, 100), sampleAt(40, 400), sampleAt(50, 500)]
  const { at, cpu, sent, memory } = seriesOf({ samples, step_secs: 10 })
  expect(at).toEqual([0, 10, 20, 40, 50])
  expect(cpu).toEqual([null, 0.5, null, 0.5, 0.5])
  expect(memory).toEqual([100, 100, null, 100, 100])
  expect(sent).toEqual([null, 10, null, null, 10])
})

test('a counter that begins again has no rate', () => {
  const { sent } = seriesOf({ samples: [sampleAt(0, 500), sampleAt(10, 20)], step_secs: 10 })
  expect(sent).toEqual([null, null])
})
