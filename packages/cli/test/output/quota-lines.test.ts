import { type QuotaName, type Quotas, type QuotaUse, quotaNames } from '@holt/protocol'
import { expect, test } from 'vitest'
import { quota } from '../../src/arguments/quota.ts'
import { quotaLines, tightestQuota } from '../../src/output/quota-lines.ts'

const nothing = Object.fromEntries(quotaNames.map((name) => [name, null])) as Quotas
const use = { memory_mib: 512, snapshot_bytes: 1_500_000_000 } as QuotaUse

test.each<[QuotaName, number, string]>([
  ['memory_mib', 512, '512 MiB'],
  ['memory_mib', 1536, '1536 MiB'],
  ['memory_mib', 8192, '8 GiB'],
  ['disk_mib', 0, '0'],
  ['snapshot_bytes', 2 ** 30, '1 GiB'],
  ['snapshot_bytes', 512 * 2 ** 20, '512 MiB'],
  ['snapshot_bytes', 1_500_000_000, '1500000000'],
  ['template_bytes', 1, '1'],
  ['template_bytes', 0, '0'],
  ['cpu', 0.5, '0.5'],
  ['runtimes', 20, '20'],
])('%s of %d is shown as %s, which --quota takes for the same', (name, value, shown) => {
  const line = quotaLines({ ...nothing, [name]: value }, use).find((each) => each.name === name)
  expect(line?.limit).toBe(shown)
  expect(quota(`${name}=${shown}`)).toEqual({ [name]: value })
})

test.each<[Partial<Quotas>, string]>([
  [{}, 'no limit'],
  [{ requests_per_sec: 50 }, "50 (a second's worth)"],
  [{ requests_per_sec: 0.5 }, "1 (a second's worth)"],
  [{ requests_per_sec: 50, request_burst: 100 }, '100'],
])('with %j the burst of requests is shown as %s', (quotas, shown) => {
  const line = quotaLines({ ...nothing, ...quotas }, use).find(({ name }) => name === 'request_burst')
  expect(line?.limit).toBe(shown)
})

test('use is shown in a unit that is precise enough', () => {
  const used = Object.fromEntries(quotaLines(nothing, use).map((line) => [line.name, line.used]))
  expect(used).toMatchObject({ memory_mib: '512 MiB', snapshot_bytes: '1.4 GiB', requests_per_sec: '-' })
})

const inUse: QuotaUse = {
  runtimes: 5,
  paused_runtimes: 0,
  cpu: 1.5,
  memory_mib: 999,
  disk_mib: 4096,
  snapshot_bytes: 0,
  template_bytes: 0,
  builds: 0,
}

test.each<[Partial<Quotas>, string]>([
  [{}, ''],
  [{ requests_per_sec: 5 }, ''],
  [{ runtimes: 10, cpu: 2 }, 'cpu 75%'],
  [{ runtimes: 10, memory_mib: 1000 }, 'memory_mib 99%'],
  [{ runtimes: 4 }, 'runtimes 125%'],
  [{ runtimes: 10, builds: 0 }, 'builds 100%'],
])('of %j the tightest is "%s"', (quotas, text) => {
  expect(tightestQuota({ ...nothing, ...quotas }, inUse)).toBe(text)
})
