import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../sdk/test/support/test-service.ts'
import { openClient, textOf } from './support/open-client.ts'

let service: TestService
beforeEach(async () => {
  service = await startTestService()
})
afterEach(() => service.close())

const body = { name: 'web', from_image: 'python:3.12-slim', run: ['pip install flask'] }

test('lists templates', async () => {
  const { text } = await openClient(service)
  expect(JSON.parse(await text('list_templates'))).toMatchObject({ name: 'base-small', kind: 'system', state: 'ready' })
})

test('builds a template, with its steps as progress', async () => {
  const { text } = await openClient(service)
  service.script = (build) => {
    build.step(1, 'RUN pip install flask', 'running')
    build.status('building')
  }
  const told: (string | undefined)[] = []
  const built = await text('build_template', body, {
    onprogress: ({ message }) => {
      told.push(message)
      if (message === 'building: RUN pip install flask') for (const build of service.builds.values()) build.succeed()
    },
  })
  expect(JSON.parse(built)).toMatchObject({ name: 'web', tag: 'latest', status: 'ready' })
  expect(told).toContain('building: RUN pip install flask')
  expect([...service.builds.values()][0]?.body).toMatchObject({ steps: [{ run: 'pip install flask' }] })
})

test('a failed build has its reason and the end of its log', async () => {
  const { call } = await openClient(service)
  service.script = (build) => {
    build.log('collecting flask')
    build.fail('step_failed', 'The step exited with 1.')
  }
  const failed = await call('build_template', body)
  expect(failed.isError).toBe(true)
  expect(textOf(failed)).toMatch(/The step exited with 1\.[\s\S]*step_failed[\s\S]*collecting flask/)
})

test.each(['createBuild', 'getBuild'] as const)(
  'a call that is cancelled after %s cancels its build',
  async (route) => {
    const { call } = await openClient(service)
    service.script = (build) => build.status('building')
    const stop = new AbortController()
    const building = call('build_template', body, { signal: stop.signal })
    building.catch(() => undefined)
    await expect.poll(() => service.count(route), { interval: 1 }).toBeGreaterThan(0)
    stop.abort()
    await expect(building).rejects.toThrow()
    await expect.poll(() => [...service.builds.values()].map(({ data }) => data.status)).toEqual(['cancelled'])
  },
)
