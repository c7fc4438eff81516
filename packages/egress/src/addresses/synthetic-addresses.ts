import { isHostName } from '@holt/protocol'
import type { SyntheticAddress } from '../contract/gateway-contract.ts'
import { type Address, addressOf, contains, parseAddress, parseNetwork } from './parse-address.ts'

/**
 * The first and last synthetic address: 198.18.1.0 and 198.19.255.254. The addresses before are the
 * runtime's own and its resolver's.
 */
const firstAddress = 0xc6120100
const lastAddress = 0xc613fffe
const rangeSize = lastAddress - firstAddress + 1

/**
 * The maximum number of names of a runtime with addresses at once. Programs use far fewer, and they
 * take a few MiB at most.
 */
const maxNames = 4096

/** The range of synthetic addresses (RFC 2544 reserves it, so the Internet does not use it). */
const syntheticNetwork = parseNetwork('198.18.0.0/15')

/** Returns true for an address in the synthetic range, assigned or not. */
export function isSynthetic(address: Address): boolean {
  return syntheticNetwork !== null && contains(syntheticNetwork, address)
}

interface Entry {
  readonly name: string
  readonly index: number
  /** The number of open connections to it. */
  uses: number
}

/**
 * The synthetic addresses of one runtime: one for each name, the same as long as it is kept. If the
 * table is full, the least recently used name is removed. Its address stays unused until all others
 * have had their turn. So a program that remembers it finds no name there rather than another one.
 */
export class SyntheticAddresses {
  /** The entries in the order of their last use. */
  readonly #byName = new Map<string, Entry>()
  readonly #byIndex = new Map<number, Entry>()
  readonly #onAssigned: (assigned: SyntheticAddress) => void
  readonly #capacity: number
  #next = 0

  constructor(options: {
    known?: readonly SyntheticAddress[]
    onAssigned?: (assigned: SyntheticAddress) => void
    capacity?: number
  }) {
    this.#capacity = options.capacity ?? maxNames
    this.#onAssigned = options.onAssigned ?? (() => undefined)
    for (const { name, address } of options.known?.slice(-this.#capacity) ?? []) this.#restore(name, address)
  }

  /**
   * Returns the address of a canonical name, and assigns one if it has none. Returns null if every
   * place is in use.
   */
  assign(name: string): string | null {
    const known = this.#byName.get(name)
    if (known !== undefined) {
      this.#touch(known)
      return textOf(known.index)
    }
    if (this.#byName.size >= this.#capacity && !this.#recycle()) return null
    const entry = this.#add(name, this.#freeIndex())
    const address = textOf(entry.index)
    this.#onAssigned({ address, name })
    return address
  }

  /** Returns the name that an address stands for, or null. */
  nameOf(address: Address): string | null {
    if (address.family !== 4 || !isSynthetic(address)) return null
    return this.#byIndex.get(indexOf(address))?.name ?? null
  }

  /** Keeps the name's place until the returned function is called. */
  hold(name: string): () => void {
    const entry = this.#byName.get(name)
    if (entry === undefined) return () => undefined
    this.#touch(entry)
    entry.uses++
    let held = true
    return () => {
      if (held) entry.uses--
      held = false
    }
  }

  #restore(name: string, text: string): void {
    const address = parseAddress(text)
    if (address === null || address.family !== 4 || !isHostName(name) || this.#byName.has(name)) return
    const index = indexOf(address)
    if (index < 0 || index >= rangeSize || this.#byIndex.has(index)) return
    this.#add(name, index)
    this.#next = (index + 1) % rangeSize
  }

  #add(name: string, index: number): Entry {
    const entry = { name, index, uses: 0 }
    this.#byName.set(name, entry)
    this.#byIndex.set(index, entry)
    return entry
  }

  #touch(entry: Entry): void {
    this.#byName.delete(entry.name)
    this.#byName.set(entry.name, entry)
  }

  #recycle(): boolean {
    for (const entry of this.#byName.values()) {
      if (entry.uses > 0) continue
      this.#byName.delete(entry.name)
      this.#byIndex.delete(entry.index)
      return true
    }
    return false
  }

  #freeIndex(): number {
    while (this.#byIndex.has(this.#next)) this.#next = (this.#next + 1) % rangeSize
    const index = this.#next
    this.#next = (index + 1) % rangeSize
    return index
  }
}

function indexOf({ bytes }: Address): number {
  return bytes.reduce((value, byte) => value * 256 + byte, 0) - firstAddress
}

function textOf(index: number): string {
  const value = firstAddress + index
  return addressOf(Uint8Array.of(value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff)).text
}
