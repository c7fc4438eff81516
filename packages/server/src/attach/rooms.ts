import { type AttachServerFrame, HoltError } from '@holt/protocol'
import { limitReached } from '../limits/limit-reached.ts'
import type { Service } from '../service.ts'

/** The most attachments of one command, of one project, and of the service. */
const maxInRoom = 64
const maxInProject = 512
const maxInAll = 1024

/** Somebody attached to a command, as the others know them. */
export interface Member {
  /** Who it is, where it said so: whoever comes with the same name takes its place. */
  readonly client: string | null
  /** Hears something that concerns every attachment. */
  tell(frame: AttachServerFrame): void
  /** Hears that another one writes from now on. */
  loseWriting(): void
  /** Hears that the same client has attached again. */
  leaveForSuccessor(): void
}

/** Who is attached to one command, and who of them writes. */
export class Room {
  readonly projectId: string
  readonly #rooms: Rooms
  readonly #name: string
  readonly #members = new Set<Member>()
  #writer: Member | null = null

  constructor(rooms: Rooms, { projectId, name }: { projectId: string; name: string }) {
    this.projectId = projectId
    this.#rooms = rooms
    this.#name = name
  }

  get size(): number {
    return this.#members.size
  }

  /**
   * Takes somebody in, in the place of an older attachment of the same client. Answers whether that
   * one wrote.
   */
  join(member: Member): boolean {
    const older = [...this.#members].find(({ client }) => client !== null && client === member.client)
    const wrote = older !== undefined && this.#writer === older
    if (wrote) this.#writer = null
    older?.leaveForSuccessor()
    this.#members.add(member)
    this.#rooms.joined(this.#name, this)
    return wrote
  }

  /** Lets somebody go; once is enough. */
  leave(member: Member): void {
    this.release(member)
    if (this.#members.delete(member)) this.#rooms.left(this.#name, this)
  }

  /** Lets somebody write where nobody does, or in the place of who does. */
  claim(member: Member, takeover: boolean): boolean {
    if (this.#writer === member) return true
    if (this.#writer !== null && !takeover) return false
    const before = this.#writer
    this.#writer = member
    before?.loseWriting()
    return true
  }

  /** Has somebody write no longer. */
  release(member: Member): void {
    if (this.#writer === member) this.#writer = null
  }

  tell(frame: AttachServerFrame): void {
    for (const member of this.#members) member.tell(frame)
  }
}

/** The rooms of all commands that somebody is attached to. */
class Rooms {
  readonly #rooms = new Map<string, Room>()
  readonly #byProject = new Map<string, number>()
  #members = 0

  /** The room of a command, where there is place for one more; it is to be joined at once. */
  open(projectId: string, { runtime_id, command_id }: { runtime_id: string; command_id: string }): Room {
    const name = `${runtime_id}/${command_id}`
    const room = this.#rooms.get(name) ?? new Room(this, { projectId, name })
    if ((this.#byProject.get(projectId) ?? 0) >= maxInProject)
      throw limitReached('quota_exceeded', `The project has ${maxInProject} attachments, which is the most.`, {
        limit: maxInProject,
      })
    if (this.#members >= maxInAll) throw new HoltError('unavailable', 'The service has as many attachments as it can.')
    if (room.size >= maxInRoom)
      throw limitReached('quota_exceeded', `The command has ${maxInRoom} attachments, which is the most.`, {
        limit: maxInRoom,
      })
    return room
  }

  joined(name: string, room: Room): void {
    this.#rooms.set(name, room)
    this.#count(room, 1)
  }

  /** Tells everybody who is attached to a command. */
  tell({ runtime_id, command_id }: { runtime_id: string; command_id: string }, frame: AttachServerFrame): void {
    this.#rooms.get(`${runtime_id}/${command_id}`)?.tell(frame)
  }

  left(name: string, room: Room): void {
    this.#count(room, -1)
    if (room.size === 0) this.#rooms.delete(name)
  }

  #count({ projectId }: Room, change: 1 | -1): void {
    this.#members += change
    const ofProject = (this.#byProject.get(projectId) ?? 0) + change
    if (ofProject === 0) this.#byProject.delete(projectId)
    else this.#byProject.set(projectId, ofProject)
  }
}

const all = new WeakMap<Service, Rooms>()

/** The rooms of a service. */
export function roomsOf(service: Service): Rooms {
  const known = all.get(service) ?? new Rooms()
  all.set(service, known)
  return known
}
