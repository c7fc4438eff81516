import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Holt } from '@holt/sdk'
import { expect, it, onTestFinished } from 'vitest'
import { makeSampleData } from '../packages/console/build/sample-data.ts'
import { takePictures } from '../packages/console/build/take-pictures.ts'
import { faultsOf } from '../packages/console/test/support/faults-of.ts'
import { service } from './support/facts.ts'
import { fetchOnce } from './support/fetch-once.ts'

/** Some 60 pages are shown, and the sample data has a build, on a machine that may be busy. */
const slowMs = 600_000

/** The bytes with which a PNG begins (RFC 2083, 3.1). */
const png = Buffer.from('89504e470d0a1a0a', 'hex')

it(
  'every page of the console is pictured in both themes, and axe has nothing against it',
  async () => {
    const out = await mkdtemp(join(tmpdir(), 'holt-pictures-'))
    onTestFinished(() => rm(out, { recursive: true }))
    const holt = new Holt({ url: service.url, apiKey: service.key, fetch: fetchOnce })
    const faults: string[] = []
    await using data = await makeSampleData(holt)
    const count = await takePictures({
      out,
      url: service.url,
      apiKey: service.key,
      data,
      look: async (page, { name, theme }) =>
        void faults.push(...(await faultsOf(page, theme)).map((fault) => `${name} ${theme}: ${fault}`)),
    })
    expect(faults).toEqual([])
    const list = JSON.parse(await readFile(join(out, 'pictures.json'), 'utf8')) as readonly { readonly name: string }[]
    expect(list).toHaveLength(count)
    const names = list.flatMap(({ name }) => [`${name}-dark.png`, `${name}-light.png`])
    expect((await readdir(out)).toSorted()).toEqual([...names, 'pictures.json'].toSorted())
    for (const name of names) expect((await readFile(join(out, name))).subarray(0, 8), name).toEqual(png)
  },
  slowMs,
)
