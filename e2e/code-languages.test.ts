import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BuildContext } from '@holt/protocol'
import { type CodeResult, Holt } from '@holt/sdk'
import { testLength } from '@holt/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, success } from './support/api.ts'
import { describeClasses, type IsolationClass } from './support/classes.ts'
import { service } from './support/facts.ts'
import { fetchOnce } from './support/fetch-once.ts'
import { pointName, rig } from './support/rig/arrivals.ts'
import { npmHost } from './support/rig/package-index.ts'
import { getBuild, messagesOf, startBuild, templatesPath } from './support/test-build.ts'
import { createRuntime, type TestRuntime } from './support/test-runtime.ts'
import { until } from './support/until.ts'

// Kernels that a template on code-interpreter adds: R's of Debian, and Java's of PyPI.

const directory = join(import.meta.dirname, '../templates/code-interpreter')
const { context, start_cmd, ready_cmd, ready_timeout_secs, build_network } = JSON.parse(
  readFileSync(join(directory, 'template.json'), 'utf8'),
)

const name = 'code-languages'

/** The build fetches several hundred MB of packages. */
const buildTimeoutMs = 30 * 60_000

const more = `
USER root
# The packages of Java need the directory, which a slim system does not have.
RUN apt-get update -q && mkdir -p /usr/share/man/man1 \\
    && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \\
        r-cran-irkernel openjdk-21-jdk-headless \\
    && apt-get clean && rm -rf /var/lib/apt/lists/* \\
    && mkdir -p /usr/local/share/jupyter/kernels \\
    && cp -r /usr/lib/R/site-library/IRkernel/kernelspec /usr/local/share/jupyter/kernels/ir
USER user
RUN uv pip install --no-cache --link-mode copy jjava==1.0a8
`

const holt = () => new Holt({ url: service.url, apiKey: service.key, fetch: fetchOnce })

const codeOf = async ({ id }: TestRuntime) => (await holt().runtimes.get(id)).code

const make = (isolation: IsolationClass): Promise<TestRuntime> =>
  createRuntime({ template: name, isolation, env: { GIVEN: 'größer' } })

const plainOf = ({ results }: Pick<CodeResult, 'results'>) => results.map(({ data }) => data['text/plain'])

describe.runIf(testLength() !== 'short')('kernels of other languages', () => {
  const hosts = { ...rig.packageIndex, ...rig.debianArchive, [npmHost]: rig.npmRegistry }

  beforeAll(async () => {
    for (const [host, addresses] of Object.entries(hosts)) {
      expect(addresses.length, `FIX: ${host} has to be reachable`).toBeGreaterThan(0)
      await pointName(host, addresses)
    }
    await call('DELETE', `${templatesPath}/${name}`)
    const tar = execFileSync('tar', ['-c', '-C', directory, ...context])
    const { context_id } = success(await call('POST', `${templatesPath}/context`, { body: tar }), 201, BuildContext)
    const buildId = await startBuild({
      ...{ name, context_id, start_cmd, ready_cmd, ready_timeout_secs },
      dockerfile: `${readFileSync(join(directory, 'Dockerfile'), 'utf8')}${more}`,
      build_args: { PACKAGES: 'kernels' },
      network_policy: { ...build_network, include: ['debian'] },
      ...{ cpu: 2, memory: '2GiB', disk: '8GiB' },
    })
    const ended = async () => {
      const build = await getBuild(buildId)
      return build.ended_at === null ? null : build
    }
    const { status } = await until('the build has ended', ended, buildTimeoutMs)
    expect(status, status === 'ready' ? '' : (await messagesOf(buildId)).join('\n')).toBe('ready')
  }, buildTimeoutMs)

  afterAll(async () => {
    for (const host of Object.keys(hosts)) await pointName(host, [rig.listedAddress])
    await call('DELETE', `${templatesPath}/${name}`)
  }, 120_000)

  describeClasses('are those of', (isolation) => {
    let runtime: TestRuntime
    beforeAll(async () => {
      runtime = await make(isolation)
    }, 120_000)
    afterAll(() => runtime?.delete())

    it('R: values, output, pictures, errors, time limits and variables', { timeout: 300_000 }, async () => {
      const code = await codeOf(runtime)
      const run = (text: string, options: object = {}) => code.run(text, { language: 'r', ...options })
      expect(plainOf(await run('kept <- 41; kept + 1'))).toEqual(['[1] 42'])
      expect(await run('cat("one\\n"); message("two"); invisible(kept)')).toMatchObject({
        status: 'ok',
        stdout: 'one\n',
        stderr: expect.stringContaining('two'),
        results: [],
      })
      const [table] = (await run('data.frame(a = 1:2, b = c("x", "y"))')).results
      expect(Object.keys(table?.data ?? {})).toEqual(expect.arrayContaining(['text/html', 'text/plain']))
      const drawn = await run('plot(1:3)')
      expect(drawn.results.map(({ data }) => String(data['image/png']).slice(0, 5))).toEqual(['iVBOR'])
      expect(await run('stop("no")')).toMatchObject({
        status: 'error',
        error: { value: expect.stringContaining('no') },
      })
      expect(await run('Sys.sleep(600)', { timeout_secs: 1 })).toMatchObject({ status: 'timed_out', state_lost: false })
      expect(plainOf(await run('kept'))).toEqual(['[1] 41'])
      expect(plainOf(await run('Sys.getenv("GIVEN")'))).toEqual(['[1] "größer"'])
    })

    it.runIf(isolation === 'gvisor')(
      'R: variables stay in forks, whose random numbers differ',
      { timeout: 300_000 },
      async () => {
        const code = await codeOf(runtime)
        await code.run('set.seed(1); kept <- "of the parent"', { language: 'r' })
        const forks = await runtime.fork({ count: 2 })
        const drawn: (string | undefined)[] = []
        try {
          for (const one of [runtime, ...(forks as TestRuntime[])]) {
            const { code: own } = await holt().runtimes.get(one.id)
            expect(plainOf(await own.run('kept', { language: 'r' }))).toEqual(['[1] "of the parent"'])
            drawn.push(...(plainOf(await own.run('runif(1)', { language: 'r' })) as string[]))
          }
        } finally {
          for (const one of forks as TestRuntime[]) await one.delete()
        }
        expect(new Set(drawn).size).toBe(3)
      },
    )

    it('Java: values, output and errors', { timeout: 300_000 }, async () => {
      const code = await codeOf(runtime)
      const run = (text: string) => code.run(text, { language: 'java' })
      await run('int kept = 40;')
      expect(plainOf(await run('kept + 2'))).toEqual(['42'])
      expect(await run('System.out.println("one");')).toMatchObject({ status: 'ok', stdout: 'one\n' })
      expect(await run('throw new IllegalStateException("no");')).toMatchObject({ status: 'error' })
      expect(plainOf(await run('kept'))).toEqual(['40'])
    })
  })
})
