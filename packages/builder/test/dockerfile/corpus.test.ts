import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Instruction } from '../../src/dockerfile/plan.ts'
import { planDockerfile } from '../../src/dockerfile/plan-dockerfile.ts'
import { corpus } from '../support/corpus.ts'

const cases = corpus()
const plans = cases.map(({ name, dockerfile, buildArgs, target }) => {
  const text = dockerfile('registry.test:5000')
  return { name, text, plan: () => planDockerfile(text, { buildArgs, target }) }
})

test('has at least 45 Dockerfiles', () => {
  expect(cases.length).toBeGreaterThanOrEqual(45)
})

test.each(plans)('$name is accepted without a warning', ({ name, plan }) => {
  const { stages, warnings } = plan()
  expect(stages.length).toBeGreaterThan(0)
  expect(warnings.filter((text) => !(name === 'copy-link-flag' || text.includes('empty line')))).toEqual([])
})

test.each(cases)('the context of $name can be created', ({ prepare }) => {
  const directory = mkdtempSync(join(tmpdir(), 'holt-corpus-'))
  try {
    prepare(join(directory, 'context'))
    expect(readdirSync(directory)).toEqual(['context'])
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})

describe('has', () => {
  const stages = plans.flatMap(({ plan }) => plan().stages)
  const all = stages.flatMap(({ instructions }) => instructions)
  const text = plans.map((one) => one.text).join('\n')
  const of = <Type extends Instruction['type']>(type: Type) =>
    all.filter((one): one is Extract<Instruction, { type: Type }> => one.type === type)
  const runs = of('run')
  const copies = of('copy')
  const mounts = runs.flatMap((run) => run.mounts)

  const forms: Readonly<Record<string, boolean>> = {
    ...Object.fromEntries(
      (['run', 'copy', 'env', 'arg', 'workdir', 'user', 'shell', 'label', 'expose'] as const).map((type) => [
        type.toUpperCase(),
        of(type).length > 0,
      ]),
    ),
    ...Object.fromEntries(
      (['shell', 'exec', 'heredoc'] as const).map((form) => [
        `RUN ${form}`,
        runs.some((run) => run.form.type === form),
      ]),
    ),
    ...Object.fromEntries(
      (['bind', 'cache', 'tmpfs', 'secret'] as const).map((type) => [
        `RUN --mount=type=${type}`,
        mounts.some((mount) => mount.type === type),
      ]),
    ),
    ...Object.fromEntries(
      (['context', 'stage', 'image'] as const).map((type) => [
        `COPY from ${type}`,
        copies.some((copy) => !copy.add && copy.from.type === type),
      ]),
    ),
    ...Object.fromEntries(
      (['image', 'stage', 'scratch'] as const).map((type) => [
        `FROM ${type}`,
        stages.some((stage) => stage.base.type === type),
      ]),
    ),
    'RUN --network=none': runs.some((run) => run.noNetwork),
    'a mount from a stage': mounts.some((mount) => mount.type === 'bind' && mount.from.type === 'stage'),
    ADD: copies.some((copy) => copy.add),
    'ADD --unpack': copies.some((copy) => copy.unpack !== null),
    'COPY --chown': copies.some((copy) => copy.chown !== null),
    'COPY --chmod': copies.some((copy) => copy.chmod !== null),
    'COPY --exclude': copies.some((copy) => copy.exclude.length > 0),
    'COPY --parents': copies.some((copy) => copy.parents),
    'COPY of a here-document': copies.some((copy) => copy.heredocs.length > 0),
    'COPY in the JSON form': /^COPY \[/m.test(text),
    'COPY --from by number': /--from=0/.test(text),
    'COPY of a pattern': copies.some((copy) => copy.sources.some((source) => source.includes('*'))),
    'a target': cases.some(({ target }) => target !== null),
    'build arguments': cases.some(({ buildArgs }) => Object.keys(buildArgs).length > 0),
    'a build secret': cases.some(({ secrets }) => Object.keys(secrets).length > 0),
    ...Object.fromEntries(
      ['CMD', 'ENTRYPOINT', 'HEALTHCHECK', 'STOPSIGNAL', 'VOLUME', 'ONBUILD', 'MAINTAINER'].map((name) => [
        name,
        new RegExp(`^${name} `, 'm').test(text),
      ]),
    ),
    '# escape': /^# escape=`/m.test(text),
    '# syntax': /^# syntax=/m.test(text),
  }
  test.each(Object.entries(forms))('%s', (_, found) => {
    expect(found).toBe(true)
  })
})
