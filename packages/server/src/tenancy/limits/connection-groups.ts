/** Members by owner, in the order of their arrival. */
export class Groups<Member> {
  readonly #byOwner = new Map<string, Set<Member>>()
  #size = 0

  /** The number of members of all owners. */
  get size(): number {
    return this.#size
  }

  /** Adds a member as the newest of its owner. A member that was added before keeps its place. */
  add(owner: string, member: Member): void {
    const group = this.#byOwner.get(owner) ?? new Set()
    if (group.has(member)) return
    this.#byOwner.set(owner, group.add(member))
    this.#size += 1
  }

  delete(owner: string, member: Member): void {
    const group = this.#byOwner.get(owner)
    if (group?.delete(member) !== true) return
    this.#size -= 1
    if (group.size === 0) this.#byOwner.delete(owner)
  }

  /** The members of the owner that has most, the oldest first. */
  get largest(): Iterable<Member> {
    let most: Set<Member> = new Set()
    for (const group of this.#byOwner.values()) if (group.size > most.size) most = group
    return most
  }
}
