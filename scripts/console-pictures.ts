import { join } from 'node:path'
import { makeSampleData } from '../packages/console/build/sample-data.ts'
import { takePictures } from '../packages/console/build/take-pictures.ts'
import { findCredentials, Holt } from '../packages/sdk/src/index.ts'

/**
 * Takes pictures of the console against the service on this machine (`holt up`), with sample data
 * that it makes and removes. `npm run docs` shows them in the site.
 */
const { url, apiKey } = findCredentials({})
if (apiKey === undefined)
  throw new Error('There is no key: start the service (holt up), or set HOLT_URL and HOLT_API_KEY')
await using data = await makeSampleData(new Holt({ url, apiKey }))
const out = join(import.meta.dirname, '../.holt/console-pictures')
const count = await takePictures({ out, url, apiKey, data })
process.stderr.write(`${count} pages in two themes: ${out}\n`)
