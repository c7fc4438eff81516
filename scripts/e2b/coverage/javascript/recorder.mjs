// Records which public methods of E2B's packages a program calls, and what its checks say of them.
import { writeFile } from 'node:fs/promises'
import * as published from 'e2b'

/** The methods that the check under way has called: `Class.static`, `Class#instance`, `function`. */
let called = new Set()
const outcomes = []
const failures = []

/**
 * Runs a check, and notes what it shows. `works` lists methods; `differs` and `absent` give a phrase
 * for each method. A method that the check names and does not call is a failure.
 */
export async function check(name, { works = [], differs = {}, absent = {} }, body) {
  called = new Set()
  const shown = [
    ...works.map((method) => ({ method, status: 'works', note: null })),
    ...Object.entries(differs).map(([method, note]) => ({ method, status: 'differs', note })),
    ...Object.entries(absent).map(([method, note]) => ({ method, status: 'absent', note })),
  ]
  try {
    await body()
    const missed = shown.filter(({ method }) => !called.has(method)).map(({ method }) => method)
    if (missed.length > 0) throw new Error(`the check names methods that it does not call: ${missed.join(', ')}`)
    outcomes.push(...shown)
  } catch (error) {
    // The stack of some of the SDK's errors lacks their message.
    failures.push({ name, reason: error instanceof Error ? `${error.message}\n${error.stack}` : String(error) })
  }
}

/** Writes the outcomes to the file that the command line names, and ends the process. */
export async function finish() {
  const [, , file] = process.argv
  await writeFile(file, JSON.stringify({ outcomes, failures }))
  // Connections of streams that a check has left would keep the process.
  process.exit(failures.length === 0 ? 0 : 1)
}

/** Records the methods of a class that its package does not export, from one of its instances. */
export function recordInstance(name, instance) {
  recordChain(Object.getPrototypeOf(instance), (method) => `${name}#${method}`)
}

/** Returns a module with its functions recorded. Records the methods of its classes in place. */
export function recordModule(module) {
  return Object.fromEntries(
    Object.entries(module).map(([name, value]) => {
      if (typeof value !== 'function' || name === 'Template' || name === 'default') return [name, value]
      if (!/^class\b/.test(Function.prototype.toString.call(value))) return [name, recorded(name, value)]
      recordChain(value, (method) => `${name}.${method}`)
      recordChain(value.prototype, (method) => `${name}#${method}`)
      return [name, value]
    }),
  )
}

const done = new WeakMap()

/** Replaces the methods of an object and of those that it inherits from, up to the language's own. */
function recordChain(start, idOf) {
  const ends = [Object.prototype, Function.prototype, Error.prototype, Error]
  for (let holder = start; holder !== null && !ends.includes(holder); holder = Object.getPrototypeOf(holder)) {
    for (const [method, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(holder))) {
      if (method === 'constructor' || typeof descriptor.value !== 'function' || !descriptor.writable) continue
      holder[method] = recorded(idOf(method), descriptor.value)
    }
  }
}

/** Wraps a function. A second name of the same function is noted with the first. */
function recorded(id, wrapped) {
  const ids = done.get(wrapped)
  if (ids !== undefined) {
    ids.add(id)
    return wrapped
  }
  const own = new Set([id])
  const replacement = function (...args) {
    for (const each of own) called.add(each)
    return wrapped.apply(this, args)
  }
  done.set(replacement, own)
  return replacement
}

/** E2B's SDK, recorded. */
export const sdk = recordModule(published)

/** Waits until a condition holds, by default for a minute at most. */
export async function until(holds, seconds = 60) {
  const deadline = Date.now() + seconds * 1000
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`it did not happen in time: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}
