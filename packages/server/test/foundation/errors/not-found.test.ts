import { expect, test } from 'vitest'
import { comparedNames } from '../../../src/foundation/errors/not-found.ts'
import { FakeBuilder } from '../../support/fake-builder.ts'
import { makeProject } from '../../support/own-project.ts'
import { startTestServer, type TestServer } from '../../support/start-test-server.ts'
import { makeThings } from '../../support/things-of-a-project.ts'

const base = '/v1/agents'

const start = () => startTestServer({ builder: new FakeBuilder() })

/** The error of a request for something under a name or an id. */
async function errorOf(ask: TestServer['ask'], path: string, options: object = {}) {
  return (await ask('GET', `${base}/${path}`, options)).json.error
}

test('an unknown name is reported with the most similar name of the project', async () => {
  const { ask } = await start()
  await makeThings(ask, 'search-tools')
  for (const [kind, noun] of [
    ['template', 'template'],
    ['snapshot', 'snapshot'],
    ['network-policy', 'network policy'],
    ['secret', 'secret'],
    ['identity-provider', 'identity provider'],
  ]) {
    expect(await errorOf(ask, `${kind}/search-tool`)).toMatchObject({
      message: `No ${noun} is named search-tool. Did you mean search-tools?`,
      details: { name: 'search-tool', nearest: 'search-tools' },
    })
    expect(await errorOf(ask, `${kind}/unlike`)).toMatchObject({
      message: `No ${noun} is named unlike.`,
      details: { name: 'unlike', nearest: null },
    })
  }
})

test('templates of Holt are suggested like those of the project', async () => {
  const { ask } = await start()
  const made = await ask('POST', `${base}/runtime`, { json: { template: 'basesmall' } })
  expect(made.json.error).toMatchObject({
    code: 'template_not_found',
    message: 'No template is named basesmall. Did you mean base-small?',
    details: { name: 'basesmall', nearest: 'base-small' },
  })
})

test('a create says which name is wrong, and in which field', async () => {
  const { ask } = await start()
  await ask('POST', `${base}/secret`, { json: { name: 'stripe', value: 'x'.repeat(20), hosts: ['a.example.com'] } })
  const { json } = await ask('POST', `${base}/runtime`, {
    json: { network_policy: { allow: [{ host: 'a.example.com', ports: [443] }] }, secrets: ['strip'] },
  })
  expect(json.error).toMatchObject({
    code: 'secret_not_found',
    message: 'No secret is named strip. Did you mean stripe?',
    details: { name: 'strip', nearest: 'stripe', issues: [{ pointer: '/secrets/0' }] },
  })
})

test('a name of another project is never suggested', async () => {
  const server = await start()
  await makeThings(server.ask, 'search-tools')
  const { ask } = await makeProject(server, 'another')
  for (const kind of ['template', 'snapshot', 'network-policy', 'secret', 'identity-provider'])
    expect((await errorOf(ask, `${kind}/search-tool`)).details).toEqual({ name: 'search-tool', nearest: null })
})

test('a key without the scope to list names gets no suggestion', async () => {
  const { ask } = await start()
  await makeThings(ask, 'search-tools')
  const json = { name: 'weak', scopes: ['runtime:write'] }
  const { key } = (await ask('POST', `${base}/key`, { json })).json
  const create = (body: object) => ask('POST', `${base}/runtime`, { key, json: body })
  for (const body of [{ template: 'search-tool' }, { snapshot: 'search-tool' }, { network_policy: 'search-tool' }])
    expect((await create(body)).json.error).toMatchObject({ details: { name: 'search-tool', nearest: null } })
  expect((await create({ network_policy: null, secrets: ['search-tool'] })).json.error.details.nearest).toBeNull()
})

test('an id is reported as an id, and a long name is shortened', async () => {
  const { ask } = await start()
  const runtime = `rt${'a'.repeat(20)}`
  expect(await errorOf(ask, `runtime/${runtime}`)).toMatchObject({
    code: 'runtime_not_found',
    message: `No runtime has the id ${runtime}.`,
    details: { name: runtime, nearest: null },
  })
  const long = await errorOf(ask, `secret/${'x'.repeat(5_000)}`)
  expect(long.message.length).toBeLessThan(300)
})

test('only the newest names are compared, up to a limit', async () => {
  const { ask } = await start()
  const make = (name: string) => ask('POST', `${base}/network-policy`, { json: { name, allow: [] } })
  await make('oldest-name')
  for (let made = 0; made < comparedNames; made++) await make(`filler-${made}`)
  expect((await errorOf(ask, 'network-policy/oldest-nam')).details.nearest).toBeNull()
  await make('newest-name')
  expect((await errorOf(ask, 'network-policy/newest-nam')).details.nearest).toBe('newest-name')
})
