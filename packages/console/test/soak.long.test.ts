import { readFileSync } from 'node:fs'
import type { CDPSession, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../server/test/support/start-test-server.ts'
import { openByLink, openWindow } from './support/browser.ts'

/** The length of the soak in seconds. */
const soakSecs = Number(process.env.HOLT_CONSOLE_SOAK_SECS ?? 180)

/** The runtimes of the soak, and those of the long table. */
const changing = 500
const many = 3_000

/** The most bytes by which the heap may grow during the soak: a leak grows without end. */
const mostGrowth = 60 * 2 ** 20

/** The counters of the browser during a scroll, in milliseconds and frames per second. */
interface Frames {
  readonly perSecond: number
  readonly median: number
  readonly p95: number
  readonly worst: number
  /** The frames that took more than 50 ms, as the browser reports them (`long-animation-frame`). */
  readonly long: number
}

/**
 * Scrolls the table as fast as a wheel turns, some 50 rows in a tenth of a second, forth and back.
 * Returns what the browser counted.
 */
const scrollProgram = `(async () => {
  const table = document.querySelector('.grid')
  let long = 0
  const observer = new PerformanceObserver((list) => void (long += list.getEntries().length))
  observer.observe({ type: 'long-animation-frame' })
  const times = []
  const frames = 300
  const step = Math.min((table.scrollHeight - table.clientHeight) / (frames / 2), 300)
  for (let at = 0; at < frames; at += 1) {
    table.scrollTop += at < frames / 2 ? step : -step
    times.push(await new Promise((resolve) => requestAnimationFrame(resolve)))
  }
  observer.disconnect()
  const spans = times.slice(1).map((time, at) => time - times[at])
  const sorted = spans.toSorted((one, other) => one - other)
  const share = (part) => sorted[Math.floor(sorted.length * part)]
  const perSecond = (1000 * spans.length) / spans.reduce((sum, span) => sum + span, 0)
  return { perSecond, median: share(0.5), p95: share(0.95), worst: sorted.at(-1), long }
})()`

async function scrollAndCount(page: Page): Promise<Frames> {
  return (await page.evaluate(scrollProgram)) as Frames
}

/** Returns the bytes of the page's heap in use after a collection, and of the whole heap. */
async function heapOf(
  counters: CDPSession,
): Promise<{ readonly used: number; readonly total: number; readonly nodes: number }> {
  await counters.send('HeapProfiler.collectGarbage')
  const { metrics } = await counters.send('Performance.getMetrics')
  const value = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0
  return { used: value('JSHeapUsedSize'), total: value('JSHeapTotalSize'), nodes: value('Nodes') }
}

/**
 * Returns the memory of the largest renderer process in MiB, with its part of shared pages (`Pss`
 * of proc_pid_smaps(5)). It has the code of the browser besides the page.
 */
async function rendererMiB(page: Page): Promise<number> {
  const session = await page.context().browser()?.newBrowserCDPSession()
  const { processInfo } = (await session?.send('SystemInfo.getProcessInfo')) ?? { processInfo: [] }
  await session?.detach()
  const sizes = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => shareOfMemory(id))
  return Math.max(...sizes)
}

function shareOfMemory(pid: number): number {
  const [, kib] = /^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? []
  return Number(kib) / 1024
}

function report(what: string, facts: object): void {
  process.stderr.write(
    `${what}: ${JSON.stringify(facts, (_, value) => (typeof value === 'number' ? Math.round(value * 10) / 10 : value))}\n`,
  )
}

async function countersOf(page: Page): Promise<CDPSession> {
  const counters = await page.context().newCDPSession(page)
  await counters.send('Performance.enable')
  return counters
}

/** Changes runtimes, some in each second, until the time is over. */
async function changeSome({ ask, engine }: TestServer, ids: string[], untilMs: number): Promise<number> {
  let changes = 0
  for (let at = 0; performance.now() < untilMs; at += 1) {
    const [id = ''] = ids.splice(Math.floor((ids.length * ((at * 7919) % 1000)) / 1000), 1)
    const path = `/v1/agents/runtime/${id}`
    if (at % 5 === 0) {
      await ask('DELETE', path)
      const made = await ask('POST', '/v1/agents/runtime', { json: { name: `made-${at}`, metadata: { at: `${at}` } } })
      ids.push(made.json.runtime_id)
    } else {
      await ask('POST', `${path}/${at % 2 === 0 ? 'pause' : 'resume'}`)
      ids.push(id)
    }
    engine.use((ids[at % ids.length] ?? '') as never, {
      cpuUsec: at * 50_000,
      memoryBytes: ((at % 400) + 10) * 2 ** 20,
    })
    changes += 1
    await new Promise((resolve) => setTimeout(resolve, 40))
  }
  return changes
}

test(`${changing} runtimes that change keep the page small and smooth`, {
  timeout: (soakSecs + 600) * 1000,
}, async () => {
  const server = await startTestServer()
  const ids: string[] = []
  for (let at = 0; at < changing; at += 1) ids.push(await server.makeRuntime({ name: `runtime-${at}` }))
  const visit = await openWindow({ traced: false })
  const { page } = visit
  await openByLink(server, visit)
  await page.getByRole('row').nth(5).waitFor()
  const counters = await countersOf(page)
  const began = performance.now()
  const work = changeSome(server, ids, began + soakSecs * 1000)
  const heaps: number[] = []
  while (performance.now() - began < soakSecs * 1000) {
    const frames = await scrollAndCount(page)
    const heap = await heapOf(counters)
    heaps.push(heap.used)
    const mib = { used: heap.used / 2 ** 20, total: heap.total / 2 ** 20 }
    const facts = { frames, heapMiB: mib, nodes: heap.nodes, rendererMiB: await rendererMiB(page) }
    report(`after ${Math.round((performance.now() - began) / 1000)} s`, facts)
    await page.waitForTimeout(10_000)
  }
  report('changes', { count: await work })
  expect(visit.complaints).toEqual([])
  expect((heaps.at(-1) ?? 0) - (heaps[0] ?? 0)).toBeLessThan(mostGrowth)
  // The page followed to the end.
  const { json } = await server.ask('POST', '/v1/agents/runtime', { json: { name: 'the-last' } })
  await page.evaluate("document.querySelector('.grid').scrollTop = 0")
  await page.getByRole('row', { name: json.name }).waitFor()
})

test(`a table of ${many} runtimes scrolls, is searched and sorted`, { timeout: 300_000 }, async () => {
  const server = await startTestServer()
  await server.makeRuntime({ name: 'sample', metadata: { team: 'x' } })
  const [sample] = (await server.ask('GET', '/v1/agents/runtime')).json.data
  const idOf = (at: number) => `rt${String(at).padStart(20, '0')}`
  const visit = await openWindow({ traced: false })
  const { page } = visit
  await page.route(/\/v1\/agents\/runtime\?/, (route) => {
    const from = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0)
    const data = Array.from({ length: Math.min(100, many - from) }, (_, at) => ({
      ...sample,
      runtime_id: idOf(from + at),
      name: `runtime-${from + at}`,
      metadata: { team: `team-${(from + at) % 50}` },
      parent_id: (from + at) % 10 === 0 ? null : idOf(from + at - ((from + at) % 10)),
    }))
    return route.fulfill({ json: { data, next_cursor: from + 100 < many ? `${from + 100}` : null } })
  })
  await openByLink(server, visit)
  await page.getByRole('row', { name: 'runtime-0 ' }).waitFor()
  await expect.poll(() => page.getByRole('grid').getAttribute('aria-rowcount')).toBe(`${many + 1}`)
  const counters = await countersOf(page)
  report(`scrolling ${many} rows`, { frames: await scrollAndCount(page), heap: await heapOf(counters) })
  const timed = async (what: string, act: () => Promise<unknown>, rows: number) => {
    const began = performance.now()
    await act()
    await expect
      .poll(() => page.getByRole(/tree/.test(what) ? 'treegrid' : 'grid').getAttribute('aria-rowcount'))
      .toBe(`${rows + 1}`)
    report(what, { ms: performance.now() - began })
  }
  await timed('find a label', () => page.getByLabel('Find a runtime').fill('team=team-7'), many / 50)
  await timed('find nothing', () => page.getByLabel('Find a runtime').fill(''), many)
  await timed('sort by name', () => page.getByRole('button', { name: 'Runtime', exact: true }).click(), many)
  await timed('show the tree', () => page.getByLabel('Tree of forks').check(), many)
  report(`scrolling the tree of ${many} rows`, { frames: await scrollAndCount(page) })
  expect(visit.complaints).toEqual([])
})
