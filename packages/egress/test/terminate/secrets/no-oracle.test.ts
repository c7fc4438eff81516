import { expect, test } from 'vitest'
import { type Echo, protocols } from './echoes.ts'

const secret = 'sk-the-real-value-0123456789'

/**
 * The most by which right and wrong guesses may differ. Chance gives at most 0.1. Holding back
 * exactly the beginning of a secret gives 1.
 */
const maxDifference = 0.25
const probes = 2_000
const lanes = 8
/** Longer than the gateway ever holds back for this secret. */
const long = 'x'.repeat(300)

/** The observations that a program makes of one guess. */
interface Seen {
  readonly isRight: boolean
  /** Bytes that had not arrived before anything was sent after the guess. */
  readonly withheld: number
  readonly pieces: number
  readonly earlyMs: number
  readonly allMs: number
}

/** A guess of one letter, with the letters before it known. */
interface Guess {
  readonly isRight: boolean
  readonly first: Buffer
  /** Bytes that are sent once part of `first` has come back. */
  readonly rest: Buffer | null
}

test.each(Object.entries(protocols))('over %s the timing does not reveal a letter of a secret', async (name, make) => {
  const open = await make()
  const seen = await inLanes(lanes, open, async (echo) => {
    const found: Seen[] = []
    for (let at = 0; at < probes / lanes; at++) found.push(await look(echo, guessOver(name, at)))
    return found
  })
  expect(seen).toHaveLength(probes)
  expect(differences(seen)).toEqual(noDifference)
})

test.each(Object.entries(protocols))('over %s a pause after a guess does not reveal it either', async (name, make) => {
  const open = await make()
  const seen = await inLanes(40, open, async (echo) => {
    const found: Seen[] = []
    for (let at = 0; at < 10; at++) found.push(await look(echo, { ...guessOver(name, 2 * at + (at % 2)), rest: null }))
    return found
  })
  expect(differences(seen)).toEqual(noDifference)
})

function guessOver(protocol: string, at: number): Guess {
  const isRight = Math.random() < 0.5
  const known = 3 + Math.floor(Math.random() * (secret.length - 4))
  const next = secret.charCodeAt(known)
  // A letter of the alphabet, but not the right one.
  const letter = isRight ? next : next === 0x7a ? 0x61 : next + 1
  const before = at % 2 === 0 ? '\n#' : long
  const text = Buffer.from(before + secret.slice(0, known) + String.fromCharCode(letter))
  if (protocol !== 'WebSocket') return { isRight, first: text, rest: Buffer.from('\n') }
  // Whole messages, and messages of two frames.
  const isWhole = at % 4 < 2
  return { isRight, first: frame(isWhole ? 0x81 : 0x01, text), rest: frame(isWhole ? 0x81 : 0x80, Buffer.from('\n')) }
}

function frame(first: number, content: Buffer): Buffer {
  const length = content.length < 126 ? [content.length] : [126, content.length >> 8, content.length & 0xff]
  return Buffer.concat([Buffer.from([first, ...length]), content])
}

async function look(echo: Echo, { isRight, first, rest }: Guess): Promise<Seen> {
  const total = first.length + (rest?.length ?? 0)
  const started = performance.now()
  let got = 0
  let pieces = 0
  const some = Promise.withResolvers<void>()
  const all = Promise.withResolvers<void>()
  echo.onPiece = ({ length }) => {
    got += length
    pieces += 1
    some.resolve()
    if (got >= total) all.resolve()
  }
  echo.send(first)
  await some.promise
  const withheld = first.length - got
  const earlyMs = performance.now() - started
  if (rest !== null) echo.send(rest)
  await all.promise
  return { isRight, withheld, pieces, earlyMs, allMs: performance.now() - started }
}

async function inLanes(
  count: number,
  open: () => Promise<Echo>,
  work: (echo: Echo) => Promise<Seen[]>,
): Promise<Seen[]> {
  const found = await Promise.all(Array.from({ length: count }, async () => work(await open())))
  return found.flat()
}

const noDifference = {
  withheld: expect.toSatisfy(isSmall),
  pieces: expect.toSatisfy(isSmall),
  earlyMs: expect.toSatisfy(isSmall),
  allMs: expect.toSatisfy(isSmall),
}

function isSmall(difference: number): boolean {
  return difference <= maxDifference
}

/**
 * Returns the distance between right and wrong guesses for each observation: 0 for equal
 * distributions, 1 if the observation always tells (Kolmogorov-Smirnov).
 */
function differences(seen: readonly Seen[]): Record<'withheld' | 'pieces' | 'earlyMs' | 'allMs', number> {
  const right = seen.filter(({ isRight }) => isRight)
  const wrong = seen.filter(({ isRight }) => !isRight)
  const of = (key: 'withheld' | 'pieces' | 'earlyMs' | 'allMs') =>
    distance(
      right.map((each) => each[key]),
      wrong.map((each) => each[key]),
    )
  return { withheld: of('withheld'), pieces: of('pieces'), earlyMs: of('earlyMs'), allMs: of('allMs') }
}

function distance(some: readonly number[], others: readonly number[]): number {
  const [one, two] = [some.toSorted((a, b) => a - b), others.toSorted((a, b) => a - b)]
  let [i, j, largest] = [0, 0, 0]
  while (i < one.length && j < two.length) {
    const value = Math.min(one[i] ?? 0, two[j] ?? 0)
    while (i < one.length && (one[i] ?? 0) <= value) i += 1
    while (j < two.length && (two[j] ?? 0) <= value) j += 1
    largest = Math.max(largest, Math.abs(i / one.length - j / two.length))
  }
  return largest
}

test.each(Object.entries(protocols))('over %s complete lines are sent at once', async (name, make) => {
  const echo = await (await make())()
  const event = Buffer.from(`data: ${'x'.repeat(40)}${secret.slice(0, 20)}\n\n`)
  const message = name === 'WebSocket' ? frame(0x01, event) : event
  const { withheld } = await look(echo, { isRight: true, first: message, rest: null })
  expect(withheld).toBe(0)
})
