import type { Engine, ImageDigest } from '@holt/engine'
import type { Ignored } from '@holt/protocol'
import { describe, expect, test } from 'vitest'
import { planDockerfile } from '../../src/dockerfile/plan-dockerfile.ts'
import {
  BuildError,
  type BuildHost,
  type BuildRequest,
  type BuildResult,
  type BuildSettings,
  runBuild,
  type TemplateBase,
} from '../../src/index.ts'
import { requestOf } from '../support/build-rig.ts'

const keys = ['PATH', 'HOME', 'HOSTNAME', 'SHELL', 'USER', 'LOGNAME'] as const
type Key = (typeof keys)[number]

const digest = `sha256:${'0'.repeat(64)}` as ImageDigest
const plain: BuildSettings = { env: {}, user: '', workdir: '/', shell: [], labels: {}, ports: [], onBuild: [] }
/** The platform keys of a base template. Its PATH begins with the workspace's environment. */
const ofBase = { PATH: '/workspace/.venv/bin:/usr/bin:/bin', VIRTUAL_ENV: '/workspace/.venv' }
const all = (value: string) => Object.fromEntries(keys.map((key) => [key, value]))

/** The bases of an image: an image or a template, with the environment of its runtimes. */
const images: Readonly<Record<string, BuildSettings>> = {
  bare: plain,
  usual: { ...plain, env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C' } },
  own: { ...plain, env: { ...all('/of/the/image'), LANG: 'C' } },
}
const template = (env: BuildSettings['env'], runtime: TemplateBase['env']): TemplateBase => ({
  reference: 'base',
  imageDigest: digest,
  settings: { ...plain, env },
  env: runtime,
})
const templates: Readonly<Record<string, TemplateBase>> = {
  'base-small': template(ofBase, ofBase),
  /** A template built on a base, with an ENV line for each key. */
  'on-base': template({ ...ofBase, ...all('/of/the/line') }, ofBase),
  /** Built on a container image. */
  'on-image': template({ ...all('/of/the/image'), LANG: 'C' }, { LANG: 'C' }),
}

/**
 * Builds over a cache that has every result. No runtime is started, so only the environment is
 * decided.
 */
async function settingsOf(
  request: BuildRequest,
  { told = [], findTemplate }: { told?: (readonly Ignored[])[]; findTemplate?: BuildHost['findTemplate'] } = {},
): Promise<BuildResult> {
  const facts = { user: 'root', imageBytes: 1, checkpoint: null }
  const host: BuildHost = {
    engine: { ability: () => null } as Pick<Engine, 'ability'> as Engine,
    isolation: 'container',
    workDir: '/nonexistent',
    stepSize: { cpu: 1, memoryMiB: 512 },
    images: {
      resolve: async (reference) => ({ reference, pinned: reference, digest }),
      ensure: async (image) => ({
        ...image,
        imageDigest: digest,
        sizeBytes: 1,
        settings: images[image.reference] ?? plain,
      }),
    },
    cache: {
      get: async () => ({ type: 'image', imageDigest: digest, sizeBytes: 1, facts }),
      put: async () => {},
      openMount: () => Promise.reject(new Error('no step runs')),
    },
    findTemplate: findTemplate ?? (async (reference) => templates[reference] ?? template({}, {})),
    planDockerfile: async (text, options) => planDockerfile(text, options),
    findSnapshot: async (reference) => templates[reference] ?? template({}, {}),
    fetch: () => Promise.reject(new Error('nothing is fetched')),
    newRuntime: () => Promise.reject(new Error('no step runs')),
    newCheckpointId: () => Promise.reject(new Error('no step runs')),
    report: { status: () => {}, steps: () => {}, ignored: (ignored) => void told.push(ignored), log: () => {} },
  }
  return runBuild(request, host, AbortSignal.timeout(10_000))
}

/** Requests for each kind of source. Each sets a key in a line of the image. */
const sources = {
  dockerfile: (base: string, key: Key) => requestOf(`FROM ${base}\nENV OTHER=1 ${key}=/of/the/line`),
  'dockerfile in stages': (base: string, key: Key) =>
    requestOf(`FROM ${base} AS below\nENV ${key}=/of/the/line\nFROM below\nENV OTHER=1`),
  from_image: (base: string, key: Key) => stepsOn('image', base, key),
  from_template: (base: string, key: Key) => stepsOn('template', base, key),
  from_snapshot: (base: string, key: Key) => stepsOn('snapshot', base, key),
} as const

function stepsOn(type: 'image' | 'template' | 'snapshot', reference: string, key: Key): BuildRequest {
  return { ...requestOf(''), source: { type, reference, steps: [{ env: { OTHER: '1', [key]: '/of/the/line' } }] } }
}

const onImages = Object.keys(images)
const onTemplates = Object.keys(templates)
const bases: Readonly<Record<keyof typeof sources, readonly string[]>> = {
  dockerfile: [...onImages, ...onTemplates.map((name) => `holt/${name}`)],
  'dockerfile in stages': [...onImages, ...onTemplates.map((name) => `holt/${name}`)],
  from_image: onImages,
  from_template: onTemplates,
  from_snapshot: onTemplates,
}
const lineOf = { dockerfile: 2, 'dockerfile in stages': 2, from_image: 1, from_template: 1, from_snapshot: 1 } as const

const rows = (Object.keys(sources) as (keyof typeof sources)[]).flatMap((source) =>
  bases[source].flatMap((base) => keys.map((key) => ({ source, base, key }))),
)

/**
 * Returns the platform keys of runtimes made from the base itself. An image has none: the platform
 * sets them.
 */
const platformOf = (base: string) => {
  const { env } = templates[base.replace('holt/', '')] ?? { env: {} as TemplateBase['env'] }
  return Object.fromEntries(keys.flatMap((key) => (env[key] === undefined ? [] : [[key, env[key]]])))
}

describe('a line of an image that sets a key of the platform', () => {
  test.each(rows)('$source on $base: $key', async ({ source, base, key }) => {
    const request = sources[source](base, key)
    const { settings, buildSettings, ignored } = await settingsOf(request)
    const found = Object.fromEntries(keys.flatMap((each) => (settings.env[each] ? [[each, settings.env[each]]] : [])))
    expect(found).toEqual(platformOf(base))
    expect(settings.env.OTHER).toBe('1')
    // The steps of the build, and of builds on top, see the value of the line.
    expect(buildSettings.env[key]).toBe('/of/the/line')
    const line = lineOf[source]
    expect(ignored.filter(({ instruction, line: at }) => instruction === `ENV ${key}` && at === line)).toEqual([
      { instruction: `ENV ${key}`, line, reason: expect.stringContaining(`give ${key} in \`env\` of the build`) },
    ])
    const own = await settingsOf({ ...request, env: { [key]: '/of/the/request' } })
    expect(own.settings.env).toEqual({ ...settings.env, [key]: '/of/the/request' })
  })
})

test('platform keys of a container image are left out and listed without a line, and those of a template are not listed', async () => {
  const listed = async (text: string) =>
    (await settingsOf(requestOf(text))).ignored.map(({ instruction, line }) => [instruction, line])
  expect(new Set(await listed('FROM own'))).toEqual(new Set(keys.map((key) => [`ENV ${key}`, null])))
  expect(await listed('FROM usual')).toEqual([])
  expect(await listed('FROM bare')).toEqual([])
  expect(await listed('FROM holt/base-small')).toEqual([])
  expect(await listed('FROM holt/base-small\nENV A=1 PATH=/a\n\nENV PATH=/b PATH=/c')).toEqual([
    ['ENV PATH', 2],
    ['ENV PATH', 4],
  ])
  // Variables in a name are expanded first. A stage that the target is not built on has no
  // influence.
  expect(await listed('FROM holt/base-small\nENV NAME=HOME\nENV $NAME=/x')).toEqual([['ENV HOME', 3]])
  expect(await listed('FROM bare AS other\nENV PATH=/x\nFROM bare')).toEqual([])
})

test('left out keys are reported with the plan, and exactly once the base is known', async () => {
  const listed = (told: readonly (readonly Ignored[])[]) =>
    told.map((ignored) => ignored.map(({ instruction, line }) => `${line} ${instruction}`))
  const text = (base: string) =>
    requestOf(`FROM ${base} AS one\nENV "PATH"=/a NAME=HOME\nFROM one\nENV $NAME=/x USER=u\nCMD x\nENTRYPOINT y`)
  const planned = ['5 CMD', '6 ENTRYPOINT', '2 ENV PATH', '4 ENV USER']
  const missing: (readonly Ignored[])[] = []
  const findTemplate = () => Promise.reject(new BuildError('image_not_found', 'There is no template.'))
  await expect(settingsOf(text('holt/none'), { told: missing, findTemplate })).rejects.toThrow('no template')
  expect(listed(missing)).toEqual([planned])
  const told: (readonly Ignored[])[] = []
  const { ignored } = await settingsOf(text('holt/base-small'), { told })
  const exact = ['5 CMD', '6 ENTRYPOINT', '2 ENV PATH', '4 ENV HOME', '4 ENV USER']
  expect(listed(told)).toEqual([planned, exact])
  expect(listed([ignored])).toEqual([exact])
})
