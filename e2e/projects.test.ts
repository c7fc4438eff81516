import { NewKey, Project, Runtime } from '@holt/protocol'
import { expect, it } from 'vitest'
import { call, failure, runtimesPath, success } from './support/api.ts'
import { crash, restart } from './support/crash.ts'

const projects = '/v1/agents/project'

it('a quota of runtimes applies to many creates at once and over a kill -9, and an empty project can be deleted', async () => {
  const name = 'quota-of-two'
  success(await call('POST', projects, { json: { name, quotas: { runtimes: 2 } } }), 201, Project)
  const wanted = { name, scopes: ['admin'], project: name }
  const { key } = success(await call('POST', '/v1/agents/key', { json: wanted }), 201, NewKey)
  const create = () => call('POST', runtimesPath, { key, json: {} })

  const answers = await Promise.all(Array.from({ length: 6 }, create))
  const made = answers.filter(({ status }) => status === 201).map((answer) => success(answer, 201, Runtime))
  expect(made).toHaveLength(2)
  for (const answer of answers.filter(({ status }) => status !== 201)) failure(answer, 'quota_exceeded')

  await crash()
  await restart()
  failure(await create(), 'quota_exceeded')
  const { use } = success(await call('GET', `${projects}/${name}`), 200, Project)
  expect(use.runtimes).toBe(2)
  failure(await call('DELETE', `${projects}/${name}`), 'in_use')

  for (const { runtime_id } of made)
    expect((await call('DELETE', `${runtimesPath}/${runtime_id}`, { key })).status).toBe(204)
  expect((await call('DELETE', `${projects}/${name}`)).status).toBe(204)
  failure(await create(), 'unauthenticated')
})
