import { expect, test } from 'vitest'
import { planDockerfile } from '../../src/dockerfile/plan-dockerfile.ts'
import { readsContext, sizedMounts } from '../../src/steps/plan-facts.ts'

test.each([
  ['COPY a /', true],
  ['ADD a.tar /', true],
  ['COPY --from=other a /', false],
  ['COPY <<EOF /a\nx\nEOF', false],
  ['RUN --mount=type=bind,target=/src true', true],
  ['RUN --mount=type=bind,from=other,target=/src true', false],
  ['RUN --mount=type=cache,target=/c true', false],
  ['RUN true', false],
])('%j reads the context: %s', (line, expected) => {
  expect(readsContext(planDockerfile(`FROM scratch AS other\nFROM scratch\n${line}`))).toBe(expected)
})

test('says that a tmpfs mount has no limit of its own', () => {
  const text = 'FROM scratch\nRUN --mount=type=tmpfs,target=/t,size=1g true\nRUN --mount=type=tmpfs,target=/t true'
  expect(sizedMounts(planDockerfile(text))).toEqual([expect.stringMatching(/^Line 2: /)])
})
